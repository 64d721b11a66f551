"""Carry an object through two containers and back into its own."""

from __future__ import annotations

from pytest_vla.kit.goals import At, NoSkipping, StagedJudge

from ..kit.draw import Draw
from ..kit.partitions import all_levels
from ..kit.prompt import ObjectImage, prompt
from ..kit.scene import STAY_ON_TABLE, Instance, Look
from ..kit.task import task

WITHIN_M = 0.05
SPOTS = tuple((x, y) for x in (0.375, 0.625) for y in (-0.25, 0.0, 0.25))


@task(group="require_memory", oracle_steps=4, partitions=all_levels(novel_bases=("pallet",)))
def pick_in_order_then_restore(draw: Draw) -> Instance:
    """Six bases of one shape in six textures; an object stands in one of them."""
    shape = draw.one(draw.choices.bases)
    textures = draw.some(draw.choices.base_textures, len(SPOTS))
    bases = [
        draw.put(f"base_{i}", Look(shape, texture), spot=spot, yaw=0.0, fixed=True)
        for i, (texture, spot) in enumerate(zip(textures, SPOTS, strict=True))
    ]
    own, first, second = draw.some(bases, 3)
    dragged = draw.dragged()
    draw.put("dragged", dragged, spot=own.spot, yaw=0.0, z=own.look.height_m + dragged.height_m / 2)
    return Instance(
        tuple(draw.things),
        prompt(
            "Put {dragged_obj} into {base_obj_1} then {base_obj_2}. Finally restore it into its original container.",
            dragged_obj=ObjectImage(dragged),
            base_obj_1=ObjectImage(first.look),
            base_obj_2=ObjectImage(second.look),
        ),
        StagedJudge(
            *([At("dragged", base.spot, WITHIN_M)] for base in (first, second, own)),
            rules=[STAY_ON_TABLE, NoSkipping((first.spot, second.spot), WITHIN_M)],
        ),
        places="relative",
    )
