"""Push the raised seat of a toilet down."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look
from pytest_vla.kit.mechanisms import lid, opened
from pytest_vla.kit.predicates import JointMoved
from pytest_vla.kit.solids import box, cylinder, moved, ring
from pytest_vla.kit.things import Thing
from pytest_vla.sim.pose import Vector, at

from ..protocol import Draw, Instance, task

WHITE: Vector = (0.93, 0.93, 0.94)
SEAT: Vector = (0.45, 0.62, 0.75)
WATER: Vector = (0.45, 0.65, 0.85)
HIGH_M, BOWL_M, SEAT_M = 0.20, 0.085, 0.13
OPEN_RAD, LEAST_RAD = math.radians(100), 1.7


@task("unseen_level1")
def toilet_seat_down(draw: Draw) -> Instance:
    """A toilet that faces the robot, its seat up."""
    root = draw.root(45, x=(0.12, 0.20), y=(-0.08, 0.08))
    bowl = ring(BOWL_M, 0.14, wall_m=0.025, centre=(0, 0, HIGH_M - 0.07), rgb=WHITE, flare_m=0.05)
    body = (
        *bowl,
        cylinder(0.065, 0.11, (0.02, 0, 0.055), WHITE),
        cylinder(0.08, 0.01, (0, 0, HIGH_M - 0.07), WATER),
        box((0.09, 0.20, 0.04), (0.14, 0, HIGH_M - 0.025), WHITE),
        box((0.10, 0.26, HIGH_M + 0.06), (0.23, 0, HIGH_M / 2 + 0.03), WHITE),
        cylinder(0.02, 0.008, (0.23, 0, HIGH_M + 0.064), (0.65, 0.66, 0.68)),
    )
    draw.add(Thing("toilet", root, body))
    hinge = at(SEAT_M, 0, HIGH_M + 0.004)
    pieces = (
        *moved(ring(0.075, 0.012, wall_m=0.04, rgb=SEAT, sides=14), x=-SEAT_M, z=0.006),
        box((0.03, 0.12, 0.012), (-0.012, 0, 0.006), SEAT),
    )
    draw.add(lid("seat", "toilet", hinge, pieces, OPEN_RAD, start=OPEN_RAD))

    def plan(look: Look) -> Iterator[Keyframe]:
        for share, behind in ((1.0, 0.05), (0.75, 0.015), (0.5, 0.015), (0.25, 0.015), (0.0, 0.008)):
            seat = opened(root @ hinge, OPEN_RAD * share)
            yield Keyframe(down(*seat.apply((-SEAT_M - 0.095, 0, 0.012 + behind)), root.yaw), CLOSED)

    return Instance(draw.parts, "toilet seat down", JointMoved("seat", LEAST_RAD, -1), plan)
