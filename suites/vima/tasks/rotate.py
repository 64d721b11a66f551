"""Turn an object by an angle, clockwise seen from above, and leave it where it is."""

from __future__ import annotations

import math

from pytest_vla.kit.goals import At, KeepDistractorsAway, StagedJudge

from ..kit.draw import Draw
from ..kit.partitions import SEEN_TURNABLE, all_levels
from ..kit.prompt import ObjectImage, prompt
from ..kit.scene import STAY_ON_TABLE, Instance
from ..kit.task import task

WITHIN_M = 0.10
ANGLES_DEG = (30, 60, 90, 120, 150)


@task(
    group="instruction_following",
    oracle_steps=3,
    partitions=all_levels(seen=SEEN_TURNABLE, novel=("letter R",), bases=()),
)
def rotate(draw: Draw) -> Instance:
    """Turn the shown object by the stated angle; another object in another texture stands by."""
    dragged = draw.dragged()
    angle = draw.one(ANGLES_DEG)
    start = draw.put("dragged", dragged)
    draw.put("distractor", draw.dragged(not_texture=[dragged.texture]))
    return Instance(
        tuple(draw.things),
        prompt(f"Rotate the {{dragged_obj}} {angle} degrees.", dragged_obj=ObjectImage(dragged)),
        StagedJudge(
            [At("dragged", start.spot, WITHIN_M, yaw=start.yaw - math.radians(angle), check_yaw=True)],
            rules=[
                STAY_ON_TABLE,
                KeepDistractorsAway(("distractor",), ("dragged",), (start.spot,), WITHIN_M, same_turn=True),
            ],
        ),
    )
