"""From a failing point to the fewest axes and the lowest levels that still fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from pytest_vla.hunt.history import History
from pytest_vla.hunt.outcome import Answer
from pytest_vla.hunt.space import Point, Space, active, change, severity
from pytest_vla.hunt.suspects import Rates, Suspects, Thresholds

RELIABLE = 0.03
"""With fewer failures without a cause, one answer is enough."""
SURE, SURE_WHEN_FLAKY = 0.9, 0.95
LIKELIER = 20
"""So many times as likely decides whether a smaller point fails too."""
MOST_TESTS = 30
"""Of one step, before it is given up."""
TRUSTED = 3
"""One solved point may be luck, three of them show that so much can be solved."""


@dataclass(frozen=True, slots=True)
class Where:
    """In which scenes a point fails, as far as was seen (anywhere if empty), and how far answers can be trusted."""

    rates: Rates
    scenes: tuple[int, ...] = ()

    @property
    def reliable(self) -> bool:
        return self.rates.without < RELIABLE and self.rates.with_cause > 1 - RELIABLE


@dataclass(frozen=True)
class Shrink:
    """Asks `again`, in some scene, for parts of a point."""

    space: Space
    history: History
    again: Callable[[Point, Sequence[int]], Answer]

    def axes(self, point: Point, where: Where) -> list[int] | None:
        """The axes that make it fail, or None when it takes more than three."""
        if len(active(point)) == 1:
            return active(point)
        suspects = Suspects.of(self.space, point, self.history.solved_points(where.scenes))
        for _ in range(MOST_TESTS):
            axes, weight = suspects.best()
            if weight >= (SURE if where.reliable else SURE_WHEN_FLAKY):
                return axes
            kept = suspects.next_test()
            test = self.space.only(point, kept)
            solved = self.again(test, where.scenes)
            if solved is not None:
                light = severity(test) <= self.history.solved_severity(TRUSTED)
                suspects.learn(kept, solved, where.rates, light)
        return None

    def levels(self, cause: Point, where: Where) -> Point:
        """Each ordered axis in turn down to the lowest level that still fails; level 0 drops it."""
        for axis in active(cause):
            if self.space.ordered[axis]:
                sign = 1 if cause[axis] > 0 else -1
                thresholds = Thresholds.of(self.space, cause, axis, self.history.solved_points(where.scenes))
                for _ in range(MOST_TESTS):
                    level, weight = thresholds.best()
                    if weight >= (SURE if where.reliable else SURE_WHEN_FLAKY):
                        break
                    tried = thresholds.next_test()
                    solved = self.again(change(cause, axis, sign * tried), where.scenes)
                    if solved is not None:
                        thresholds.learn(tried, solved, where.rates)
                cause = change(cause, axis, sign * level)
        return cause

    def minimal(self, cause: Point, where: Where) -> Point:
        """With answers that cannot be relied on, look at each axis once more: without it, is it solved?"""
        if where.reliable:
            return cause
        for axis in active(cause):
            without = change(cause, axis, 0)
            if any(without) and self.fails(without, where):
                return self.minimal(without, where)
        return cause

    def fails(self, point: Point, where: Where) -> bool:
        """As often as with the cause rather than without it: whichever is far likelier."""
        rates, evidence = where.rates, 0.0
        for _ in range(MOST_TESTS):
            solved = self.again(point, where.scenes)
            if solved is not None:
                with_cause, without = (1 - r if solved else r for r in (rates.with_cause, rates.without))
                evidence += log(with_cause / without)
            if abs(evidence) >= log(LIKELIER):
                break
        return evidence > 0


def parts_of(cause: Point) -> list[Point]:
    """Fewer of its axes, at the same levels: each one alone, and all but one."""
    axes = active(cause)
    alone = [tuple(level if axis == one else 0 for axis, level in enumerate(cause)) for one in axes]
    return list(
        dict.fromkeys(
            part for part in [*alone, *(change(cause, one, 0) for one in axes)] if 0 < len(active(part)) < len(axes)
        )
    )
