"""Put one shown object into another."""

from __future__ import annotations

from pytest_vla.kit.goals import At, KeepDistractorsAway, StagedJudge

from ..kit.draw import Draw, looks
from ..kit.partitions import all_levels
from ..kit.prompt import ObjectImage, prompt
from ..kit.scene import STAY_ON_TABLE, Instance
from ..kit.task import task

WITHIN_M = 0.10


@task(group="instruction_following", oracle_steps=3, partitions=all_levels())
def visual_manipulation(draw: Draw) -> Instance:
    """Put one shown object into another, with a distractor of any other look."""
    options = draw.choices
    base, dragged = draw.base(), draw.dragged()
    others = looks(
        options.dragged + options.bases, options.dragged_textures + options.base_textures, without=(base, dragged)
    )
    goal = draw.put("base", base, fixed=True).spot
    draw.put("dragged", dragged)
    draw.put_any("distractor", lambda: draw.distractor(others))
    return Instance(
        tuple(draw.things),
        prompt(
            "Put the {dragged_obj_1} into the {base_obj}.",
            dragged_obj_1=ObjectImage(dragged),
            base_obj=ObjectImage(base),
        ),
        StagedJudge(
            [At("dragged", goal, WITHIN_M)],
            rules=[STAY_ON_TABLE, KeepDistractorsAway(("distractor",), ("dragged",), (goal,), WITHIN_M)],
        ),
    )
