"""What a hunt tries next: random points of the density that fails often enough, short of what is known to fail."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from pytest_vla.hunt.space import MAX_LEVEL, Point, Space, active, at_least, change, severity

FAILING_SHARE = (0.3, 0.5)
"""The number of axes off neutral is chosen so that this share of the points fails that would not fail anyway."""
WINDOW = 8
"""So many answers between two looks at that share."""
QUIET = 0.15
PATIENCE = 18
"""Quiet windows after which a limit is lifted that a single point has set, by bad luck perhaps."""
CANDIDATES = 20


class Draw:
    """Draws points, and learns from how they come out how much may be off at once."""

    def __init__(self, space: Space, source: random.Random) -> None:
        self.space, self.random = space, source
        self.density = max(1.0, len(space.axes) / 3)
        self.cap = MAX_LEVEL * len(space.axes)
        """How much may be off in all."""
        self._limits = self._quiet_windows = 0
        self._levels = [space.levels(axis) for axis in range(len(space.axes))]
        self.quiet = False
        """Whether hardly anything failed lately."""
        self._window: list[bool] = []

    def point(self, novelty: Callable[[Point], int], causes: Sequence[Point]) -> Point:
        """Of a few random points of the right density, the one that shows most that no solved point has shown.

        Unordered levels have no neighbours that would vouch for them: each pair has to be met, so that they are chosen.
        """
        point = max((self._candidate(causes) for _ in range(CANDIDATES)), key=novelty)
        unordered = [axis for axis in active(point) if not self.space.ordered[axis]]
        for axis in self.random.sample(unordered, len(unordered)):
            others = (change(point, axis, level) for level in self._levels[axis])
            point = max((point, *(other for other in others if self._may_be(other, causes))), key=novelty)
        return point

    def _may_be(self, point: Point, causes: Sequence[Point]) -> bool:
        return severity(point) <= self.cap and not any(self.space.covers(point, cause) for cause in causes)

    def stay_below(self, too_much: int) -> None:
        """What is off in all is too much."""
        self.cap = max(min(self.cap, too_much), MAX_LEVEL)
        self._limits += 1
        self._quiet_windows = 0

    def learn(self, failed: bool, base: float, chancy: bool) -> None:
        """More axes while too little of what is drawn fails, fewer while too much does.

        Where failing is `chancy`, a limit that one point has set does not last.
        """
        self._window.append(failed)
        if len(self._window) < WINDOW:
            return
        share = (sum(self._window) / len(self._window) - base) / (1 - base)
        self._window.clear()
        self.quiet = share < QUIET
        self._quiet_windows += self.quiet
        if chancy and self._limits == 1 and self._quiet_windows >= PATIENCE:
            self.cap = MAX_LEVEL * len(self.space.axes)
        if share < FAILING_SHARE[0]:
            self.density = min(self.density * 1.25, len(self.space.axes))
        elif share > FAILING_SHARE[1]:
            self.density = max(self.density * 0.8, 1.0)

    def _candidate(self, causes: Sequence[Point]) -> Point:
        count = int(self.density) + (self.random.random() < self.density % 1)
        size = len(self.space.axes)
        levels = [0] * size
        for axis in self.random.sample(range(size), min(max(count, 1), size)):
            levels[axis] = self.random.choice(self._levels[axis])
        return self._repaired(tuple(levels), causes)

    def _repaired(self, point: Point, causes: Sequence[Point]) -> Point:
        """Take out what is known to fail: one axis of each known cause is drawn anew, short of it."""
        for _ in range(20):
            known = next((cause for cause in causes if self.space.covers(point, cause)), None)
            if known is None:
                break
            axis = self.random.choice(active(known))
            others = [level for level in self._levels[axis] if not self._reaches(axis, level, known[axis])]
            point = change(point, axis, self.random.choice(others) if others else 0)
        return self._below_cap(point)

    def _below_cap(self, point: Point) -> Point:
        """Less of what is off. An unordered axis can only be dropped: half of the points take from the ordered ones."""
        levels, total = list(point), severity(point)
        ordered_only = self.random.random() < 0.5
        left = [axis for axis in active(point) if self.space.ordered[axis] or not ordered_only]
        while total > self.cap:
            left = left or [axis for axis, level in enumerate(levels) if level]
            axis = self.random.choice(left)
            less = 1 if self.space.ordered[axis] else abs(levels[axis])
            levels[axis] -= less if levels[axis] > 0 else -less
            total -= less
            if not levels[axis]:
                left.remove(axis)
        return tuple(levels)

    def _reaches(self, axis: int, level: int, need: int) -> bool:
        return at_least(level, need) if self.space.ordered[axis] else level == need
