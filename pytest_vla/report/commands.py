"""The commands of `pytest-vla` that show a run: report, plot, export, watch."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pytest_vla.run import Run, RunFileError, read_run

RUN_HELP = "a run folder or its run.jsonl"
FORMATS = ("csv", "parquet", "markdown", "model-index", "rrd")


def add_report_commands(commands: Any) -> None:
    """Add one parser per command."""
    report = commands.add_parser("report", help="write a run, or two side by side, as one HTML page")
    report.add_argument("runs", type=Path, nargs="+", metavar="RUN", help=f"{RUN_HELP}; a second one to compare with")
    report.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="FILE.html or a folder")
    report.add_argument("--video", default=None, metavar="WHICH", help="unsolved, all, none or N per task (default: 2)")
    report.add_argument("--inline-media", action="store_true", help="put films into the page, not into a folder beside")
    report.set_defaults(run=_report)

    plot = commands.add_parser("plot", help="write figures for a paper, as PNG and SVG")
    plot.add_argument("runs", type=Path, nargs="+", metavar="RUN", help=RUN_HELP)
    plot.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="the folder for the figures")
    plot.set_defaults(run=_plot)

    export = commands.add_parser("export", help="write the episodes or the table of a run in another format")
    export.add_argument("run_file", type=Path, metavar="RUN", help=RUN_HELP)
    export.add_argument("--format", required=True, choices=FORMATS)
    export.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    export.add_argument("--episode", metavar="ID", help="the episode of an rrd file: SUITE/TASK-PARTITION-INDEX")
    export.add_argument("--model", metavar="NAME", help="the model's name in a model-index (default: the policy's)")
    export.set_defaults(run=_export)

    watch = commands.add_parser("watch", help="follow a run from another terminal")
    watch.add_argument("run_file", type=Path, metavar="RUN", help=RUN_HELP)
    watch.add_argument("--once", action="store_true", help="show how far it is and end")
    watch.set_defaults(run=_watch)


def _report(options: argparse.Namespace) -> int:
    from pytest_vla.report.html import build_report

    if len(options.runs) > 2:
        raise RunFileError(f"a report is about one run or two, got {len(options.runs)}: see pytest-vla merge")
    if options.video not in (None, "unsolved", "all", "none") and not options.video.isdigit():
        raise RunFileError(f"--video must be unsolved, all, none or a whole number, got {options.video!r}")
    runs = [_read(path) for path in options.runs]
    path = build_report(
        runs[0],
        options.output,
        runs[1] if len(runs) > 1 else None,
        video=options.video,
        inline_media=options.inline_media,
        tell=lambda line: print(line, file=sys.stderr),
    )
    print(path)
    return 0


def _plot(options: argparse.Namespace) -> int:
    from pytest_vla.report.plots import write_plots

    for path in write_plots([_read(path) for path in options.runs], options.output):
        print(path)
    return 0


def _export(options: argparse.Namespace) -> int:
    from pytest_vla.report.exports import write_export

    write_export(_read(options.run_file), options.format, options.output, options.episode, options.model)
    print(options.output)
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
