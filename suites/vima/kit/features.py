"""What a drawn episode is like in a few words, so that a failure can be told by its scene."""

from __future__ import annotations

from pytest_vla.kit.goals import StagedJudge
from pytest_vla.kit.layout import Spot, distance

from .scene import WORKSPACE_X_M, Instance, Thing
from .sweep import SweepJudge

MIDDLE_X_M = sum(WORKSPACE_X_M) / 2


def features(instance: Instance) -> dict[str, str | float]:
    """Of the first thing to be moved: what it is, where it stands as the cameras see it, and how far it has to go."""
    thing, target = first_goal(instance)
    return {
        "shape": thing.look.shape,
        "texture": thing.look.texture,
        "side": "left" if thing.spot[1] < 0 else "right",
        "depth": "near" if thing.spot[0] > MIDDLE_X_M else "far",
        "way_m": round(distance(thing.spot, target), 3),
        "things": float(len(instance.things)),
        "to_move": float(len(movers(instance))),
    }


def first_goal(instance: Instance) -> tuple[Thing, Spot]:
    """The thing of the first goal, and where it belongs."""
    judge = instance.judge
    things = {thing.label: thing for thing in instance.things}
    if isinstance(judge, SweepJudge):
        zone = judge.zone
        return things[judge.targets[0]], ((zone.x_low + zone.x_high) / 2, (zone.y_low + zone.y_high) / 2)
    assert isinstance(judge, StagedJudge), "a task with another judge says here what it is about"
    goal = judge.stages[0][0]
    return things[goal.thing], goal.spot


def movers(instance: Instance) -> frozenset[str]:
    """The labels of everything that the task wants moved."""
    judge = instance.judge
    if isinstance(judge, SweepJudge):
        return frozenset(judge.targets)
    assert isinstance(judge, StagedJudge), "a task with another judge says here what it is about"
    return frozenset(goal.thing for stage in judge.stages for goal in stage)
