"""What a hunt has seen: every answer by point and scene, and what solved points vouch for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_vla.hunt.effects import Seen
from pytest_vla.hunt.space import MAX_LEVEL, Point, Space, severity

LEVELS = 2 * MAX_LEVEL + 1
"""Of an axis with two directions."""


class History:
    """Answers by point and scene. A solved point vouches for every part of itself; a failed one masks its parts."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.answers: dict[Point, list[tuple[int, bool]]] = {}
        """Scenes and whether they were solved, in the order of asking."""
        self._drawn: list[tuple[Point, bool]] = []
        self._solved: list[tuple[Point, int]] = []
        size = len(space.axes)
        self._vouched = np.zeros((size, LEVELS, size, LEVELS), dtype=bool)

    def add(self, point: Point, scene: int, solved: bool, *, drawn: bool = False) -> None:
        self.answers.setdefault(point, []).append((scene, solved))
        if drawn:
            self._drawn.append((point, not solved))
        if solved:
            self._solved.append((point, scene))
            self._vouch(point)

    def failing_scenes(self, point: Point) -> list[int]:
        """Where a point failed, each once, the first time asked."""
        return [scene for scene, solved in self._first_answers(point).items() if not solved]

    def solving_scenes(self, point: Point) -> list[int]:
        return [scene for scene, solved in self._first_answers(point).items() if solved]

    def _first_answers(self, point: Point) -> dict[int, bool]:
        first: dict[int, bool] = {}
        for scene, solved in self.answers.get(point, ()):
            first.setdefault(scene, solved)
        return first

    def asked_in(self, point: Point) -> set[int]:
        return {scene for scene, _ in self.answers.get(point, ())}

    def solved_points(self, scenes: Collection[int] = ()) -> NDArray[np.int64]:
        """Those solved in one of these scenes; in any without."""
        points = dict.fromkeys(point for point, scene in self._solved if not scenes or scene in scenes)
        return np.array(list(points), dtype=np.int64).reshape(len(points), len(self.space.axes))

    def solved_severity(self, rank: int) -> int:
        """The severity that so many solved points reached."""
        severities = sorted({point: severity(point) for point, _ in self._solved}.values(), reverse=True)
        return severities[rank - 1] if len(severities) >= rank else 0

    def drawn(self, besides: Sequence[Point] = ()) -> Seen:
        """The points drawn at random that have none of these causes in them, and how they came out."""
        rows = [row for row in self._drawn if not any(self.space.covers(row[0], cause) for cause in besides)]
        levels = np.array([point for point, _ in rows], dtype=np.int64).reshape(len(rows), len(self.space.axes))
        return Seen(levels, np.array([failed for _, failed in rows], dtype=bool))

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
        levels = [self.space.levels(axis) for axis in range(size)]
        both = [self._vouched[a][np.ix_(levels[a], [b], levels[b])] for a in range(size) for b in range(a)]
        return float(np.mean(np.concatenate([pairs.ravel() for pairs in both])))

    def _vouch(self, point: Point) -> None:
        """An ordered level also vouches for the one below it; farther down there may be a band that fails."""
        ordered = np.array(self.space.ordered)
        whole = np.array(point)
        for levels in (whole, whole - np.sign(whole) * ordered):
            axes = np.flatnonzero(levels)
            levels = levels[axes]
            # A level below 0 counts from the end of its dimension.
            self._vouched[axes[:, None], levels[:, None], axes[None, :], levels[None, :]] = True
