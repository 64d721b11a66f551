"""Turn the left-most knob of an oven by a quarter."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import aim
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, back
from pytest_vla.kit.mechanisms import knob
from pytest_vla.kit.predicates import JointMoved
from pytest_vla.kit.solids import Pieces, box, cylinder, moved, rod, shown
from pytest_vla.kit.things import Thing
from pytest_vla.sim.pose import Pose, Vector, at, turn

from ..protocol import Draw, Instance, task

WHITE: Vector = (0.88, 0.88, 0.88)
STEEL: Vector = (0.62, 0.63, 0.66)
GLASS: Vector = (0.10, 0.10, 0.12)
OVEN_M: Vector = (0.30, 0.44, 0.36)
KNOBS, APART_M = 7, 0.06
SLOPE_RAD = math.radians(40)  # of what looks straight at the knobs, below the horizon
OUTWARD = turn((0, 1, 0), SLOPE_RAD - math.pi / 2)
LEAST_RAD = 1.5


def dial() -> Pieces:
    """A disc with a bar across it, in a frame whose z leaves the oven."""
    mark = box((0.003, 0.010, 0.002), (0, -0.016, 0.034), (0.85, 0.15, 0.10))
    return (
        cylinder(0.022, 0.008, (0, 0, 0.004), GLASS),
        box((0.016, 0.044, 0.028), (0, 0, 0.020), STEEL),
        *shown(mark),
    )


@task("unseen_level2")
def turn_oven_on(draw: Draw) -> Instance:
    """An oven that faces the robot with seven knobs over its door; the left-most one turns."""
    root = draw.root(45, x=(0.50, 0.56), y=(-0.08, 0.08))
    x, y, z = OVEN_M
    front = -x / 2
    panel = Pose((front - 0.02, 0, z - 0.01), OUTWARD)
    hobs = [cylinder(0.05, 0.004, (hx, hy, z + 0.002), GLASS) for hx in (-0.04, 0.09) for hy in (-0.12, 0.12)]
    body = (
        box(OVEN_M, (0, 0, z / 2), WHITE),
        *moved([box((0.09, y, 0.03), (0, 0, -0.015), STEEL)], *panel.position, panel.rotation),
        *hobs,
        *shown(box((0.004, y - 0.06, 0.20), (front, 0, 0.15), GLASS)),
        rod(0.007, (front - 0.02, -0.17, 0.27), (front - 0.02, 0.17, 0.27), STEEL),
    )
    draw.add(Thing("oven", root, body))
    left, *others = (panel @ at(0, APART_M * (KNOBS // 2 - number)) for number in range(KNOBS))
    draw.add(knob("knob", "oven", left, dial(), least_rad=-math.pi / 2, most_rad=0.0))
    draw.add_all(Thing(f"knob_{number}", place, dial(), on="oven") for number, place in enumerate(others, 1))

    def plan(look: Look) -> Iterator[Keyframe]:
        tip = (root @ left).apply((0, 0, 0.025))
        before, after = (Pose(tip, aim(root.yaw, SLOPE_RAD, roll)) for roll in (-math.pi / 2, 0.15))
        yield Keyframe(back(before, 0.07), OPEN)
        yield Keyframe(before, CLOSED)
        yield Keyframe(after, CLOSED)

    return Instance(draw.parts, "turn on the oven", JointMoved("knob", LEAST_RAD, -1), plan)
