"""Take a folded umbrella from where it leans and put it in the umbrella stand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, grasp, held_at, up
from pytest_vla.kit.predicates import In, NoneHeld, all_of
from pytest_vla.kit.solids import cup, cylinder, rod
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Pose, Vector, at, turn

from ..protocol import Draw, Instance, task

BLUE: Vector = (0.15, 0.25, 0.60)
WOOD: Vector = (0.50, 0.30, 0.14)
STEEL: Vector = (0.65, 0.66, 0.68)
STAND_M, LONG_M = 0.16, 0.30
LEAN_RAD = math.radians(10)


@task("unseen_level1")
def put_umbrella_in_umbrella_stand(draw: Draw) -> Instance:
    """An umbrella that leans on a rail with its tip in a foot, and an umbrella stand."""
    root = draw.root(x=(0.14, 0.24), y=(-0.08, 0.08))
    stand = root @ at(0, 0.13)
    draw.add(Thing("stand", stand, cup(0.05, STAND_M, (0.55, 0.40, 0.28), wall_m=0.005), radius_m=0.07))
    draw.add(Zone("stand inside", (0.04, 0.04, 0.05), stand @ at(z=0.07)))
    foot = root @ at(0, -0.13)
    rail = (
        cylinder(0.07, 0.008, (0.03, 0, 0.004), STEEL),
        *cup(0.016, 0.03, STEEL),
        rod(0.008, (0.075, 0, 0), (0.075, 0, 0.21), STEEL),
        rod(0.005, (0.075, 0, 0.20), (0.064, 0, 0.20), STEEL),
        *(rod(0.005, (0.066, 0, 0.20), (0.015, s * 0.036, 0.20), STEEL) for s in (-1, 1)),
    )
    draw.add(Thing("rail", foot, rail))
    crook = [(0.022 - 0.022 * math.cos(a), LONG_M + 0.022 * math.sin(a)) for a in (0, 0.8, 1.57, 2.4, 3.1)]
    pieces = [
        rod(0.004, (0, 0, 0.004), (0, 0, LONG_M), STEEL),
        *(rod(r, (0, 0, low), (0, 0, high), BLUE) for r, low, high in ((0.011, 0.05, 0.23), (0.016, 0.10, 0.21))),
        rod(0.007, (0, 0, LONG_M - 0.04), (0, 0, LONG_M), WOOD),
        *(rod(0.007, (ax, 0, az), (bx, 0, bz), WOOD) for (ax, az), (bx, bz) in pairwise(crook)),
    ]
    leaning = foot @ Pose((0, 0, 0.006), turn((0, 1, 0), LEAN_RAD))
    umbrella = draw.add(loose("umbrella", leaning, pieces, down(0.022, 0, LONG_M + 0.012), kg=0.15, movable=False))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, umbrella)
        yield Keyframe(up(look().hand, STAND_M + 0.02), CLOSED)
        goal = held_at(look, umbrella, stand @ at(z=0.012))
        yield Keyframe(up(goal, STAND_M + 0.02), CLOSED)
        yield Keyframe(goal, OPEN)

    done = all_of(In("umbrella", "stand inside"), NoneHeld())
    return Instance(draw.parts, "put umbrella in umbrella stand", done, plan)
