"""Which few of a failing point's axes are the cause: group testing with a memory and a tolerance for wrong answers.

Every single axis, pair and triple of the point is a suspect. Suspects that are part of solved points weigh less from
the start. Each test keeps about half of the weight off neutral, so its answer halves the suspicion; an answer that
may be wrong only shifts it. What remains is minimal: with any of its axes neutral, the failure goes away.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pytest_vla.hunt.space import Point, Space, active

MOST_AXES = 3
SIZE_WEIGHT = (0.4, 0.3, 0.2, 0.1)
"""Prior chance that a cause has one, two or three axes, or that it takes more."""
SEEN_WEIGHT = 0.35
"""A suspect counts this much for each solved point that it was in; not 0, since bands fail and what is above solves."""
LEAST_WEIGHT = 1e-3
DIGITS = 9
"""Of a weight that is compared with another: a sum is not the same to the last bit on every machine, the search is."""


@dataclass(frozen=True, slots=True)
class Rates:
    """How often a test fails with the cause in it, and without: an answer says as much as these differ."""

    with_cause: float
    without: float

    def likelihood(self, inside: NDArray[np.bool_], solved: bool) -> NDArray[np.float64]:
        """Of an answer, where the cause is in the test and where it is not."""
        fails = np.where(inside, self.with_cause, self.without)
        return 1 - fails if solved else fails


@dataclass
class Suspects:
    """The weight of every suspect, and of the last one: that it takes more than three axes."""

    axes: list[int]
    members: NDArray[np.bool_]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, space: Space, point: Point, solved: NDArray[np.int64]) -> Suspects:
        axes = active(point)
        rows, prior = [], []
        for size in range(1, min(MOST_AXES, len(axes)) + 1):
            sets = list(combinations(range(len(axes)), size))
            rows += [[i in chosen for i in range(len(axes))] for chosen in sets]
            prior += [SIZE_WEIGHT[size - 1] / len(sets)] * len(sets)
        members = np.array(rows, dtype=bool)
        near = _near(space, point, axes, solved)
        # A suspect is in a solved point when none of its members is away there.
        times = (members.astype(np.int32) @ (~near).T.astype(np.int32) == 0).sum(axis=1)
        weights = np.array(prior) * np.maximum(SEEN_WEIGHT**times, LEAST_WEIGHT)
        weights[:] = weights / weights.sum() * sum(SIZE_WEIGHT[:-1])
        return cls(axes, members, np.append(weights, SIZE_WEIGHT[-1]))

    def best(self) -> tuple[list[int] | None, float]:
        """The likeliest suspect with its weight; None when that is `more than three axes`."""
        index = int(np.argmax(self.weights.round(DIGITS)))
        weight = float(self.weights[index])
        if index == len(self.members):
            return None, weight
        return [axis for axis, member in zip(self.axes, self.members[index], strict=True) if member], weight

    def next_test(self) -> list[int]:
        """Axes to leave off neutral so that about half of the weight is in what is left."""
        share = (self.weights[:-1] @ self.members).round(DIGITS)
        order = np.argsort(-share, kind="stable")
        kept: list[int] = []
        best: tuple[float, list[int]] = (2.0, [])
        for number in order[:-1] if len(order) > 1 else order:
            kept.append(int(number))
            off = round(abs(float(self._inside(kept).sum()) - 0.5), DIGITS)
            if off < best[0]:
                best = (off, list(kept))
        return [self.axes[i] for i in best[1]]

    def learn(self, kept: list[int], solved: bool, rates: Rates, light: bool) -> None:
        """Take in the answer of a test; `light` when no more was off in it than in points that were solved."""
        inside = self._contained([self.axes.index(axis) for axis in kept])
        too_much = 0.5 if not light else 1 - rates.without if solved else rates.without
        self.weights = self.weights * np.append(rates.likelihood(inside, solved), too_much)
        self.weights /= self.weights.sum()

    def _contained(self, kept: list[int]) -> NDArray[np.bool_]:
        left = np.ones(len(self.axes), dtype=bool)
        left[kept] = False
        return np.asarray(~(self.members & left).any(axis=1))

    def _inside(self, kept: list[int]) -> NDArray[np.float64]:
        return self.weights[:-1][self._contained(kept)]


@dataclass
class Thresholds:
    """The weight of every level, counted from neutral, from which an axis may fail, all else being as it is."""

    weights: NDArray[np.float64]

    @classmethod
    def of(cls, space: Space, cause: Point, axis: int, solved: NDArray[np.int64]) -> Thresholds:
        others = [other for other in active(cause) if other != axis]
        alike = solved[_near(space, cause, others, solved).all(axis=1)] if others else solved
        far = abs(cause[axis])
        vouched = alike[:, axis] * (1 if cause[axis] > 0 else -1)
        levels = np.arange(far + 1)
        times = ((vouched[:, None] >= levels) & (vouched[:, None] < far)).sum(axis=0)
        weights = np.maximum(SEEN_WEIGHT**times, LEAST_WEIGHT)
        return cls(weights / weights.sum())

    def best(self) -> tuple[int, float]:
        level = int(np.argmax(self.weights.round(DIGITS)))
        return level, float(self.weights[level])

    def next_test(self) -> int:
        """The level below which about half of the weight is; never the highest, which is known to fail."""
        below = np.cumsum(self.weights)[:-1]
        return int(np.argmin(np.abs(below - 0.5).round(DIGITS)))

    def learn(self, level: int, solved: bool, rates: Rates) -> None:
        """Take in whether the axis at that level was solved."""
        self.weights = self.weights * rates.likelihood(np.arange(len(self.weights)) <= level, solved)
        self.weights /= self.weights.sum()


def _near(space: Space, point: Point, axes: list[int], solved: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each solved point and axis: whether it was off there as it is here (ordered: the same level or one more)."""
    levels = np.array([point[axis] for axis in axes])
    ordered = np.array([space.ordered[axis] for axis in axes])
    there = solved[:, axes]
    return np.asarray((there == levels) | (ordered & (there == levels + np.sign(levels))))
