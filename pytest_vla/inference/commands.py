"""The commands about a policy as a server: serve and tune."""

from __future__ import annotations

import argparse
import os

import pytest

from pytest_vla.command import Command, only, share, whole
from pytest_vla.inference.session import DEFAULT_BATCH
from pytest_vla.options import InferenceOptions
from pytest_vla.policies.compute import Compute
from pytest_vla.policies.trust import trust


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    _policy_arguments(parser)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=whole(0, 65535), default=8000, help="0 picks a free one (default: %(default)s)")
    share(parser, "batch", help=f"largest batch (default: {DEFAULT_BATCH})")
    share(parser, "horizon", help="actions to execute of each chunk (default: all)")
    share(parser, "ensemble")
    share(parser, "deterministic", help="same bits whoever else asks: batches of one fixed size")
    share(parser, "preset")
    parser.add_argument("--protocol", choices=("auto", "vla-eval", "openpi"), default="auto", help="who may connect")
    parser.add_argument(
        "--observation-mb",
        type=whole(1, 1024),
        default=8,
        metavar="N",
        help="largest observation (default: 8)",
    )
    parser.add_argument("--max-clients", type=whole(1), default=256, metavar="N", help="at once (default: 256)")
    parser.add_argument(
        "--map", action="append", default=[], metavar="OURS=THEIRS", help="images.front=images.top, ..."
    )


def _tune_arguments(parser: argparse.ArgumentParser) -> None:
    _policy_arguments(parser)
    share(parser, "suite", required=True, metavar="NAME", help="whose observations to use")
    parser.add_argument(
        "-n", "--simulators", type=whole(1), default=4, metavar="N", help="up to N (default: %(default)s)"
    )
    share(parser, "episodes", help="also say how large a cluster must be for so many episodes in all")
    parser.add_argument("--hours", type=_hours, default=1.0, metavar="H", help="and in how many hours (default: 1)")


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of hours above 0, got {text!r}")
    return hours


def _policy_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", nargs="?", metavar="POLICY", help="what --vla-policy takes")
    share(parser, "policy", help="the same, by the name it has elsewhere")
    share(parser, "device", metavar="NAMES", help="where the model goes, once for each (default: cpu)")
    share(parser, "dtype")
    share(parser, "compile")
    share(parser, "trust-policy")


def _policy(options: argparse.Namespace) -> str:
    given = [text for text in (options.spec, options.policy) if text is not None]
    if len(given) != 1:
        raise pytest.UsageError(f"name one policy, as POLICY or --vla-policy, got {' and '.join(given) or 'none'}")
    trust(options.trust_policy or ())
    return str(given[0])


def _serve(options: argparse.Namespace) -> int:
    policy = _policy(options)
    if options.batch == "auto":
        raise pytest.UsageError("--vla-batch must be a whole number here; pytest-vla tune measures which")
    from pytest_vla.inference.serve import ServeOptions, run_server
    from pytest_vla.policies.websocket import TOKEN_VARIABLE

    asked = InferenceOptions(
        policy=policy,
        device=tuple(options.device or ()),
        dtype=options.dtype,
        compile=bool(options.compile),
        batch=options.batch,
        deterministic=bool(options.deterministic),
        horizon=int(options.horizon or 0),
        ensemble=options.ensemble,
        preset=options.preset,
    )
    served = ServeOptions(
        host=options.host,
        port=options.port,
        token=os.environ.get(TOKEN_VARIABLE, ""),
        protocol=options.protocol,
        batch=int(options.batch or DEFAULT_BATCH),
        names=dict(map(_renaming, options.map)),
        max_unpacked=options.observation_mb << 20,
        max_clients=options.max_clients,
    )
    return run_server(asked, served)


def _renaming(text: str) -> tuple[str, str]:
    ours, _, theirs = text.partition("=")
    if not (ours and theirs):
        raise pytest.UsageError(f"--map must be OURS=THEIRS such as images.front=images.top, got {text!r}")
    return ours, theirs


def _tune(options: argparse.Namespace) -> int:
    policy, suite = _policy(options), only("suite", options.suite)
    from pytest_vla.inference.demand import tune

    plan = (options.episodes, options.hours) if options.episodes else None
    how = Compute(options.dtype, bool(options.compile))
    print(tune(policy, suite, only("device", options.device, "cpu"), options.simulators, plan, how))
    return 0


COMMANDS = (
    Command("serve", "bring a policy", "offer a policy to vla-eval and openpi clients", _serve_arguments, _serve),
    Command(
        "tune",
        "bring a policy",
        "measure the policy's supply of actions and the simulators' demand",
        _tune_arguments,
        _tune,
    ),
)
