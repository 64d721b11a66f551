"""Turn all objects of one texture by an angle that examples show."""

from __future__ import annotations

import math

from pytest_vla.kit.goals import At, KeepDistractorsAway, StagedJudge

from ..kit.draw import Draw
from ..kit.partitions import SEEN_TURNABLE, all_levels
from ..kit.prompt import SceneImage, prompt
from ..kit.scene import STAY_ON_TABLE, Instance, Look, Thing
from ..kit.task import task

WITHIN_M = 0.05
ANGLES_DEG = (30, 60, 90, 120, 150)
OBJECTS_ON_TABLE = 3
EXAMPLES = 3
EXAMPLE_X_M, EXAMPLE_Y_M = (0.4375, 0.5625), (-0.375, 0.375)


@task(
    group="novel_concept_grounding",
    oracle_steps=5,
    partitions=all_levels(seen=SEEN_TURNABLE, novel=("letter R",), bases=()),
)
def twist(draw: Draw) -> Instance:
    """Three pictures before and after define "twist"; one or two of three objects have the named texture."""
    angle = math.radians(draw.one(ANGLES_DEG))
    texture = draw.dragged_texture()
    count = draw.one((1, 2))
    targets = [draw.put(f"target_{i}", Look(draw.one(draw.choices.dragged), texture)) for i in range(count)]
    others = tuple(
        draw.put(f"distractor_{i}", draw.dragged(not_texture=[texture])).label for i in range(OBJECTS_ON_TABLE - count)
    )
    examples: dict[str, SceneImage] = {}
    for i in range(1, EXAMPLES + 1):
        look = Look(draw.one(targets).look.shape, draw.dragged_texture(not_in=[texture]))
        before, after = _example(draw, look, angle)
        examples |= {f"before_twist_{i}": before, f"after_twist_{i}": after}
    return Instance(
        tuple(draw.things),
        prompt(
            '"Twist" is defined as rotating object a specific angle. For examples: '
            "From {before_twist_1} to {after_twist_1}. From {before_twist_2} to {after_twist_2}. "
            f"From {{before_twist_3}} to {{after_twist_3}}. Now twist all {texture} objects.",
            **examples,
        ),
        StagedJudge(
            [At(t.label, t.spot, WITHIN_M, yaw=t.yaw - angle, check_yaw=True) for t in targets],
            rules=[
                STAY_ON_TABLE,
                KeepDistractorsAway(
                    others,
                    tuple(target.label for target in targets),
                    tuple(target.spot for target in targets),
                    WITHIN_M,
                    same_turn=True,
                ),
            ],
        ),
    )


def _example(draw: Draw, look: Look, angle_rad: float) -> tuple[SceneImage, SceneImage]:
    spot, yaw = (draw.uniform(*EXAMPLE_X_M), draw.uniform(*EXAMPLE_Y_M)), draw.yaw()
    return (
        SceneImage((Thing("example", look, spot, yaw),)),
        SceneImage((Thing("example", look, spot, yaw - angle_rad),)),
    )
