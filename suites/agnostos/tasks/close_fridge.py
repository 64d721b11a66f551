"""Push the open upper door of a fridge shut."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import aim
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look
from pytest_vla.kit.mechanisms import panel
from pytest_vla.kit.predicates import JointMoved, TipNear, all_of
from pytest_vla.kit.solids import box, moved, open_box, rod
from pytest_vla.kit.things import Thing, Zone
from pytest_vla.sim.pose import Pose, Vector, at

from ..protocol import Draw, Instance, task

WHITE: Vector = (0.88, 0.90, 0.92)
STEEL: Vector = (0.55, 0.57, 0.60)
SIZE_M: Vector = (0.26, 0.34, 0.34)
LOWER_M, PUSH_M, NEAR_M = 0.28, 0.44, 0.08
OPEN_RAD, FAITHFUL_RAD = math.radians(40), math.radians(30)


@task("unseen_level1")
def close_fridge(draw: Draw) -> Instance:
    """A fridge over a freezer; its door stands open by 40 degrees."""
    root = draw.root(20, x=(0.50, 0.54), y=(-0.06, 0.06))
    x, y, z = SIZE_M
    front = -x / 2
    body = (
        box((x, y, LOWER_M), (0, 0, LOWER_M / 2), WHITE),
        box((0.02, y - 0.01, LOWER_M - 0.02), (front - 0.012, 0, LOWER_M / 2), WHITE),
        rod(0.008, (front - 0.04, -0.13, 0.08), (front - 0.04, -0.13, 0.22), STEEL),
        *moved(open_box(SIZE_M, WHITE, wall_m=0.012, open_side="front"), z=LOWER_M),
        box((x - 0.03, y - 0.03, 0.006), (0, 0, LOWER_M + 0.17), (0.75, 0.85, 0.92)),
        rod(0.025, (0.02, 0.06, LOWER_M + 0.02), (0.02, 0.06, LOWER_M + 0.10), (0.85, 0.25, 0.2), "cylinder"),
    )
    draw.add(Thing("fridge", root, body, radius_m=0.25))
    door = (
        box((0.02, y, z), (-0.010, -y / 2, z / 2), WHITE),
        rod(0.008, (-0.045, -y + 0.03, 0.06), (-0.045, -y + 0.03, 0.26), STEEL),
        *(rod(0.006, (-0.045, -y + 0.03, h), (-0.01, -y + 0.03, h), STEEL) for h in (0.06, 0.26)),
    )
    hinge, swing = at(front, y / 2, LOWER_M), (0.0, math.pi / 2)
    draw.add(panel("door", "fridge", hinge, door, axis=(0, 0, -1), open_rad=swing, start=OPEN_RAD, friction_nm=0.4))

    def plan(look: Look) -> Iterator[Keyframe]:
        for angle, depth in ((OPEN_RAD, 0.10), (OPEN_RAD * 0.4, 0.03), (0.0, -0.01)):
            edge = root @ hinge @ at(yaw=-angle) @ at(-depth - 0.03, -y * 0.75)
            yield Keyframe(Pose((*edge.xy, PUSH_M), aim(root.yaw, 0.6)), CLOSED, free=angle < OPEN_RAD)

    draw.add(Zone("edge", (0.02, 0.02, 0.02), at(-0.03, -y + 0.05, PUSH_M - LOWER_M), on="door"))
    shut = all_of(JointMoved("door", OPEN_RAD - math.radians(2), -1), TipNear("edge", NEAR_M))
    return Instance(draw.parts, "close fridge", shut if draw.strict else JointMoved("door", FAITHFUL_RAD), plan)
