"""What a run says about its hunts: causes with their rates and replay commands, and the brittleness map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_vla.perturb import AXES, MAX_LEVEL, Perturbation
from pytest_vla.run import Cause, HuntRecord, Reach, replay_command
from pytest_vla.run.intervals import rate_interval


def hunt_lines(hunts: Sequence[HuntRecord], run_file: str) -> list[str]:
    """The summary of all hunts of a run."""
    lines: list[str] = []
    for hunt in hunts:
        lines += [*cause_lines(hunt, run_file), ""]
    return [*lines, *map_lines(hunts)]


def cause_lines(hunt: HuntRecord, run_file: str | None = None) -> list[str]:
    """One hunt: what was found, or what was tested without a find."""
    solved, controls = hunt.control
    causes = _counted(len(hunt.causes), "cause") if hunt.causes else "no causes"
    lines = [f"{hunt.where}: {causes} of failure in {hunt.episodes} episodes (control: {solved} of {controls} solved)"]
    for cause in hunt.causes:
        lines.append(_cause_line(cause))
        if run_file is not None:
            lines.append(f"    {replay_command(run_file, hunt.episode(cause))}")
        if run_file is not None and cause.picture:
            lines.append(f"    neutral and failing frames: {Path(run_file).parent / cause.picture}")
    tested = hunt.tested
    lines.append(
        f"  tested: {tested.points} perturbations of {len(hunt.axes)} axes, up to {tested.most_axes} off at "
        f"once and {tested.severity} levels in all; {tested.pairs:.0%} of the pairs of levels were seen solved"
    )
    if hunt.overloads:
        failures = _counted(hunt.overloads, "failure")
        lines.append(f"  {failures} took more than three axes at once: too much, rather than a cause")
    if hunt.errors:
        lines.append(f"  not counted: {_counted(hunt.errors, 'episode')} ended in an error")
    return lines


def map_lines(hunts: Sequence[HuntRecord]) -> list[str]:
    """Axis by task: the smallest level that fails, or how far it holds."""
    if not hunts:
        return []
    names = [name for name in AXES if any(name in hunt.map for hunt in hunts)]
    titles = [f"{hunt.task}-{hunt.partition}" for hunt in hunts]
    rows = [[name, *(_reach_text(name, hunt.map.get(name)) for hunt in hunts)] for name in names]
    table = [["axis", *titles], *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(titles) + 1)]
    lines = ["brittleness map: the smallest level that fails, or how far the axis was off in solved episodes"]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return lines


def _cause_line(cause: Cause) -> str:
    perturbation = Perturbation.parse(cause.perturbation)
    low, high = rate_interval(cause.failed, cause.asked)
    rate = f"{cause.failed} of {cause.asked} [{low:.0%}, {high:.0%}]"
    return f"  {perturbation}: fails {rate}  {perturbation.describe()}"


def _reach_text(name: str, reach: Reach | None) -> str:
    if reach is None:
        return "-"
    if reach.fails_at is not None:
        others = f" with {', '.join(reach.together_with)}" if reach.together_with else ""
        return f"fails at {reach.fails_at}{others}"
    if not reach.episodes:
        return "not seen solved"
    extent = f"up to level {reach.holds_to}" if AXES[name].ordered else f"to {reach.seen} of {MAX_LEVEL}"
    return f"robust {extent} in {_counted(reach.episodes, 'episode')}"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
