"""The command that judges: gate."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pytest_vla.command import RUN_HELP, Command, ask_for_trust, share
from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.rules import LEVELS
from pytest_vla.run import Run, read_run


def _gate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_file", type=Path, metavar="RUN", help=f"{RUN_HELP}, also a merged one")
    share(parser, "baseline", help="judge against this run (with --trust: the one the run file names)")
    share(parser, "anchor", help="judge against this release as well (with --trust: the one the run file names)")
    share(parser, "ledger", help="count this verdict there, and ask for more at a second try (default: no ledger)")
    parser.add_argument(
        "--success", action="append", default=[], metavar="PATTERN=RATE", help="suite[/task[/partition]]=0.8"
    )
    parser.add_argument("--margin", type=float, metavar="SHARE", help="how much worse than the baseline still passes")
    parser.add_argument("--confidence", type=float, metavar="SHARE", help="of each verdict (default: 0.95)")
    parser.add_argument("--superiority", action="store_true", default=None, help="pass only what is better")
    parser.add_argument("--by", choices=LEVELS, help="what one comparison is about")
    share(parser, "max-errors", help="error episodes that do not yet fail the run (default: what the run allowed)")
    ask_for_trust(parser)


def _gate(options: argparse.Namespace) -> int:
    from pytest_vla.gate.judge import judge_run
    from pytest_vla.gate.ledger import open_ledger
    from pytest_vla.gate.printing import render, workflow_commands, write_step_summary

    changes: dict[str, Any] = {
        name: value
        for name in ("margin", "confidence", "superiority", "by")
        if (value := getattr(options, name)) is not None
    }
    if options.success:
        changes["success"] = dict(map(_threshold, options.success))
    ledger = open_ledger(options.ledger, None)
    run = readable(options.run_file)
    judgement = judge_run(
        run, options.baseline, changes, options.max_errors, options.anchor, ledger, trust=options.trust
    )
    print(render(judgement, color=sys.stdout.isatty()))
    for line in workflow_commands(judgement):
        print(line)
    write_step_summary(judgement)
    return judgement.exit_code


def readable(path: Path | str) -> Run:
    """A run with episodes; damaged lines are left out, and that is said."""
    run = read_run(path)
    for number, problem in run.damaged:
        print(f"pytest-vla: {run.path}:{number} is damaged and left out ({problem})", file=sys.stderr)
    if not len(run):
        raise GateError(f"'{run.path}' has no finished episode")
    return run


def _threshold(text: str) -> tuple[str, Any]:
    pattern, _, rate = text.rpartition("=")
    try:
        return pattern, float(rate)
    except ValueError:
        raise GateError(f"--success must be PATTERN=RATE such as vima/rotate=0.8, got {text!r}") from None


COMMANDS = (Command("gate", "judge it", "judge a run: exit 0 pass, 1 fail, 6 undecided", _gate_arguments, _gate),)
