"""Turn the left-most knob of an oven by a quarter."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand_env import Draw, Instance, task
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look, grasp
from pytest_vla.kit.mechanisms import knob
from pytest_vla.kit.predicates import JointMoved
from pytest_vla.kit.solids import Pieces, box, cylinder, rod, shown
from pytest_vla.kit.things import Thing
from pytest_vla.sim.pose import Pose, Vector, turn

WHITE: Vector = (0.88, 0.88, 0.88)
STEEL: Vector = (0.62, 0.63, 0.66)
GLASS: Vector = (0.10, 0.10, 0.12)
KNOBS, APART_M = 7, 0.06
OVEN_M: Vector = (0.30, 0.44, 0.42)
HIGH_M = 0.37
LEAST_RAD = 1.5


def dial() -> Pieces:
    """A disc with a bar across it that points up, in a frame whose z leaves the oven."""
    mark = box((0.006, 0.003, 0.002), (0.018, 0, 0.034), (0.85, 0.15, 0.10))
    return (
        cylinder(0.022, 0.008, (0, 0, 0.004), GLASS),
        box((0.044, 0.016, 0.028), (0, 0, 0.020), STEEL),
        *shown(mark),
    )


@task("unseen_level2")
def turn_oven_on(draw: Draw) -> Instance:
    """An oven that faces the robot with seven knobs over its door; the left-most one turns."""
    root = draw.root(45, x=(0.50, 0.56), y=(-0.08, 0.08))
    x, y, z = OVEN_M
    front = -x / 2
    hobs = [cylinder(0.05, 0.004, (hx, hy, z + 0.002), GLASS) for hx in (-0.07, 0.08) for hy in (-0.12, 0.12)]
    body = (
        box(OVEN_M, (0, 0, z / 2), WHITE),
        *hobs,
        *shown(box((0.004, y - 0.06, 0.22), (front, 0, 0.17), GLASS)),
        rod(0.007, (front - 0.02, -0.17, 0.30), (front - 0.02, 0.17, 0.30), STEEL),
    )
    draw.add(Thing("oven", root, body))
    outward = turn((0, 1, 0), -math.pi / 2)  # z of a knob looks out of the front, x of it up
    for number in range(KNOBS):
        place = Pose((front, APART_M * (KNOBS // 2 - number), HIGH_M), outward)
        if number:
            draw.add(Thing(f"knob_{number}", place, dial(), on="oven"))
        else:
            grip = Pose((0, 0, 0.026), turn((1, 0, 0), math.pi))
            first = draw.add(knob("knob", "oven", place, dial(), least_rad=-math.pi / 2, most_rad=0.0, handle=grip))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, first)
        hand = look().hand
        yield Keyframe(hand @ Pose((0, 0, 0), turn((0, 0, 1), math.pi / 2 + 0.05)), CLOSED)

    return Instance(draw.parts, "turn on the oven", JointMoved("knob", LEAST_RAD, -1), plan)
