"""The brittleness map: for every axis the smallest level that breaks a task, or how far it was seen to hold."""

from __future__ import annotations

from collections.abc import Callable

from pytest_vla.hunt.effects import ALPHA, fisher
from pytest_vla.hunt.outcome import Outcome
from pytest_vla.hunt.space import MAX_LEVEL, Point, active, severity
from pytest_vla.run import Reach
from pytest_vla.run.hunts import Count

Seen = list[tuple[Point, bool]]
"""Points asked, and whether they failed."""


def brittleness(outcome: Outcome) -> dict[str, Reach]:
    """By axis: where it fails, if it is in a cause; how far it was off in other episodes, and how these came out."""
    seen = _unexplained(outcome)
    return {name: _reach(outcome, number, seen) for number, name in enumerate(outcome.space.axes)}


def _unexplained(outcome: Outcome) -> Seen:
    """All that was asked but what has a known cause in it, or has too much off at once."""
    space, seen = outcome.space, []
    for point, answers in outcome.history.answers.items():
        known = any(space.covers(point, cause.point) for cause in outcome.causes)
        if not known and severity(point) < outcome.too_much:
            seen += [(point, not solved) for _, solved in answers]
    return seen


def _reach(outcome: Outcome, axis: int, seen: Seen) -> Reach:
    causes = [cause.point for cause in outcome.causes if cause.point[axis]]
    alone = [point for point in causes if len(active(point)) == 1]
    point = min(alone or causes, key=lambda point: abs(point[axis]), default=None)
    others = [] if point is None else [other for other in active(point) if other != axis]
    without = _counted(seen, lambda point: not point[axis])
    without = Count(without.failed + outcome.base.failed, without.asked + outcome.base.asked)
    ordered = outcome.space.ordered[axis]
    bad = _bad_levels(axis, seen, without, ordered)
    off = [(point, failed) for point, failed in seen if point[axis] and abs(point[axis]) not in bad]
    levels = {abs(point[axis]) for point, failed in off if not failed}
    return Reach(
        fails_at=None if point is None else point[axis],
        together_with=tuple(outcome.space.axes[other] for other in others),
        holds_to=max(levels, default=0),
        seen=len({point[axis] for point, failed in off if not failed}),
        episodes=len(off),
        failed=sum(failed for _, failed in off),
        doubtful=_counted(seen, lambda point: abs(point[axis]) in bad) if bad else None,
    )


def _bad_levels(axis: int, seen: Seen, without: Count, ordered: bool) -> set[int]:
    """Levels with more failures than there are without the axis; of an ordered axis, all from the first on.

    That is the first level that fails too often by itself, or with all below it, or from which on the rest does.
    """
    levels = range(1, MAX_LEVEL + 1)
    alone = {level: _chance(axis, seen, without, level, level) for level in levels}
    if not ordered:
        return {level for level, chance in alone.items() if chance * len(levels) <= ALPHA}
    upto = {level: _chance(axis, seen, without, 1, level) for level in levels}
    beyond = {level: _chance(axis, seen, without, level, MAX_LEVEL) for level in levels}
    enough = ALPHA / (3 * len(levels))
    first = [level for level in levels if min(alone[level], upto[level]) <= enough]
    if min(beyond.values()) <= enough:
        first.append(min(beyond, key=beyond.__getitem__))
    return set(range(min(first), MAX_LEVEL + 1)) if first else set()


def _chance(axis: int, seen: Seen, without: Count, low: int, high: int) -> float:
    """That so many fail between two levels, in either direction, if the axis does nothing."""
    there = _counted(seen, lambda point: low <= abs(point[axis]) <= high)
    return fisher(there, without) if there.failed else 1.0


def _counted(seen: Seen, condition: Callable[[Point], bool]) -> Count:
    failures = [failed for point, failed in seen if condition(point)]
    return Count(sum(failures), len(failures))
