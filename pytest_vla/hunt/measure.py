"""What a hunt found, measured on scenes that had no part in finding it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_vla.hunt.conditions import Scene, Sighting, condition_of
from pytest_vla.hunt.effects import ALPHA, fisher
from pytest_vla.hunt.history import History
from pytest_vla.hunt.outcome import Answer, Cause
from pytest_vla.hunt.space import Point, Space, active, nearer, severity
from pytest_vla.run.hunts import Condition, Count

PARTLY_SHARE, WHOLLY_SHARE = 0.2, 0.1
"""So much of the budget is kept to measure causes of which a part, or nearly all, of the confirming scenes failed."""
PARTLY, WHOLLY_SCENES = 0.75, 10
AS_OFTEN = 0.5
"""A part of a cause is the cause where it has so much of the whole's excess of failures."""
ALIKE, LEAST_APART = 0.9, 2
"""Two causes are one where they agree in so many scenes, of which each fails and solves two at least."""


@dataclass
class Measurement:
    """Every cause, the same one level lower, and no perturbation, each on the same scenes."""

    space: Space
    causes: Sequence[Cause]
    most: int
    """So many scenes are enough."""
    answers: dict[Point, dict[int, bool]] = field(default_factory=dict)
    parts: Mapping[Point, Sequence[Point]] = field(default_factory=dict)
    """Of a cause what part of it may do as well."""

    @property
    def arms(self) -> list[Point]:
        """Without perturbation first."""
        points = [self.space.neutral]
        for cause in self.causes:
            points += [cause.point, self.lower(cause.point) or cause.point]
            points += self.parts.get(cause.point, ())
        return list(dict.fromkeys(points))

    def lower(self, point: Point) -> Point | None:
        """Every ordered axis one level nearer to neutral; None when that is the same, or no perturbation at all."""
        lower = tuple(nearer(level) if self.space.ordered[axis] else level for axis, level in enumerate(point))
        return lower if any(lower) and lower != point else None

    def reserve(self, budget: int) -> int:
        """Episodes to keep for it: few scenes show that all fail, a share takes more."""
        partly = any(cause.partly or cause.confirmed.rate < PARTLY for cause in self.causes)
        share, scenes = (PARTLY_SHARE, self.most) if partly else (WHOLLY_SHARE, WHOLLY_SCENES)
        return min(int(share * budget), scenes * len(self.arms))

    @property
    def enough(self) -> bool:
        return bool(self.answers) and min(map(len, self.answers.values())) >= self.most

    def add(self, point: Point, scene: int, solved: Answer) -> None:
        answers = self.answers.setdefault(point, {})
        if solved is not None:
            answers[scene] = solved

    def count(self, point: Point) -> Count:
        answers = list(self.answers.get(point, {}).values())
        return Count(answers.count(False), len(answers))

    def finished(self, history: History, scene: Callable[[int], Scene], base: Count) -> list[Cause]:
        """The causes with their rates, their conditions, and those that are the same under one name."""
        causes = [
            replace(
                cause,
                rate=self.count(cause.point),
                lower=None if (lower := self.lower(cause.point)) is None else (lower, self.count(lower)),
                condition=self._condition(cause, history, scene),
            )
            for cause in self._reduced(base)
        ]
        return self._grouped(causes)

    def _reduced(self, base: Count) -> list[Cause]:
        """Each cause, or the part of it that fails nearly as often as the whole, and more often than nothing does.

        The whole was confirmed; which of its axes it takes is told by scenes that had no part in finding it.
        """
        kept: list[Cause] = []
        for cause in sorted((self._part_of(cause, base) for cause in self.causes), key=_size):
            if not any(self.space.covers(cause.point, other.point) for other in kept):
                kept.append(cause)
        return kept

    def _part_of(self, cause: Cause, base: Count) -> Cause:
        whole = self.count(cause.point)
        for part in self.parts.get(cause.point, ()):
            small = self.count(part)
            if not small.failed or fisher(small, base) > ALPHA:
                continue
            if small.rate - base.rate >= AS_OFTEN * (whole.rate - base.rate):
                failing = next(scene for scene, solved in self.answers[part].items() if not solved)
                return replace(cause, point=part, seed=failing, confirmed=small)
        return cause

    def _condition(self, cause: Cause, history: History, scene: Callable[[int], Scene]) -> Condition | None:
        measured = self.answers.get(cause.point, {})
        before: dict[int, bool] = {}
        for point, answers in history.answers.items():
            if self.space.covers(point, cause.point):
                before.update((seed, not solved) for seed, solved in answers if seed not in measured)
        seen: list[Sighting] = [(scene(seed), failed) for seed, failed in before.items()]
        here: list[Sighting] = [(scene(seed), not solved) for seed, solved in measured.items()]
        return condition_of(seen, here, ALPHA / len(self.causes))

    def _grouped(self, causes: Sequence[Cause]) -> list[Cause]:
        kept: list[Cause] = []
        for cause in causes:
            same = next((number for number, other in enumerate(kept) if self._alike(other.point, cause.point)), None)
            if same is None:
                kept.append(cause)
            else:
                kept[same] = replace(kept[same], also=(*kept[same].also, cause.point))
        return kept

    def _alike(self, one: Point, other: Point) -> bool:
        """Whether two axes of a group fail in the same scenes; where all scenes fail, nobody can tell."""
        groups = [{self.space.axes[axis].partition(".")[0] for axis in active(point)} for point in (one, other)]
        if groups[0] != groups[1] or len(active(one)) != len(active(other)):
            return False
        first, second = self.answers.get(one, {}), self.answers.get(other, {})
        scenes = first.keys() & second.keys()
        failing, solving = [s for s in scenes if not first[s]], [s for s in scenes if first[s]]
        both = Count(sum(not second[s] for s in failing), len(failing))
        only = Count(sum(not second[s] for s in solving), len(solving))
        agreed = both.failed + only.asked - only.failed
        told_apart = min(both.failed, only.asked - only.failed) >= LEAST_APART
        return told_apart and agreed >= ALIKE * len(scenes) and fisher(both, only) <= ALPHA


def _size(cause: Cause) -> tuple[int, int]:
    return len(active(cause.point)), severity(cause.point)
