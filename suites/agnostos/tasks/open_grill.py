"""Lift the lid of a grill by its handle."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import aim
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, back
from pytest_vla.kit.mechanisms import lid, opened
from pytest_vla.kit.predicates import JointMoved
from pytest_vla.kit.solids import Pieces, box, moved, open_box, rod
from pytest_vla.kit.things import Thing
from pytest_vla.sim.pose import Pose, Vector, at

from ..protocol import Draw, Instance, task

COAL: Vector = (0.14, 0.14, 0.16)
LID: Vector = (0.60, 0.10, 0.08)
STEEL: Vector = (0.70, 0.71, 0.73)
LEGS_M, PAN_M, DEEP_M, WIDE_M = 0.12, 0.07, 0.24, 0.36
OPEN_RAD, LEAST_RAD, STEPS = math.radians(60), math.radians(50), 4
GRIP: Vector = (-DEEP_M - 0.035, 0, 0.05)
SLOPE_RAD = math.radians(25)


@task("unseen_level1")
def open_grill(draw: Draw) -> Instance:
    """A grill on four legs, its lid shut."""
    root = draw.root(90, x=(0.36, 0.42), y=(-0.05, 0.05))
    x, y, rim = DEEP_M, WIDE_M, LEGS_M + PAN_M
    corners = [(sx * 0.09, sy * 0.14) for sx in (-1, 1) for sy in (-1, 1)]
    legs = [rod(0.008, (cx * 1.1, cy * 1.1, 0.008), (cx, cy, LEGS_M), STEEL) for cx, cy in corners]
    high = rim - 0.01
    bars = [rod(0.003, (-x / 2, n * 0.03, high), (x / 2, n * 0.03, high), STEEL) for n in range(-5, 6)]
    pan = moved(open_box((x, y, PAN_M), COAL, wall_m=0.008), z=LEGS_M)
    table = box((x * 0.8, 0.08, 0.01), (0, y / 2 + 0.04, high), (0.55, 0.38, 0.22))
    draw.add(Thing("grill", root, (*legs, *bars, *pan, table)))
    bar_x, _, bar_z = GRIP
    cover: Pieces = (
        box((x, y, 0.008), (-x / 2, 0, 0.09), LID),
        *(box((x, 0.008, 0.09), (-x / 2, s * (y / 2 - 0.004), 0.045), LID) for s in (-1, 1)),
        *(box((0.008, y, 0.09), (end, 0, 0.045), LID) for end in (-0.004, 0.004 - x)),
        rod(0.008, (bar_x, -0.06, bar_z), (bar_x, 0.06, bar_z), STEEL),
        *(rod(0.006, (-x, s * 0.06, bar_z), (bar_x, s * 0.06, bar_z), STEEL) for s in (-1, 1)),
    )
    hinge = at(x / 2, 0, rim + 0.002)
    draw.add(lid("lid", "grill", hinge, cover, OPEN_RAD))

    grip = Pose(GRIP, aim(0, SLOPE_RAD, math.pi / 2))
    first, *more = (opened(root @ hinge, OPEN_RAD * step / STEPS) @ grip for step in range(STEPS + 1))
    draw.within_reach(back(first, 0.08))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield Keyframe(back(first, 0.08), OPEN)
        for pose in (first, *more):
            yield Keyframe(pose, CLOSED)

    return Instance(draw.parts, "open the grill", JointMoved("lid", LEAST_RAD, 1), plan)
