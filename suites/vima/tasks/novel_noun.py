"""Put one shape into another, both named by made-up nouns."""

from __future__ import annotations

from pytest_vla.kit.goals import At, KeepDistractorsAway, StagedJudge

from ..kit.draw import Draw, looks, other
from ..kit.novelty import NOUNS, gray
from ..kit.partitions import all_levels
from ..kit.prompt import prompt
from ..kit.scene import STAY_ON_TABLE, Instance
from ..kit.task import task

WITHIN_M = 0.10


@task(group="novel_concept_grounding", oracle_steps=3, partitions=all_levels())
def novel_noun(draw: Draw) -> Instance:
    """The prompt defines two nouns by gray pictures, so only the shape counts; the distractor has a third shape."""
    base, dragged = draw.base(), draw.dragged()
    this, that = draw.some(NOUNS, 2)
    definitions = [f"This is a {this} {{dragged_obj_1}}. ", f"This is a {that} {{base_obj}}. "]
    options = draw.choices
    shapes = other(options.dragged + options.bases, [base.shape, dragged.shape])
    others = looks(shapes, options.dragged_textures + options.base_textures)
    goal = draw.put("base", base, fixed=True).spot
    draw.put("dragged", dragged)
    draw.put_any("distractor", lambda: draw.distractor(others))
    return Instance(
        tuple(draw.things),
        prompt(
            f"{''.join(draw.some(definitions, 2))}Put a {this} into a {that}.",
            dragged_obj_1=gray(dragged),
            base_obj=gray(base),
        ),
        StagedJudge(
            [At("dragged", goal, WITHIN_M)],
            rules=[STAY_ON_TABLE, KeepDistractorsAway(("distractor",), ("dragged",), (goal,), WITHIN_M)],
        ),
        alike="texture",
    )
