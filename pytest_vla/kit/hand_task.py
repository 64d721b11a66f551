"""Tasks of things under a hand: a file says what stands on the table, what is said, when it is done, how it is done."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit import draw
from pytest_vla.kit.hand import BASE, REACH_M
from pytest_vla.kit.keyframes import Plan
from pytest_vla.kit.layout import Spot, distance
from pytest_vla.kit.predicates import FailIn, Predicate, Trigger
from pytest_vla.kit.task import Task, task_of
from pytest_vla.kit.things import Part, Thing, Zone
from pytest_vla.sim.pose import Pose, at

PLACES = 200

PartT = TypeVar("PartT", Thing, Zone)


@dataclass(frozen=True, slots=True)
class Instance:
    """One drawn episode. `plan` is how the oracle does it, from a function that looks at the table."""

    parts: Sequence[Part]
    instruction: str
    done: Predicate
    plan: Plan
    fails: Sequence[FailIn] = ()
    trigger: Trigger | None = None


@dataclass
class Draw(draw.Draw):
    """An episode being drawn: which variation of the task it is, by which rules, and what stands there so far."""

    variation: int = 0
    strict: bool = False
    parts: list[Part] = field(default_factory=list)

    def add(self, part: PartT) -> PartT:
        """Put a part on the table where it says."""
        self.parts.append(part)
        return part

    def add_all(self, parts: Iterable[Part]) -> None:
        self.parts += parts

    def root(self, yaw_deg: float = 180.0, x: Spot = (0.16, 0.34), y: Spot = (-0.15, 0.15)) -> Pose:
        """A place for the whole scene, turned by at most so much either way."""
        yaw = math.radians(self.uniform(-yaw_deg, yaw_deg))
        return at(self.uniform(*x), self.uniform(*y), 0.0, yaw)

    def within_reach(self, *poses: Pose) -> None:
        """Draw again where the arm could hardly bring a hand that points down to one of these."""
        if not all(REACH_M[0] <= distance(pose.xy, BASE) <= REACH_M[1] for pose in poses):
            raise draw.Redraw

    def unobstructed(self, target: Pose, *obstacles: Pose, gap_m: float = 0.14) -> None:
        """Draw again where one of these tall things stands between the arm's base and the target."""
        (bx, by), (tx, ty) = BASE, target.xy
        for obstacle in obstacles:
            x, y = obstacle.xy
            share = ((x - bx) * (tx - bx) + (y - by) * (ty - by)) / ((tx - bx) ** 2 + (ty - by) ** 2)
            if 0 < share < 1 and distance((x, y), (bx + share * (tx - bx), by + share * (ty - by))) < gap_m:
                raise draw.Redraw

    def spots(self, count: int, half_m: Spot, gap_m: float) -> list[Spot]:
        """Places in a rectangle about the origin, no two of them nearer than the gap."""
        found: list[Spot] = []
        for _ in range(PLACES):
            spot = (self.uniform(-half_m[0], half_m[0]), self.uniform(-half_m[1], half_m[1]))
            if all(distance(spot, other) >= gap_m for other in found):
                found.append(spot)
            if len(found) == count:
                return found
        raise draw.Redraw


@dataclass(frozen=True)
class HandTask(Task):
    """One template of a suite of things; `split` is the partition it belongs to."""

    split: str = ""
    variations: int = 1

    def instance(self, key: EpisodeKey, variation: int, strict: bool, stream: str = "scene") -> Instance:
        found: Instance = draw.drawn(lambda rng: self.draw(Draw(rng, variation % self.variations, strict)), key, stream)
        return found


def hand_task(keyframes: int, split: str, variations: int = 1) -> Callable[[Callable[[Draw], Instance]], HandTask]:
    """Make a function that draws an episode the task of its name, for which there are so many keyframes."""
    return task_of(HandTask, keyframes, split=split, variations=variations)
