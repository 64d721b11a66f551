"""What a hunt has seen: every answer, what solved points vouch for, and how far answers can be trusted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_vla.hunt.space import MAX_LEVEL, Point, Space, severity

FLAKINESS_RANGE = (0.01, 0.3)
AGREED_BEFORE = 10
"""Flakiness is estimated as if this many repeated answers had agreed already."""


class History:
    """Answers by point. A solved point vouches for every part of itself; a failed one masks its parts."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.answers: dict[Point, list[bool]] = {}
        self._solved: list[Point] = []
        size = len(space.axes)
        self._vouched = np.zeros((size, MAX_LEVEL + 1, size, MAX_LEVEL + 1), dtype=bool)
        self._repeats = self._disagreed = 0

    def add(self, point: Point, solved: bool) -> None:
        answers = self.answers.setdefault(point, [])
        self._disagreed -= _disagreed(answers)
        answers.append(solved)
        self._disagreed += _disagreed(answers)
        self._repeats += len(answers) > 1
        if solved and answers.count(True) == 1:
            self._solved.append(point)
            self._vouch(point)

    def failed(self, point: Point) -> int:
        return self.answers.get(point, []).count(False)

    def solved(self, point: Point) -> int:
        return self.answers.get(point, []).count(True)

    @property
    def flakiness(self) -> float:
        """How often a repeated answer is not the usual one of its point."""
        low, high = FLAKINESS_RANGE
        return min(max(self._disagreed / (self._repeats + AGREED_BEFORE), low), high)

    def solved_points(self) -> NDArray[np.int64]:
        return np.array(self._solved, dtype=np.int64).reshape(len(self._solved), len(self.space.axes))

    def solved_severity(self, rank: int) -> int:
        """The severity that so many solved points reached."""
        severities = sorted(map(severity, self._solved), reverse=True)
        return severities[rank - 1] if len(severities) >= rank else 0

    def novelty(self, point: Point) -> int:
        """How many pairs of levels in this point were in no solved point yet."""
        axes = np.flatnonzero(point)
        levels = np.asarray(point)[axes]
        seen = self._vouched[axes[:, None], levels[:, None], axes[None, :], levels[None, :]]
        return int(seen.size - np.count_nonzero(seen))

    def solved_pairs(self) -> float:
        """The share of all pairs of levels of two axes that were in a solved point."""
        size = len(self.space.axes)
        if size < 2:
            return 1.0 if self._solved else 0.0
        both = [self._vouched[a, 1:, b, 1:] for a in range(size) for b in range(a)]
        return float(np.mean(both))

    def _vouch(self, point: Point) -> None:
        """An ordered level also vouches for the one below it; farther down there may be a band that fails."""
        ordered = np.array(self.space.ordered)
        for levels in (np.array(point), np.maximum(np.array(point) - ordered, 0)):
            axes = np.flatnonzero(levels)
            levels = levels[axes]
            self._vouched[axes[:, None], levels[:, None], axes[None, :], levels[None, :]] = True


def _disagreed(answers: list[bool]) -> int:
    """Answers against the majority; the first is left out, since points are chosen for how it came out."""
    majority = answers.count(True) * 2 > len(answers)
    return sum(answer is not majority for answer in answers[1:])
