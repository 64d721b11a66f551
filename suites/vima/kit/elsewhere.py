"""Other layouts of the same episode: things that stand elsewhere, and goals that go with them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pytest_vla.kit.goals import At, KeepDistractorsAway, NoSkipping, StagedJudge
from pytest_vla.kit.layout import DIRECTIONS, Spot, shift_things

from ..objects import OBJECTS
from .features import movers
from .scene import WORKSPACE_X_M, WORKSPACE_Y_M, Instance, Thing

EDGE_M, ROOM_M = 0.03, 0.08  # between the edge of the table and the middle of a thing, and of a whole thing
SHARES = (1.0, 0.75, 0.5, 0.25)  # of a way that may be too far
Rng = np.random.Generator
Shifts = Mapping[str, Spot]


def standing(things: Sequence[Thing], shifts: Shifts) -> list[Thing]:
    """The things where the shifts bring them."""
    return [replace(thing, spot=_plus(thing.spot, shifts.get(thing.label))) for thing in things]


def added(shifts: Shifts, more: Shifts) -> dict[str, Spot]:
    """Both shifts, one after the other."""
    return {label: _plus(_plus((0.0, 0.0), shifts.get(label)), more.get(label)) for label in {**shifts, **more}}


def shift_free(things: Sequence[Thing], distance_m: float, rng: Rng, labels: Collection[str]) -> dict[str, Spot]:
    """Some of the things elsewhere, clear of the others; one without room so far off stays."""
    return shift_things(
        things,
        distance_m,
        rng,
        movable=lambda thing: thing.label in labels,
        radius_m=lambda thing: math.hypot(*OBJECTS[thing.look.shape].size_high[:2]) / 2,
        inside=lambda spot: inside(spot, EDGE_M),
    )


def shift_some(things: Sequence[Thing], distance_m: float, rng: Rng, labels: Collection[str]) -> dict[str, Spot]:
    """The same, whole on the table where that is possible; where there is no room so far off, nearer."""
    shifts: dict[str, Spot] = {}
    for whole in (lambda spot: inside(spot, ROOM_M), lambda spot: inside(spot, EDGE_M)):
        left = set(labels) - set(shifts)
        shifts |= shift_things(
            standing(things, shifts),
            distance_m,
            rng,
            movable=lambda thing, left=left: thing.label in left,  # type: ignore[misc]
            radius_m=_seen_radius_m,
            inside=whole,
            shares=SHARES,
        )
    return shifts


def shift_together(things: Sequence[Thing], distance_m: float, rng: Rng) -> dict[str, Spot]:
    """All things the same way, for tasks in which it counts how they stand to each other."""
    for share in SHARES:
        for angle in rng.uniform(0, 2 * math.pi, DIRECTIONS).tolist():
            by_m = (share * distance_m * math.cos(angle), share * distance_m * math.sin(angle))
            if all(inside(_plus(thing.spot, by_m), ROOM_M) for thing in things):
                return {thing.label: by_m for thing in things}
    return {}


def inside(spot: Spot, margin_m: float) -> bool:
    (low_x, high_x), (low_y, high_y) = WORKSPACE_X_M, WORKSPACE_Y_M
    return low_x + margin_m < spot[0] < high_x - margin_m and low_y + margin_m < spot[1] < high_y - margin_m


def _seen_radius_m(thing: Thing) -> float:
    return math.hypot(*OBJECTS[thing.look.shape].footprint) / 2


def receivers(instance: Instance) -> frozenset[str]:
    """The labels of what stands where things belong; without such, of what has no part in the task."""
    judge = instance.judge
    spots = {goal.spot for stage in judge.stages for goal in stage} if isinstance(judge, StagedJudge) else set()
    found = frozenset(thing.label for thing in instance.things if thing.fixed and thing.spot in spots)
    return found or bystanders(instance)


def empty_bases(instance: Instance) -> list[Thing]:
    """What could hold something, does not, and is not to."""
    taken = {thing.spot for thing in instance.things if not thing.fixed}
    named = receivers(instance)
    bases = [thing for thing in instance.things if thing.fixed and OBJECTS[thing.look.shape].role == "base"]
    return [thing for thing in bases if thing.label not in named and thing.spot not in taken]


def bystanders(instance: Instance) -> frozenset[str]:
    """The labels of what could be moved and need not be."""
    to_move = movers(instance)
    return frozenset(thing.label for thing in instance.things if not thing.fixed and thing.label not in to_move)


def followed(instance: Instance, shifts: Shifts) -> Instance:
    """The episode with its goals where the shifts bring what they are about: where a thing or its receiver stood."""
    judge = instance.judge
    if not shifts or not isinstance(judge, StagedJudge):
        return instance
    things = {thing.label: thing for thing in instance.things}

    def where(spot: Spot, labels: Sequence[str]) -> Spot:
        about = [label for label, thing in things.items() if thing.spot == spot and (thing.fixed or label in labels)]
        return _plus(spot, shifts.get(min(about, key=lambda label: not things[label].fixed))) if about else spot

    def goal_there(goal: At) -> At:
        return replace(goal, spot=where(goal.spot, [goal.thing]))

    def rule_there(rule: Any) -> Any:
        if not isinstance(rule, (KeepDistractorsAway, NoSkipping)):
            return rule
        labels = rule.things if isinstance(rule, KeepDistractorsAway) else ()
        return replace(rule, spots=tuple(where(spot, labels) for spot in rule.spots))

    stages = [[goal_there(goal) for goal in stage] for stage in judge.stages]
    rules = [rule_there(rule) for rule in judge.rules]
    return replace(instance, judge=StagedJudge(*stages, rules=rules, every_step=judge.every_step))


def _plus(spot: Spot, by_m: Spot | None) -> Spot:
    return spot if by_m is None else (spot[0] + by_m[0], spot[1] + by_m[1])
