"""What a run says about its hunts: causes with their rates and replay commands, and the brittleness map."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from pytest_vla.perturb import AXES, MAX_LEVEL, Perturbation
from pytest_vla.report.table import Tally

Report = dict[str, Any]


def hunt_lines(reports: Sequence[Report], run_file: str) -> list[str]:
    """The summary of all hunts of a run."""
    lines: list[str] = []
    for report in reports:
        lines += [*cause_lines(report, run_file), ""]
    return [*lines, *map_lines(reports)]


def cause_lines(report: Report, run_file: str | None = None) -> list[str]:
    """One hunt: what was found, or what was tested without a find."""
    solved, controls = report["control"]
    where = f"{report['suite']}/{report['task']}-{report['partition']}"
    tested = report["tested"]
    count = len(report["causes"])
    lines = [
        f"{where}: {_counted(count, 'cause') if count else 'no causes'} of failure in {report['episodes']} episodes "
        f"(control: {solved} of {controls} solved)"
    ]
    for cause in report["causes"]:
        perturbation = Perturbation.parse(cause["perturbation"])
        low, high = _failure_interval(cause["failed"], cause["asked"])
        lines.append(
            f"  {perturbation}: fails {cause['failed']} of {cause['asked']} [{low:.0%}, {high:.0%}]  "
            f"{perturbation.describe()}"
        )
        episode = f"{where}-{cause['index']:02d}-{perturbation}"
        if run_file is not None:
            lines.append(f"    pytest-vla replay {shlex.quote(run_file)} {shlex.quote(episode)}")
        if cause.get("picture"):
            lines.append(f"    neutral and failing frames: {cause['picture']}")
    lines.append(
        f"  tested: {tested['points']} perturbations of {len(report['axes'])} axes, up to {tested['most_axes']} off at "
        f"once and {tested['severity']} levels in all; {tested['pairs']:.0%} of the pairs of levels were seen solved"
    )
    if report["overloads"]:
        failures = _counted(report["overloads"], "failure")
        lines.append(f"  {failures} took more than three axes at once: too much, rather than a cause")
    if report["errors"]:
        lines.append(f"  not counted: {_counted(report['errors'], 'episode')} ended in an error")
    return lines


def map_lines(reports: Sequence[Report]) -> list[str]:
    """Axis by task: the smallest level that fails, or how far it holds."""
    if not reports:
        return []
    names = [name for name in AXES if any(name in report["map"] for report in reports)]
    titles = [f"{report['task']}-{report['partition']}" for report in reports]
    rows = [[name, *(_entry(name, report["map"].get(name)) for report in reports)] for name in names]
    widths = [max(len(row[i]) for row in [["axis", *titles], *rows]) for i in range(len(titles) + 1)]
    table = [["axis", *titles], *rows]
    lines = ["brittleness map: the smallest level that fails, or how far the axis was off in solved episodes"]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return lines


def _entry(name: str, entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "-"
    if "fails_at" in entry:
        others = entry["together_with"]
        return f"fails at {entry['fails_at']}" + (f" with {', '.join(others)}" if others else "")
    if not entry["episodes"]:
        return "not seen solved"
    reach = f"up to level {entry['holds_to']}" if AXES[name].ordered else f"to {entry['seen']} of {MAX_LEVEL}"
    return f"robust {reach} in {_counted(entry['episodes'], 'episode')}"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _failure_interval(failed: int, asked: int) -> tuple[float, float]:
    interval = Tally(failed, asked).interval()
    assert interval is not None
    return interval
