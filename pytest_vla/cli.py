"""The `pytest-vla` command: what one does before and after a run, each command a row of its room's table."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from pytest_vla._version import __version__
from pytest_vla.command import PURPOSES, RUN_HELP, Command, ask_for_trust, only, share, whole
from pytest_vla.doctor.commands import COMMANDS as DOCTOR_COMMANDS
from pytest_vla.explain.commands import COMMANDS as EXPLAIN_COMMANDS
from pytest_vla.explain.errors import ExplainError
from pytest_vla.gate.commands import COMMANDS as GATE_COMMANDS
from pytest_vla.gate.evidence import GateError
from pytest_vla.inference.commands import COMMANDS as INFERENCE_COMMANDS
from pytest_vla.isolate.commands import COMMANDS as ISOLATE_COMMANDS
from pytest_vla.policies.base import PolicyError
from pytest_vla.readers.commands import COMMANDS as READER_COMMANDS
from pytest_vla.report.beside_commands import COMMANDS as BESIDE_COMMANDS
from pytest_vla.report.commands import COMMANDS as REPORT_COMMANDS
from pytest_vla.run import RunFileError
from pytest_vla.suggest import unknown
from pytest_vla.suite import Suite, SuiteError
from pytest_vla.train.commands import COMMANDS as TRAIN_COMMANDS
from pytest_vla.train.errors import DatasetError, TrainError

BAD_INPUT = (
    pytest.UsageError,
    RunFileError,
    SuiteError,
    PolicyError,
    GateError,
    DatasetError,
    TrainError,
    ExplainError,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; whatever is wrong with its input is one line on standard error and exit code 4, as in pytest."""
    typed = sys.argv[1:] if arguments is None else list(arguments)
    try:
        command = _command(typed)
        return command.run(_parser(command).parse_args(typed[1:]))
    except BAD_INPUT as error:
        print(f"pytest-vla: {error}", file=sys.stderr)
        return pytest.ExitCode.USAGE_ERROR
    except BrokenPipeError:  # whoever read it has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return pytest.ExitCode.OK
    except OSError as error:
        if error.filename is None:  # not a file that was named
            raise
        print(f"pytest-vla: {error.filename}: {error.strerror}", file=sys.stderr)
        return pytest.ExitCode.USAGE_ERROR
    except KeyboardInterrupt as interrupt:
        print(f"interrupted: {interrupt}" if str(interrupt) else "interrupted", file=sys.stderr)
        return pytest.ExitCode.INTERRUPTED


class _Parser(argparse.ArgumentParser):
    """Argparse whose errors are ours: one line, exit code 4."""

    def error(self, message: str) -> NoReturn:
        raise pytest.UsageError(f"{message} (see {self.prog} --help)")


def _command(typed: list[str]) -> Command:
    """The command that was named; `--help` and `--version` answer and end here."""
    commands = {command.name: command for command in COMMANDS}
    if typed and typed[0] in commands:
        return commands[typed[0]]
    if typed and not typed[0].startswith("-"):
        raise pytest.UsageError(unknown("command", typed[0], list(commands)))
    parser = _Parser(
        prog="pytest-vla",
        usage="%(prog)s COMMAND ...",
        description="What one does before and after a run.",
        epilog=_overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pytest-vla {__version__}")
    parser.parse_args(typed)
    raise pytest.UsageError(f"name a command\n\n{parser.format_help().rstrip()}")


def _parser(command: Command) -> _Parser:
    about = command.description or f"{command.help[0].upper()}{command.help[1:]}."
    parser = _Parser(prog=f"pytest-vla {command.name}", description=about, allow_abbrev=False)
    command.add_arguments(parser)
    return parser


def _overview() -> str:
    """The commands by what a person wants."""
    width = max(len(command.name) for command in COMMANDS)
    blocks = []
    for purpose in PURPOSES:
        rows = [f"  {row.name:<{width}}  {row.help}" for row in COMMANDS if row.purpose == purpose]
        blocks.append("\n".join([f"{purpose}:", *rows]))
    return "\n\n".join([*blocks, "pytest-vla COMMAND --help says more."])


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_file", type=Path, metavar="RUN", help=RUN_HELP)


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    _run_arguments(parser)
    parser.add_argument(
        "--sort", choices=("suite", "success"), default="suite", help="rows as listed, or the worst first"
    )
    parser.add_argument("--json", action="store_true", help="the table as data, as export --format=json writes it")


def _replay_arguments(parser: argparse.ArgumentParser) -> None:
    _run_arguments(parser)
    parser.add_argument("episode", metavar="NODEID", help="a pytest node id, or SUITE/TASK-PARTITION-INDEX")
    share(parser, "policy", help="another policy than the run's own")
    share(parser, "trust-policy")
    ask_for_trust(parser)


def _merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help=RUN_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="where run.jsonl goes")


def _suites_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="SUITE",
        help="tell all of these: cameras, state, actions, limits, axes",
    )


def _new_suite_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the suite and of its folder")


def _sheet_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", type=Path, metavar="OUT.png", help="the picture to write")
    share(parser, "suite", required=True, metavar="NAME", help="whose axes to draw")
    share(parser, "task", metavar="NAME", help="in which task (default: the suite's first)")
    parser.add_argument("--camera", metavar="NAME", help="seen by which camera (default: the suite's first)")
    parser.add_argument("--index", type=whole(), default=0, metavar="N", help="which episode (default: %(default)s)")


def _show(options: argparse.Namespace) -> int:
    from pytest_vla.report.summary import describe_run
    from pytest_vla.run import read_run

    run = read_run(options.run_file)
    if options.json:
        from pytest_vla.report.exports import rates

        print(json.dumps(rates(run), indent=1, ensure_ascii=False))
        return 0
    print(describe_run(run, options.sort))
    if run.hunts:
        from pytest_vla.hunt.summary import hunt_lines
        from pytest_vla.options import shown_path

        hunts = sorted(run.hunts, key=lambda hunt: hunt.name)
        print("", *hunt_lines(hunts, shown_path(run.path), run.policy.builtin), sep="\n")
    return 0


def _replay(options: argparse.Namespace) -> int:
    from pytest_vla.policies.trust import trust
    from pytest_vla.replay import replay

    trust(options.trust_policy or ())
    replayed = replay(options.run_file, options.episode, options.policy, trust=options.trust)
    print(replayed)
    return 0 if replayed.same else 1


def _merge(options: argparse.Namespace) -> int:
    from pytest_vla.run import FILE_NAME, read_run
    from pytest_vla.run.merge import merge_runs

    runs = [read_run(path) for path in options.runs]
    for run in runs:
        for number, problem in run.damaged:
            print(f"pytest-vla: {run.path}:{number} is damaged and left out ({problem})", file=sys.stderr)
    path = options.output if options.output.suffix == ".jsonl" else options.output / FILE_NAME
    count = merge_runs(runs, path)
    print(f"{count} episodes of {len(runs)} runs in {path}")
    complete = read_run(path).completeness(gated=True)
    if not complete.finished:
        print(f"pytest-vla: {complete}; a gate will not pass it", file=sys.stderr)
    return 0


def _new_suite(options: argparse.Namespace) -> int:
    from pytest_vla.kit.new_suite import write_skeleton

    for path in write_skeleton(options.name, Path.cwd()):
        print(path.relative_to(Path.cwd()))
    print(f"run it: pytest {options.name} --vla-policy=oracle")
    return 0


def _suites(options: argparse.Namespace) -> int:
    from pytest_vla.registry import get_suites, typed_suite
    from pytest_vla.suite_page import format_lines

    for suite in map(typed_suite, options.names) if options.names else get_suites():
        missing = suite.missing()
        note = f"  (needs {missing.module}: {missing.install})" if missing else _environment_note(suite)
        print(f"{suite.name}, version {suite.version}: {len(suite.cells())} (task, partition) cells{note}")
        if options.names:
            print(*format_lines(suite), sep="\n")
            continue
        for task in suite.tasks():
            print(f"  {task}: {', '.join(partition for name, partition in suite.cells() if name == task)}")
    return 0


def _environment_note(suite: Suite) -> str:
    """What a suite has installed for itself, and how big that is."""
    from pytest_vla.isolate.environment import installed
    from pytest_vla.isolate.install import size_text
    from pytest_vla.isolate.suite import IsolatedSuite

    if not isinstance(suite, IsolatedSuite) or suite.declared is None:
        return ""
    receipt = installed(suite.declared.name)
    if receipt is None:
        return ""
    return f"  (environment '{suite.declared.name}', Python {receipt.python}, {size_text(receipt.bytes)})"


def _sheet(options: argparse.Namespace) -> int:
    from pytest_vla.perturb.sheet import write_sheet
    from pytest_vla.registry import typed_suite

    suite = typed_suite(only("suite", options.suite))
    task = only("task", options.task) if options.task else None
    if options.camera is not None and options.camera not in suite.cameras:
        raise SuiteError(unknown("camera", options.camera, suite.cameras, f"in suite '{suite.name}'"))
    print(write_sheet(options.out, suite, task, options.camera, options.index))
    return 0


COMMANDS: tuple[Command, ...] = (
    Command("show", "look at a run", "print the table of a run", _show_arguments, _show),
    *REPORT_COMMANDS,
    *READER_COMMANDS,
    Command(
        "replay",
        "look at a run",
        "run one episode of a run again and compare its digest",
        _replay_arguments,
        _replay,
    ),
    *EXPLAIN_COMMANDS,
    *GATE_COMMANDS,
    *BESIDE_COMMANDS,
    Command("merge", "judge it", "one run file of several runs of the same policy", _merge_arguments, _merge),
    *DOCTOR_COMMANDS,
    *INFERENCE_COMMANDS,
    *TRAIN_COMMANDS,
    Command(
        "suites", "bring a suite", "list the suites, tasks and partitions that can be run", _suites_arguments, _suites
    ),
    *ISOLATE_COMMANDS,
    Command(
        "new-suite",
        "bring a suite",
        "write a suite that runs, with its test, into this folder",
        _new_suite_arguments,
        _new_suite,
    ),
    Command("sheet", "bring a suite", "draw an episode under every axis, to be looked at", _sheet_arguments, _sheet),
)


if __name__ == "__main__":
    sys.exit(main())
