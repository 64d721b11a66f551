"""`pytest-vla record` and `pytest-vla train`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

FIRST_EPISODE = 100_000


def add_train_commands(commands: Any) -> None:
    record = commands.add_parser(
        "record",
        help="write demonstrations of a policy (the oracle) as a dataset",
        description="Runs episodes and keeps those that were solved, as a dataset in LeRobot's layout. It is the same "
        "at any -n. Episodes are counted from 100000, so that none of them is one that a test would run.",
    )
    record.add_argument("--vla-suite", "--suite", dest="suite", required=True, metavar="NAME")
    record.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    record.add_argument("--partition", metavar="NAMES", help="partitions, separated by commas (default: the suite's)")
    record.add_argument("--task", metavar="NAMES", help="tasks, separated by commas (default: all)")
    record.add_argument("--episodes", type=int, default=100, metavar="N", help="a task (default: %(default)s)")
    record.add_argument("--first-episode", type=int, default=FIRST_EPISODE, metavar="N", help="(default: %(default)s)")
    record.add_argument("--cameras", metavar="NAMES", help="cameras to keep (default: all)")
    record.add_argument("--policy", default="oracle", metavar="SPEC", help="who demonstrates (default: %(default)s)")
    record.add_argument("-n", dest="workers", default="0", metavar="N", help="worker processes, or auto")
    record.set_defaults(run=_record)

    train = commands.add_parser("train", help="behaviour-clone a policy from a dataset")
    train.add_argument("--config", type=Path, required=True, metavar="FILE.toml", help="what to train, and how long")
    train.add_argument("--data", type=Path, metavar="DIR", help="another dataset than the file names")
    train.add_argument("--out", type=Path, metavar="FILE.pt", help="another checkpoint than the file names")
    train.add_argument("--resume", action="store_true", help="go on where an interrupted training stopped")
    train.set_defaults(run=_train)


def _record(options: argparse.Namespace) -> int:
    import pytest

    from pytest_vla.suite import SuiteError, get_suite

    arguments = [
        f"--vla-suite={options.suite}",
        f"--vla-policy={options.policy}",
        f"--vla-episodes={options.episodes}",
        f"--vla-first-episode={options.first_episode}",
        f"--vla-record={options.out}",
        f"--vla-run-dir={options.out / 'run'}",
        "-n",
        options.workers,
        "-q",
    ]
    for name, value in (("partition", options.partition), ("task", options.task), ("record-cameras", options.cameras)):
        if value:
            arguments.append(f"--vla-{name}={value}")
    try:  # a shipped suite runs by its own file, whatever tests lie around here
        test_file = get_suite(options.suite).test_file
    except SuiteError:  # perhaps one of the user's, which pytest will find
        test_file = None
    return int(pytest.main([*arguments, str(test_file)] if test_file else arguments))


def _train(options: argparse.Namespace) -> int:
    from pytest_vla.train.loop import TrainConfig, train

    config = TrainConfig.read(options.config, data=options.data, output=options.out)
    try:
        train(config, resume=options.resume)
    except KeyboardInterrupt:
        print("interrupted: the same command with --resume goes on from the last save", file=sys.stderr)
        return 130
    return 0
