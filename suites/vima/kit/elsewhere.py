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

EDGE_M = 0.03
SHARES = (1.0, 0.75, 0.5, 0.25)  # of a way that may be too far
Rng = np.random.Generator
Shifts = Mapping[str, Spot]


def standing(things: Sequence[Thing], shifts: Shifts) -> list[Thing]:
    """The things where the shifts bring them."""
    return [replace(thing, spot=_plus(thing.spot, shifts.get(thing.label))) for thing in things]


def added(shifts: Shifts, more: Shifts) -> dict[str, Spot]:
    """Both shifts, one after the other."""
    return {label: _plus(_plus((0.0, 0.0), shifts.get(label)), more.get(label)) for label in {**shifts, **more}}


def shift_some(
    things: Sequence[Thing], distance_m: float, rng: Rng, labels: Collection[str], shares: Sequence[float] = SHARES
) -> dict[str, Spot]:
    """Some of the things elsewhere, clear of the others; where there is no room so far off, nearer."""
    return shift_things(
        things,
        distance_m,
        rng,
        movable=lambda thing: thing.label in labels,
        radius_m=lambda thing: math.hypot(*OBJECTS[thing.look.shape].size_high[:2]) / 2,
        inside=inside,
        shares=shares,
    )


def shift_together(things: Sequence[Thing], distance_m: float, rng: Rng) -> dict[str, Spot]:
    """All things the same way, for tasks in which it counts how they stand to each other."""
    for share in SHARES:
        for angle in rng.uniform(0, 2 * math.pi, DIRECTIONS).tolist():
            by_m = (share * distance_m * math.cos(angle), share * distance_m * math.sin(angle))
            if all(inside(_plus(thing.spot, by_m)) for thing in things):
                return {thing.label: by_m for thing in things}
    return {}


def inside(spot: Spot) -> bool:
    (low_x, high_x), (low_y, high_y) = WORKSPACE_X_M, WORKSPACE_Y_M
    return low_x + EDGE_M < spot[0] < high_x - EDGE_M and low_y + EDGE_M < spot[1] < high_y - EDGE_M


def receivers(instance: Instance) -> frozenset[str]:
    """The labels of what stands where things belong; without such, of what has no part in the task."""
    judge = instance.judge
    spots = {goal.spot for stage in judge.stages for goal in stage} if isinstance(judge, StagedJudge) else set()
    found = frozenset(thing.label for thing in instance.things if thing.fixed and thing.spot in spots)
    return found or bystanders(instance)


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
