"""Push the open door of a microwave shut."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look
from pytest_vla.kit.mechanisms import panel
from pytest_vla.kit.predicates import JointMoved, TipNear, all_of
from pytest_vla.kit.solids import box, open_box, rod
from pytest_vla.kit.things import Thing, Zone
from pytest_vla.sim.pose import Vector, at

from ..protocol import Draw, Instance, task

WHITE: Vector = (0.90, 0.90, 0.90)
GLASS: Vector = (0.12, 0.13, 0.15)
SIZE_M: Vector = (0.26, 0.46, 0.26)
DOOR_M, NEAR_M = 0.34, 0.08
OPEN_RAD = math.radians(40)
MARGIN_RAD = math.radians(1)


@task("unseen_level1")
def close_microwave(draw: Draw) -> Instance:
    """A microwave whose door stands open by 40 degrees."""
    root = draw.root(22.5, x=(0.42, 0.48), y=(-0.05, 0.05))
    x, y, z = SIZE_M
    front = -x / 2
    body = (
        *open_box(SIZE_M, WHITE, wall_m=0.012, open_side="front"),
        box((0.01, y - DOOR_M, z), (front, -DOOR_M / 2, z / 2), GLASS),
        *(rod(0.012, (front - 0.01, -0.17, h), (front, -0.17, h), WHITE) for h in (0.10, 0.18)),
    )
    draw.add(Thing("microwave", root, body))
    pieces = (
        box((0.015, DOOR_M, z), (-0.008, -DOOR_M / 2, z / 2), WHITE),
        box((0.004, DOOR_M - 0.08, z - 0.08), (-0.017, -DOOR_M / 2, z / 2), GLASS),
        rod(0.008, (-0.03, -DOOR_M + 0.02, 0.06), (-0.03, -DOOR_M + 0.02, 0.20), WHITE),
    )
    hinge, swing = at(front, y / 2), (0.0, math.pi / 2)
    draw.add(
        panel("door", "microwave", hinge, pieces, axis=(0, 0, -1), open_rad=swing, start=OPEN_RAD, friction_nm=0.4)
    )

    def plan(look: Look) -> Iterator[Keyframe]:
        for angle, depth in ((OPEN_RAD, 0.10), (OPEN_RAD * 0.4, 0.05), (0.0, 0.0)):
            edge = root @ hinge @ at(yaw=-angle) @ at(-depth - 0.04, -DOOR_M * 0.85)
            yield Keyframe(down(*edge.xy, 0.13, root.yaw), CLOSED)

    draw.add(Zone("edge", (0.02, 0.02, 0.02), at(-0.03, -DOOR_M + 0.04, 0.13), on="door"))
    shut = all_of(JointMoved("door", OPEN_RAD - MARGIN_RAD, -1), TipNear("edge", NEAR_M))
    done = shut if draw.strict else JointMoved("door", OPEN_RAD - MARGIN_RAD)
    return Instance(draw.parts, "close microwave", done, plan)
