"""Repeat the shown motion of one object move by move."""

from __future__ import annotations

import math

from pytest_vla.kit.goals import At, StagedJudge

from ..kit.draw import Draw, looks, other
from ..kit.partitions import held_out_task
from ..kit.prompt import ObjectImage, SceneImage, prompt
from ..kit.scene import Instance, Thing
from ..kit.task import task

WITHIN_M = 0.10
CENTRE = (0.5, 0.0)
RADIUS_M = 0.19
POINTS = 5
MOVES = 2
CIRCLE = tuple(
    (
        CENTRE[0] + RADIUS_M * math.cos(2 * math.pi * i / POINTS),
        CENTRE[1] + RADIUS_M * math.sin(2 * math.pi * i / POINTS),
    )
    for i in range(POINTS)
)


@task(group="one_shot_imitation", oracle_steps=4, partitions=held_out_task(bases=False))
def follow_motion(draw: Draw) -> Instance:
    """Two moves between neighbouring points of a circle; pictures and table have objects of their own in the middle."""
    all_looks = looks(draw.choices.dragged, draw.choices.dragged_textures)
    dragged = draw.one(all_looks)
    on_table, in_pictures = (draw.one(other(all_looks, [dragged])) for _ in range(2))
    at = int(draw.rng.integers(POINTS))
    draw.put("dragged", dragged, spot=CIRCLE[at], yaw=0.0)
    draw.put("distractor", on_table, spot=CENTRE, yaw=0.0)
    points = [at]
    for _ in range(MOVES):
        points.append((points[-1] + draw.one((-1, 1))) % POINTS)
    frames = {
        f"frame_{i}": SceneImage((Thing("dragged", dragged, CIRCLE[point]), Thing("distractor", in_pictures, CENTRE)))
        for i, point in enumerate(points)
    }
    return Instance(
        tuple(draw.things),
        prompt(
            "Follow this motion for {dragged_obj}: {frame_0} {frame_1} {frame_2}.",
            dragged_obj=ObjectImage(dragged),
            **frames,
        ),
        StagedJudge(*([At("dragged", CIRCLE[point], WITHIN_M, yaw=0.0)] for point in points[1:]), every_step=True),
        places="absolute",
    )
