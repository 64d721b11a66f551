"""Sweep a number of blocks into a zone around a line that lies before it."""

from __future__ import annotations

import math

from ..kit.draw import Draw
from ..kit.partitions import held_out_task, sweeping
from ..kit.scene import Instance
from ..kit.sweep import Area, plan_push
from ..kit.sweep_scene import Layout, sweep_instance
from ..kit.task import task

CENTRE = (0.39, 0.0)
SIZE_M = (0.172, 0.30)
LINE = (0.496, 0.0)
LINE_M = (0.1875, 0.04)


@task(
    group="constraint_satisfaction",
    oracle_steps=14,
    partitions=sweeping(held_out_task()),
    tool="spatula",
    plan=plan_push,
)
def sweep_without_touching(draw: Draw) -> Instance:
    """Sweep some blocks of one texture into a three-sided rectangle whose mouth a line half closes."""
    return sweep_instance(
        draw,
        Layout(
            word="touching",
            rectangle=CENTRE,
            rectangle_size=SIZE_M,
            line=LINE,
            line_size=LINE_M,
            line_yaw=math.pi / 2,
            line_area=Area.around(LINE, LINE_M[1], LINE_M[0]),
            zone=Area.around(CENTRE, *SIZE_M),
            others_spread_m=0.18,
        ),
    )
