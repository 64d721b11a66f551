"""What the two tasks that gather alike objects in a base share."""

from __future__ import annotations

from pytest_vla.kit.goals import At, KeepDistractorsAway, StagedJudge
from pytest_vla.kit.layout import distance

from .draw import Draw
from .prompt import ObjectImage, prompt
from .scene import STAY_ON_TABLE, Instance, Look, Thing

WITHIN_M = 0.125
WITHIN_BOWL_M = 0.0875


def gather(draw: Draw, likeness: str, base: Look, alike: list[Look], different: Look) -> Instance:
    """All alike objects into the base; the different one stays out."""
    within = WITHIN_BOWL_M if base.shape == "bowl" else WITHIN_M
    goal = draw.put("base", base, fixed=True).spot

    def outside(thing: Thing) -> bool:
        return distance(thing.spot, goal) > within

    targets = [draw.put_where(outside, f"target_{i}", look) for i, look in enumerate(alike)]

    def far_from_all(thing: Thing) -> bool:
        """These tolerances are wider than some objects: a free spot may already be too near to a target."""
        return outside(thing) and all(distance(thing.spot, target.spot) > within for target in targets)

    draw.put_where(far_from_all, "distractor", different)
    labels = tuple(target.label for target in targets)
    return Instance(
        tuple(draw.things),
        prompt(f"Put all objects with the same {likeness} as {{base_obj}} into it.", base_obj=ObjectImage(base)),
        StagedJudge(
            [At(label, goal, within) for label in labels],
            rules=[STAY_ON_TABLE, KeepDistractorsAway(("distractor",), labels, (goal,), within)],
        ),
        alike="shape" if likeness == "texture" else "texture",
    )
