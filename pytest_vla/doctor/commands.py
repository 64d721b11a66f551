"""`pytest-vla doctor`: why a policy scores what it scores, as far as that is its wiring."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pytest_vla.command import Command, only, share

EPISODES = 60


def _arguments(parser: argparse.ArgumentParser) -> None:
    share(parser, "policy", required=True)
    share(parser, "suite", required=True, metavar="NAME", help="where it acts")
    share(parser, "task")
    share(parser, "partition", help="partitions to play, separated by commas (default: the first)")
    share(parser, "device")
    share(parser, "dtype")
    share(parser, "compile")
    share(parser, "preset")
    share(parser, "horizon")
    share(parser, "ensemble")
    share(parser, "trust-policy")
    share(parser, "data", default=())
    share(
        parser,
        "max-episodes",
        default=EPISODES,
        help="episodes that it may play, the oracle's included (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found as data (-: to the terminal)")


def _doctor(options: argparse.Namespace) -> int:
    """0: nothing found in the wiring; 1: a finding."""
    from pytest_vla.doctor.session import examine_typed
    from pytest_vla.inference.cost import cost_lines
    from pytest_vla.options import InferenceOptions
    from pytest_vla.policies.trust import trust
    from pytest_vla.suite import provide

    trust(options.trust_policy or ())
    provide(options.data or ())
    asked = InferenceOptions(
        policy=options.policy,
        device=options.device or (),
        dtype=options.dtype,
        compile=bool(options.compile),
        preset=options.preset,
        horizon=options.horizon or 0,
        ensemble=options.ensemble,
        trust_policy=options.trust_policy or (),
        conventions=_corrections(),
    )
    made = examine_typed(
        asked, only("suite", options.suite), options.task or (), options.partition or (), options.max_episodes, _tell
    )
    as_data = json.dumps(made.to_record(), indent=1, ensure_ascii=False)
    if options.json is not None and str(options.json) != "-":
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(as_data + "\n", encoding="utf-8")
    lines = [as_data] if str(options.json) == "-" else [*made.lines(), *cost_lines(made.cost)]
    print(*lines, sep="\n")
    return 0 if made.healthy else 1


def _corrections() -> dict[str, object]:
    """Those of the pyproject.toml here, as a run would take them."""
    from pytest_vla.command_line import corrections_in

    return corrections_in(Path.cwd() / "pyproject.toml")


def _tell(line: str) -> None:
    if sys.stderr.isatty():
        print(line, file=sys.stderr, flush=True)


COMMANDS = (
    Command(
        "doctor",
        "bring a policy",
        "say why a policy scores what it scores: what is wrong in its wiring, with numbers and the cure",
        _arguments,
        _doctor,
        description=(
            "Asks what must hold of any policy, tries conventions on episodes of the suite's oracle, plays the best "
            "few, and says what it found. Exit code 0: no finding, 1: a finding, 4: bad input."
        ),
    ),
)
