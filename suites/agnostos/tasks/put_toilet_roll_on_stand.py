"""Slide a toilet roll onto the arm of its stand."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, grasp, halves, held_at, shifted, up
from pytest_vla.kit.predicates import In, NoneHeld, all_of
from pytest_vla.kit.solids import box, cylinder, moved, ring, rod
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Vector, at, turn

from ..protocol import Draw, Instance, task

PAPER: Vector = (0.96, 0.96, 0.94)
STEEL: Vector = (0.68, 0.70, 0.73)
ARM_M, LONG_M, INNER_M, WALL_M = 0.237, 0.13, 0.022, 0.012
ALONG_Y = turn((1, 0, 0), math.pi / 2)


@task("unseen_level1")
def put_toilet_roll_on_stand(draw: Draw) -> Instance:
    """A roll that lies on a box, and a stand with one arm."""
    root = draw.root(180, x=(0.22, 0.30), y=(-0.05, 0.05))
    stand = root @ at(0.10, 0.0, 0.0, draw.uniform(-0.4, 0.4))
    draw.within_reach(stand @ at(0, LONG_M + 0.08))
    pole = rod(0.008, (0, 0, 0), (0, 0, 0.265), STEEL)
    arm = rod(0.008, (0, 0, ARM_M), (0, LONG_M, ARM_M), STEEL)
    draw.add(Thing("stand", stand, (cylinder(0.07, 0.015, (0, 0, 0.0075), STEEL), pole, arm)))
    draw.add(Zone("arm", (0.0125, 0.0125, 0.0175), at(0, 0.07, ARM_M - 0.030), on="stand"))
    cradle = [box((0.006, 0.08, 0.012), (x, 0, 0.106), (0.5, 0.35, 0.22)) for x in (-0.030, 0.030)]
    seat = root @ at(-0.13, draw.uniform(-0.08, 0.08), 0.0, draw.uniform(-0.4, 0.4))
    draw.add(Thing("box", seat, (box((0.10, 0.10, 0.10), (0, 0, 0.05), (0.62, 0.45, 0.30)), *cradle)))
    pieces = moved(ring(INNER_M, 0.09, wall_m=WALL_M, rgb=PAPER, sides=12), rotation=ALONG_Y)
    lying = seat @ at(z=0.10 + INNER_M + WALL_M + 0.001)
    roll = draw.add(loose("roll", lying, pieces, down(0, 0, 0.012, math.pi / 2), kg=0.08, movable=False))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, roll)
        yield Keyframe(up(look().hand, 0.20), CLOSED)
        before = held_at(look, roll, *halves(stand @ at(0, LONG_M + 0.08, ARM_M)))
        yield Keyframe(before, CLOSED)
        goal = shifted(before, stand, y=-LONG_M - 0.01)
        yield Keyframe(goal, OPEN)
        yield Keyframe(up(goal, 0.10), OPEN)

    return Instance(draw.parts, "put toilet roll on stand", all_of(In("roll", "arm"), NoneHeld()), plan)
