"""What the two rearranging tasks share: targets first, then starts away from them, and a distractor in the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_vla.kit.goals import FULL_TURN_RAD, At, StagedJudge
from pytest_vla.kit.layout import Spot, distance

from ..objects import OBJECTS
from ..textures import TEXTURE_SETS
from .draw import Draw, looks, other
from .moves import Move, carry, look_of, next_goal
from .placement import clear_distance
from .scene import Instance, Look, TableState, Thing

WITHIN_M = 0.10
COUNTS, COUNT_WEIGHTS = (1, 2, 3), (0.4, 0.4, 0.2)
IN_THE_WAY = 0.5
DISTRACTOR = "distractor"


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Where the objects belong, where they start, and the distractor if there is one."""

    targets: tuple[Thing, ...]
    starts: tuple[Thing, ...]
    distractor: Thing | None

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(thing.label for thing in self.starts)

    @property
    def things(self) -> tuple[Thing, ...]:
        return self.starts if self.distractor is None else (*self.starts, self.distractor)

    @property
    def target_spots(self) -> tuple[Spot, ...]:
        return tuple(thing.spot for thing in self.targets)


def arrange(draw: Draw) -> Arrangement:
    """One to three objects; a single one may find a distractor on its target."""
    count = draw.weighted(COUNTS, COUNT_WEIGHTS)
    chosen = [draw.dragged() for _ in range(count)]
    targets = tuple(draw.put(f"object_{i}", look) for i, look in enumerate(chosen))

    def off_targets(thing: Thing) -> bool:
        return all(distance(thing.spot, target.spot) > _off_m(thing.look, target.look) for target in targets)

    starts: list[Thing] = []
    for target in reversed(targets):
        starts.insert(0, draw.put_where(off_targets, target.label, target.look))
        draw.things.remove(target)  # its object stands elsewhere now
    if count > 1:
        return Arrangement(targets, tuple(starts), None)
    shapes = other(draw.choices.dragged, [look.shape for look in chosen])
    look = draw.distractor(looks(shapes, TEXTURE_SETS["ALL49"]))
    if draw.chance(IN_THE_WAY):
        distractor = draw.put(DISTRACTOR, look, spot=targets[0].spot, yaw=targets[0].yaw)
    else:
        distractor = draw.put_where(off_targets, DISTRACTOR, look)
    return Arrangement(targets, tuple(starts), distractor)


def _off_m(look: Look, target: Look) -> float:
    """Clear of the target by size, and never so near that the goal is met or lost from the start."""
    return max(clear_distance(OBJECTS[look.shape].size_high, OBJECTS[target.shape].size_high), WITHIN_M)


def goals(things: tuple[Thing, ...], strict: bool) -> list[At]:
    """Each thing at the place where it is shown; strict rules also want it turned as shown."""
    return [At(t.label, t.spot, WITHIN_M, yaw=t.yaw, check_yaw=strict, symmetry_rad=symmetry(t.look)) for t in things]


def symmetry(look: Look) -> float:
    """The turn after which a shape looks the same (0: after any)."""
    spec = OBJECTS[look.shape]
    if spec.profile == "circle_like":
        return 0.0
    return spec.symmetry_rad or FULL_TURN_RAD


def plan(instance: Instance, state: TableState) -> Move | None:
    """Clear the targets first, then reach the goals one by one."""
    judge = instance.judge
    assert isinstance(judge, StagedJudge)
    spots = [goal.spot for goal in judge.stages[0]]
    blocked = DISTRACTOR in state and any(distance(state[DISTRACTOR].xy, spot) < WITHIN_M for spot in spots)
    if judge.stage == 0 and blocked:
        keep = [*(goal.spot for stage in judge.stages for goal in stage), *(pose.xy for pose in state.values())]
        return carry(look_of(instance, DISTRACTOR), state[DISTRACTOR], _roomiest_spot(keep))
    return next_goal(instance, state)


def _roomiest_spot(keep_away: list[Spot]) -> Spot:
    """The place that is farthest from all the given ones, a hand's breadth inside the table."""
    spots = [(float(x), float(y)) for x in np.linspace(0.33, 0.67, 8) for y in np.linspace(-0.42, 0.42, 15)]
    return max(spots, key=lambda spot: min(distance(spot, other) for other in keep_away))
