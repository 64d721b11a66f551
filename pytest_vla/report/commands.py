"""The commands that show a run: report, plot, export, watch."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vla.command import RUN_HELP, Command, ask_for_trust, share
from pytest_vla.run import Run, RunFileError, read_run
from pytest_vla.run.places import RUNS_FOLDER

if TYPE_CHECKING:
    from pytest_vla.report.media import Media

FORMATS = ("csv", "parquet", "json", "markdown", "model-index", "rrd")


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help=f"{RUN_HELP}; a second one to compare with")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="FILE.html or a folder")
    share(parser, "video", help="episodes to film: unsolved, all, none, or N unsolved a task (default: 2)")
    share(parser, "media", help="where the run's workers put films, such as s3://bucket/films")
    parser.add_argument("--inline-media", action="store_true", help="put films into the page, not into a folder beside")
    ask_for_trust(parser)


def _plot_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help=RUN_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="the folder for the figures")


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_file", type=Path, metavar="RUN", help=RUN_HELP)
    parser.add_argument("--format", required=True, choices=FORMATS)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--episode", metavar="ID", help="the episode of an rrd file: SUITE/TASK-PARTITION-INDEX")
    parser.add_argument("--model", metavar="NAME", help="the model's name in a model-index (default: the policy's)")
    ask_for_trust(parser)


def _runs_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, nargs="?", default=RUNS_FOLDER, metavar="DIR", help="(default: vla-runs)")


def _watch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_file", type=Path, metavar="RUN", help=RUN_HELP)
    parser.add_argument("--once", action="store_true", help="show how far it is and end")


def _report(options: argparse.Namespace) -> int:
    from pytest_vla.report.html import build_report

    if len(options.runs) > 2:
        raise RunFileError(f"a report is about one run or two, got {len(options.runs)}: see pytest-vla merge")
    runs = [_read(path) for path in options.runs]
    path = build_report(
        runs[0],
        options.output,
        runs[1] if len(runs) > 1 else None,
        video=options.video,
        inline_media=options.inline_media,
        trusted=runs if options.trust else (),
        tell=lambda line: print(line, file=sys.stderr),
        media=_media(options.media, runs[0], options.trust),
    )
    print(path)
    return 0


def _media(typed: str | None, run: Run, trust: bool) -> Media | None:
    """Where films are: as typed, or as the run file says where that is trusted."""
    from pytest_vla.report.media import Media

    named = run.options.get("media")
    if typed is None and isinstance(named, str) and not trust:
        print(f"pytest-vla: the run file says that films are at {named!r}; to read them add --media", file=sys.stderr)
    address = typed or (named if trust and isinstance(named, str) else None)
    return Media.open(address) if address else None


def _plot(options: argparse.Namespace) -> int:
    from pytest_vla.report.plots import write_plots

    for path in write_plots([_read(path) for path in options.runs], options.output):
        print(path)
    return 0


def _export(options: argparse.Namespace) -> int:
    from pytest_vla.report.exports import write_export

    run = _read(options.run_file)
    write_export(run, options.format, options.output, options.episode, options.model, trust=options.trust)
    print(options.output)
    return 0


def _runs(options: argparse.Namespace) -> int:
    from pytest_vla.report.listing import runs_table

    print(runs_table(options.folder))
    return 0


def _watch(options: argparse.Namespace) -> int:
    from pytest_vla.report.watch import watch

    return watch(options.run_file, once=options.once)


def _read(path: Path) -> Run:
    """A run, with a word on standard error about every line that cannot be read."""
    run = read_run(path)
    for number, problem in run.damaged:
        print(f"pytest-vla: {run.path}:{number} is damaged and left out ({problem})", file=sys.stderr)
    return run


COMMANDS = (
    Command("runs", "look at a run", "list the runs in vla-runs/ with their numbers", _runs_arguments, _runs),
    Command(
        "report", "look at a run", "write a run, or two side by side, as one HTML page", _report_arguments, _report
    ),
    Command("plot", "look at a run", "write figures for a paper, as PNG and SVG", _plot_arguments, _plot),
    Command("watch", "look at a run", "follow a run from another terminal", _watch_arguments, _watch),
    Command(
        "export",
        "look at a run",
        "write the episodes or the table of a run in another format",
        _export_arguments,
        _export,
    ),
)
