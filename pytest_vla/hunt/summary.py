"""What a run says about its hunts: causes with their rates and replay commands, and the brittleness map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_vla.perturb import AXES, MAX_LEVEL, Perturbation
from pytest_vla.registry import takes_trust
from pytest_vla.run import Cause, HuntRecord, Reach, replay_command
from pytest_vla.run.hunts import Count
from pytest_vla.run.intervals import exact_interval


def hunt_lines(hunts: Sequence[HuntRecord], run_file: str, builtin_policy: bool = False) -> list[str]:
    """The summary of all hunts of a run."""
    lines: list[str] = []
    for hunt in hunts:
        lines += [*cause_lines(hunt, run_file, builtin_policy), ""]
    return [*lines, *map_lines(hunts)]


def cause_lines(hunt: HuntRecord, run_file: str | None = None, builtin_policy: bool = False) -> list[str]:
    """One hunt: what was found, or what was tested without a find."""
    solved, controls = hunt.control
    causes = _counted(len(hunt.causes), "cause") if hunt.causes else "no causes"
    lines = [f"{hunt.where}: {causes} of failure in {hunt.episodes} episodes (control: {solved} of {controls} solved)"]
    for cause in hunt.causes:
        lines += effect_lines(cause, hunt.base)
        if run_file is not None:
            lines.append(
                f"    {replay_command(run_file, hunt.episode(cause), takes_trust(hunt.suite, builtin_policy))}"
            )
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
    if hunt.unconfirmed:
        points = _counted(hunt.unconfirmed, "failing point")
        lines.append(f"  unconfirmed: {points}: chance, or too rare to tell from it")
    if hunt.known[1]:
        lines.append(f"  earlier finds: {hunt.known[0]} of the {hunt.known[1]} episodes tried again still fail")
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
    lines = ["brittleness map: the smallest level that fails, or how far it fails no more often than without the axis"]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return lines


def effect_lines(cause: Cause, base: Count) -> list[str]:
    """How often a cause fails, and the policy without it; where; and one level lower."""
    described = Perturbation.parse(cause.perturbation).describe()
    unperturbed = f"{rate_text(base)} of {_counted(base.asked, 'scene')} unperturbed"
    if not cause.asked:
        seen = f"failed in {cause.confirmed.failed} of {cause.confirmed.asked} scenes, which confirmed it"
        return [f"  {cause.perturbation}: {seen}; no episodes were left to measure its rate  {described}"]
    rate = f"{rate_text(cause.rate)} of {_counted(cause.asked, 'scene')}"
    lines = [f"  {cause.perturbation}: fails in {rate}, against {unperturbed}  {described}"]
    if cause.condition is not None:
        where, inside, outside = cause.condition, cause.condition.inside, cause.condition.outside
        lines.append(f"    where {where}: {rate_text(inside)} of {inside.asked}, elsewhere {rate_text(outside)}")
    if cause.lower is not None:
        lines.append(f"    one level lower, {cause.lower.perturbation}: {rate_text(cause.lower.count)}")
    if cause.also:
        lines.append(f"    also, in the same scenes: {'; '.join(cause.also)}")
    return lines


def rate_text(count: Count) -> str:
    """A rate with its interval."""
    low, high = exact_interval(count.failed, count.asked)
    return f"{count.rate:.0%} [{low:.0%}, {high:.0%}]"


def _reach_text(name: str, reach: Reach | None) -> str:
    if reach is None:
        return "-"
    if reach.fails_at is not None:
        others = f" with {', '.join(reach.together_with)}" if reach.together_with else ""
        return f"fails at {reach.fails_at}{others}"
    doubt = f"{reach.doubtful.failed} of {reach.doubtful.asked} failed" if reach.doubtful is not None else ""
    if not reach.episodes or not reach.seen:
        return f"doubtful: {doubt}, no cause confirmed" if doubt else "not seen solved"
    extent = f"up to level {reach.holds_to}" if AXES[name].ordered else f"to {reach.seen} of {MAX_LEVEL}"
    failed = f", {reach.failed} failed" if reach.failed else ""
    beyond = f"; beyond doubtful: {doubt}" if doubt else ""
    return f"robust {extent} in {_counted(reach.episodes, 'episode')}{failed}{beyond}"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
