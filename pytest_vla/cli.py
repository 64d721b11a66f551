"""The `pytest-vla` command: what one does after a run, all of it from the run file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_vla._version import __version__
from pytest_vla.gate.commands import add_commands
from pytest_vla.gate.verdict import GateError
from pytest_vla.policies.base import PolicyError
from pytest_vla.report.commands import add_report_commands
from pytest_vla.report.runfile import RunFileError
from pytest_vla.suite import SuiteError
from pytest_vla.train.commands import add_train_commands
from pytest_vla.train.errors import DatasetError, TrainError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; whatever is wrong with its input is one line on standard error and exit code 2."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (RunFileError, SuiteError, PolicyError, GateError, DatasetError, TrainError) as error:
        print(f"pytest-vla: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pytest-vla", description=__doc__)
    parser.add_argument("--version", action="version", version=f"pytest-vla {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    show = commands.add_parser("show", help="print the table of a run")
    show.add_argument("run_file", type=Path, metavar="RUN", help="a run folder or its run.jsonl")
    show.set_defaults(run=_show)

    replay = commands.add_parser("replay", help="run one episode of a run again and compare its digest")
    replay.add_argument("run_file", type=Path, metavar="RUN", help="a run folder or its run.jsonl")
    replay.add_argument("episode", metavar="NODEID", help="a pytest node id, or SUITE/TASK-PARTITION-INDEX")
    replay.add_argument("--policy", metavar="SPEC", help="another policy than the run's own")
    replay.set_defaults(run=_replay)

    merge = commands.add_parser("merge", help="one run file of several runs of the same policy")
    merge.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    merge.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="where run.jsonl goes")
    merge.set_defaults(run=_merge)

    add_commands(commands)
    add_report_commands(commands)

    suites = commands.add_parser("suites", help="list the suites, tasks and partitions that can be run")
    suites.add_argument("names", nargs="*", metavar="SUITE")
    suites.set_defaults(run=_suites)
    new_suite = commands.add_parser("new-suite", help="write a suite that runs, with its test, into this folder")
    new_suite.add_argument("name", metavar="NAME")
    new_suite.set_defaults(run=_new_suite)
    _add_inference_commands(commands)
    add_train_commands(commands)
    return parser


def _add_inference_commands(commands: Any) -> None:
    serve = commands.add_parser("serve", help="offer a policy to vla-eval and openpi clients")
    serve.add_argument("policy", metavar="POLICY", help="what --vla-policy takes")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    serve.add_argument("--port", type=int, default=8000, help="0 picks a free one (default: %(default)s)")
    serve.add_argument("--device", default="cpu", help="where the model goes (default: %(default)s)")
    serve.add_argument("--batch", type=int, default=32, metavar="N", help="largest batch (default: %(default)s)")
    serve.add_argument("--horizon", type=int, metavar="N", help="actions to execute of each chunk (default: all)")
    serve.add_argument("--protocol", choices=("auto", "vla-eval", "openpi"), default="auto", help="who may connect")
    serve.add_argument("--map", action="append", default=[], metavar="OURS=THEIRS", help="images.front=images.top, ...")
    serve.set_defaults(run=_serve)

    tune = commands.add_parser("tune", help="measure the policy's supply of actions and the simulators' demand")
    tune.add_argument("policy", metavar="POLICY", help="what --vla-policy takes")
    tune.add_argument("--suite", required=True, metavar="NAME", help="whose observations to use")
    tune.add_argument("--device", default="cpu", help="where the model goes (default: %(default)s)")
    tune.add_argument("-n", "--simulators", type=int, default=4, metavar="N", help="up to N (default: %(default)s)")
    tune.set_defaults(run=_tune)


def _serve(options: argparse.Namespace) -> int:
    from pytest_vla.inference.serve import ServeOptions, run_server
    from pytest_vla.policies.websocket import TOKEN_VARIABLE

    names = dict(text.partition("=")[::2] for text in options.map)
    served = ServeOptions(
        host=options.host,
        port=options.port,
        token=os.environ.get(TOKEN_VARIABLE, ""),
        protocol=options.protocol,
        batch=options.batch,
        horizon=options.horizon,
        names=names,
    )
    return run_server(options.policy, served, options.device)


def _tune(options: argparse.Namespace) -> int:
    from pytest_vla.inference.demand import tune

    print(tune(options.policy, options.suite, options.device, options.simulators))
    return 0


def _show(options: argparse.Namespace) -> int:
    from pytest_vla.report.runfile import read_run
    from pytest_vla.report.table import describe_run

    print(describe_run(read_run(options.run_file)))
    return 0


def _replay(options: argparse.Namespace) -> int:
    from pytest_vla.replay import replay

    replayed = replay(options.run_file, options.episode, options.policy)
    print(replayed)
    return 0 if replayed.same else 1


def _merge(options: argparse.Namespace) -> int:
    from pytest_vla.report.runfile import FILE_NAME, merge_runs, read_run, write_run

    runs = [read_run(path) for path in options.runs]
    for run in runs:
        for number, problem in run.damaged:
            print(f"pytest-vla: {run.path}:{number} is damaged and left out ({problem})", file=sys.stderr)
    first, episodes = merge_runs(runs)
    path = options.output if options.output.suffix == ".jsonl" else options.output / FILE_NAME
    write_run(path, first, episodes)
    print(f"{len(episodes)} episodes of {len(runs)} runs in {path}")
    return 0


def _new_suite(options: argparse.Namespace) -> int:
    from pytest_vla.kit.new_suite import write_skeleton

    for path in write_skeleton(options.name, Path.cwd()):
        print(path.relative_to(Path.cwd()))
    print(f"run it: pytest {options.name} --vla-policy=oracle")
    return 0


def _suites(options: argparse.Namespace) -> int:
    from pytest_vla.suite import get_suites

    for suite in get_suites(options.names):
        missing = suite.missing()
        note = f"  (needs {missing.module}: {missing.install})" if missing else ""
        print(f"{suite.name}, version {suite.version}: {len(suite.cells())} (task, partition) cells{note}")
        for task in suite.tasks():
            print(f"  {task}: {', '.join(partition for name, partition in suite.cells() if name == task)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
