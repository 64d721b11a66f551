"""Sweep a number of blocks into a zone, but not past a line."""

from __future__ import annotations

import math

from ..kit.draw import Draw
from ..kit.partitions import all_levels, sweeping
from ..kit.scene import Instance
from ..kit.sweep import Area, plan_push
from ..kit.sweep_scene import Layout, sweep_instance
from ..kit.task import task

SIDE_M = 0.27
CENTRE = (0.41, 0.0)
LINE_M = (0.3375, 0.04)
LINE_RANGE = (0.25, 0.6)  # of the rectangle's depth
ZONE_SHIFT_M = 0.015


@task(
    group="constraint_satisfaction",
    oracle_steps=8,
    partitions=sweeping(all_levels()),
    tool="spatula",
    plan=plan_push,
)
def sweep_without_exceeding(draw: Draw) -> Instance:
    """Sweep some blocks of one texture between the opening of a three-sided rectangle and a line across it."""
    line_x = CENTRE[0] + draw.uniform(LINE_RANGE[0] - 0.5, LINE_RANGE[1] - 0.5) * SIDE_M
    front = line_x + LINE_M[1] / 2
    return sweep_instance(
        draw,
        Layout(
            word="exceeding",
            rectangle=CENTRE,
            rectangle_size=(SIDE_M, SIDE_M),
            line=(line_x, 0.0),
            line_size=LINE_M,
            line_yaw=math.pi / 2,
            line_area=Area.around((line_x, 0.0), LINE_M[1], LINE_M[0]),
            zone=Area(front + ZONE_SHIFT_M, CENTRE[0] + SIDE_M / 2 + ZONE_SHIFT_M, -SIDE_M / 2, SIDE_M / 2),
            others_spread_m=0.09,
        ),
    )
