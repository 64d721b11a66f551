"""The commands that put runs beside others: compare, rank, published, history, comment, badge."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_vla.command import RUN_HELP, Command, ask_for_trust, share, whole
from pytest_vla.gate.commands import readable
from pytest_vla.gate.evidence import GateError
from pytest_vla.report.errors import ReportError
from pytest_vla.run import Run
from pytest_vla.run.places import RUNS_FOLDER

SORTS = ("name", "success", "difference")


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"{RUN_HELP}; the first is the reference")
    parser.add_argument("--flips", type=whole(), default=10, metavar="N", help="episodes to list (default: 10)")
    parser.add_argument("--sort", choices=SORTS, default="name", help="rows by name, or the worst first")
    parser.add_argument("--published", action="store_true", help="each run inside the spread of published values")
    parser.add_argument("--json", action="store_true", help="the comparison as data")


def _rank_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"{RUN_HELP}; NAME=RUN gives it a name")
    parser.add_argument(
        "--confidence", type=_share, default=0.95, metavar="SHARE", help="of all at once (default: 0.95)"
    )
    parser.add_argument("--json", action="store_true", help="the ranking as data, with all differences")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it as a page: FILE.html or a folder")


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text!r}")
    return value


def _published_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", metavar="RUN | update", help=f"{RUN_HELP}; update reads a leaderboard file")
    parser.add_argument("source", nargs="?", metavar="FILE|URL", help="with update: the public leaderboard as JSON")
    parser.add_argument("--benchmark", metavar="NAME", help="list what is published of one benchmark")


def _history_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, nargs="?", default=RUNS_FOLDER, metavar="DIR", help="(default: vla-runs)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it as a page: FILE.html or a folder")


def _comment_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_file", metavar="RUN", help=RUN_HELP)
    share(parser, "baseline", help="judge against this run, and list the episodes that flipped")
    share(parser, "anchor", help="judge against this release as well")
    parser.add_argument("--link", type=_link, metavar="URL", help="where the page of the run can be had")
    parser.add_argument("--name", type=_name, default="", help="tells several comments on one pull request apart")
    parser.add_argument("--flips", type=whole(), default=10, metavar="N", help="episodes to list (default: 10)")
    ask_for_trust(parser)


def _link(text: str) -> str:
    if not text.startswith(("http://", "https://")) or set(text) & set(" ()<>\n"):
        raise argparse.ArgumentTypeError(f"must be an address such as https://host/page, got {text!r}")
    return text


def _name(text: str) -> str:
    if not all(letter.isalnum() or letter in "_." for letter in text.replace("-", "_")) or "--" in text:
        raise argparse.ArgumentTypeError(f"must be letters, digits, '_', '.' and single '-', got {text!r}")
    return text


def _badge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_file", metavar="RUN", help=RUN_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="FILE.svg")
    parser.add_argument("--label", metavar="TEXT", help="the left half (default: the suites' names)")


def _compare(options: argparse.Namespace) -> int:
    from pytest_vla.gate.side_by_side import describe, to_dict

    runs = [readable(path) for path in options.runs]
    if options.published:
        return _beside(runs)
    if len(runs) < 2:
        raise GateError("compare needs two runs or more: pytest-vla compare A B, or --published")
    if options.json:
        print(json.dumps(to_dict(runs, options.runs, options.sort), indent=1))
    else:
        print(describe(runs, options.runs, options.flips, options.sort))
    return 0


def _beside(runs: Sequence[Run]) -> int:
    from pytest_vla.report import distributions

    known = distributions.load()
    for run in runs:
        print(f"{run.path}: policy {run.policy}")
        print(distributions.beside_text(run, known))
    return 0


def _rank(options: argparse.Namespace) -> int:
    from pytest_vla.gate.ranking import rank
    from pytest_vla.report.order import told_apart
    from pytest_vla.report.ranking import ranking_data, ranking_text, write_ranking

    named = [_named(text) for text in options.runs]
    runs = [readable(path) for _, path in named]
    names = [name or short for (name, _), short in zip(named, told_apart(runs), strict=True)]
    found = rank(runs, names, options.confidence)
    if options.output is not None:
        print(f"written: {write_ranking(found, options.output)}", file=sys.stderr)
    print(json.dumps(ranking_data(found), indent=1) if options.json else ranking_text(found))
    return 0


def _published(options: argparse.Namespace) -> int:
    from pytest_vla.report import distributions

    if options.what == "update":
        if options.source is None:
            raise ReportError("name the leaderboard: pytest-vla published update FILE|URL")
        found = distributions.read_leaderboard(_fetched(options.source), options.source)
        distributions.save(found, distributions.own_file())
        print(f"{len(found.distributions)} distributions of {found.updated}: {distributions.own_file()}")
        return 0
    known = distributions.load()
    if options.what is not None:
        print(distributions.beside_text(readable(options.what), known))
    else:
        print(distributions.listing(known, options.benchmark))
    return 0


def _fetched(source: str) -> str:
    """The text of a file, or of an address that a person typed."""
    from pytest_vla.report.distributions import LARGEST_FILE

    if not source.startswith(("http://", "https://")):
        return Path(source).read_text(encoding="utf-8", errors="replace")
    from urllib.error import URLError
    from urllib.request import urlopen

    try:
        with urlopen(source, timeout=60) as answer:
            return str(answer.read(LARGEST_FILE).decode("utf-8", errors="replace"))
    except (URLError, OSError) as error:
        raise ReportError(f"cannot read '{source}': {error}") from None


def _named(text: str) -> tuple[str, Path]:
    """A run, or NAME=RUN; a file whose name has such a sign in it is a run."""
    name, sign, path = text.partition("=")
    return (name, Path(path)) if sign and name and not Path(text).exists() else ("", Path(text))


def _history(options: argparse.Namespace) -> int:
    from pytest_vla.report.history import history, history_text, read_history, write_history

    series = history(read_history(options.folder))
    if options.output is not None:
        print(f"written: {write_history(series, options.output)}", file=sys.stderr)
    print(history_text(series))
    return 0


def _comment(options: argparse.Namespace) -> int:
    from pytest_vla.report.comment import comment

    run = readable(options.run_file)
    named = (options.baseline, options.anchor, options.link, options.name, options.flips)
    print(comment(run, *named, trust=options.trust), end="")
    return 0


def _badge(options: argparse.Namespace) -> int:
    from pytest_vla.report.badge import write_badge

    if options.output.suffix != ".svg":
        raise ReportError(f"a badge is an SVG file: name it FILE.svg, got '{options.output}'")
    print(write_badge(readable(options.run_file), options.output, options.label))
    return 0


COMMANDS = (
    Command(
        "compare",
        "judge it",
        "put runs side by side: differences, gaps, flipped episodes",
        _compare_arguments,
        _compare,
    ),
    Command("rank", "judge it", "rank two policies or more by the episodes all runs share", _rank_arguments, _rank),
    Command(
        "published",
        "judge it",
        "put a run inside the spread of published values, or list them",
        _published_arguments,
        _published,
    ),
    Command(
        "history",
        "judge it",
        "the runs of a folder as a series, with where success changed",
        _history_arguments,
        _history,
    ),
    Command(
        "comment",
        "judge it",
        "print the verdict, levels and flips of a run as Markdown for a pull request",
        _comment_arguments,
        _comment,
    ),
    Command("badge", "judge it", "draw success and verdict of a run as an SVG badge", _badge_arguments, _badge),
)
