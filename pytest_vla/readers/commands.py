"""The command that brings results of other harnesses."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_vla.command import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a result file of vla-eval or LeRobot, or a CSV table")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="the run folder to write")
    parser.add_argument("--name", metavar="POLICY", help="what to call the policy (default: as the file does)")


def _import(options: argparse.Namespace) -> int:
    from pytest_vla.readers import import_results
    from pytest_vla.run import read_run

    found = import_results(options.file, options.output, options.name)
    run = read_run(options.output)
    tally = run.once.tally()
    rate, interval, measured, errors = tally.texts()
    version = f" {found.version}" if found.version else ""
    print(f"{len(found.results)} episodes of {found.harness}{version}: {rate} {interval} of {measured} measured")
    if errors:
        solved, total = tally.solved, tally.measured + tally.errors
        print(f"{errors} errors are kept apart; as failures they would make it {100 * solved / total:.1f}%")
    print(f"run file: {run.path}")
    return 0


COMMANDS = (
    Command(
        "import", "look at a run", "turn results of vla-eval, LeRobot or a table into a run file", _arguments, _import
    ),
)
