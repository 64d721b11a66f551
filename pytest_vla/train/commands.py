"""The commands that make a policy: record and train."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_vla.command import Command, only, share, typed_again

FIRST_EPISODE = 100_000
RECORDED_AS_IN_PYTEST = (
    *("policy", "suite", "task", "partition", "episodes", "first-episode", "record-cameras", "timeout", "max-errors"),
    *("device", "batch", "deterministic", "horizon", "ensemble", "trust-policy"),
)


def _record_arguments(parser: argparse.ArgumentParser) -> None:
    share(parser, "suite", required=True, metavar="NAME", help="the one suite whose episodes to record")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    share(parser, "partition", help="partitions, separated by commas (default: the suite's)")
    share(parser, "task")
    share(parser, "episodes", default=100, help="a task (default: %(default)s)")
    share(parser, "first-episode", default=FIRST_EPISODE, help="index of the first one (default: %(default)s)")
    share(parser, "record-cameras", "--cameras", help="cameras to keep (default: all)")
    share(parser, "policy", default="oracle", help="who demonstrates (default: %(default)s)")
    for name in ("device", "batch", "deterministic", "horizon", "ensemble", "trust-policy", "timeout", "max-errors"):
        share(parser, name)
    share(parser, "resume", help="go on with a recording that was killed or interrupted")
    parser.add_argument("-n", dest="workers", default="0", metavar="N", help="worker processes, or auto")


def _train_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, metavar="FILE.toml", help="what to train, and how long")
    parser.add_argument("--data", type=Path, metavar="DIR", help="another dataset than the file names")
    parser.add_argument("--out", type=Path, metavar="FILE.pt", help="another checkpoint than the file names")
    parser.add_argument("--resume", action="store_true", help="go on where an interrupted training stopped")


def _record(options: argparse.Namespace) -> int:
    import pytest

    from pytest_vla.registry import typed_suite
    from pytest_vla.suite import SuiteError

    suite = only("suite", options.suite)
    arguments = [f"--vla-record={options.out}", f"--vla-run-dir={options.out / 'run'}", "-n", options.workers, "-q"]
    arguments += typed_again("resume", options.resume)
    for name in RECORDED_AS_IN_PYTEST:
        arguments += typed_again(name, getattr(options, name.replace("-", "_")))
    try:  # a shipped suite runs by its own file, whatever tests lie around here
        test_file = typed_suite(suite).test_file
    except SuiteError:  # perhaps one of the user's, which pytest will find
        test_file = None
    return int(pytest.main([*arguments, str(test_file)] if test_file else arguments))


def _train(options: argparse.Namespace) -> int:
    from pytest_vla.train.loop import TrainConfig, train

    config = TrainConfig.read(options.config, data=options.data, output=options.out)
    try:
        train(config, resume=options.resume)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command with --resume goes on from the last save") from None
    return 0


COMMANDS = (
    Command(
        "record",
        "bring a policy",
        "write demonstrations of a policy (the oracle) as a dataset",
        _record_arguments,
        _record,
        description="Runs episodes and keeps those that were solved, as a dataset in LeRobot's layout. It is the same "
        "at any -n. Episodes are counted from 100000, so that none of them is one that a test would run.",
    ),
    Command("train", "bring a policy", "behaviour-clone a policy from a dataset", _train_arguments, _train),
)
