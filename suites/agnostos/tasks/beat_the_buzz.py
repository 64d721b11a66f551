"""Lead a ring along a pole to its far end without touching it on the way."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, grasp, held_at
from pytest_vla.kit.predicates import FailIn, In, NoneHeld, all_of
from pytest_vla.kit.solids import box, moved, ring, rod
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Pose, Vector, at, turn

from ..protocol import Draw, Instance, task

POLE_M, RING_M, START_M, END_M = 0.25, 0.042, -0.11, 0.11
STEEL: Vector = (0.75, 0.76, 0.78)
YELLOW: Vector = (0.95, 0.75, 0.10)
ACROSS = turn((0, 1, 0), math.pi / 2)


@task("unseen_level2")
def beat_the_buzz(draw: Draw) -> Instance:
    """A pole on two posts over a base, and a ring with a stem that hangs on its near end."""
    root = draw.root(180, x=(0.20, 0.32), y=(-0.08, 0.08))
    posts = [rod(0.006, (x, 0, 0.10), (x, 0, POLE_M), STEEL) for x in (-0.15, 0.15)]
    pole = rod(0.005, (-0.15, 0, POLE_M), (0.15, 0, POLE_M), STEEL)
    draw.add(Thing("base", root, (box((0.35, 0.10, 0.10), (0, 0, 0.05), (0.35, 0.12, 0.12)), pole, *posts)))
    pieces = [
        *moved(ring(RING_M, 0.010, wall_m=0.006, rgb=YELLOW, sides=12), rotation=ACROSS),
        box((0.016, 0.010, 0.06), (0, 0, RING_M + 0.034), (0.15, 0.15, 0.18)),
    ]
    hanging = root @ at(START_M, 0, POLE_M - RING_M + 0.006)
    wand = draw.add(loose("wand", hanging, pieces, down(0, 0, RING_M + 0.05, math.pi / 2), movable=False))
    draw.add(Zone("core", (0.010, 0.075), root @ Pose((0, 0, POLE_M), ACROSS), "cylinder"))
    draw.add(Zone("end", (0.10, 0.010), root @ Pose((END_M, 0, POLE_M), ACROSS), "cylinder"))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, wand)
        yield Keyframe(held_at(look, wand, root @ at(START_M, 0, POLE_M)), CLOSED)
        yield Keyframe(held_at(look, wand, root @ at(END_M, 0, POLE_M)), OPEN)

    buzz = FailIn("wand", "core", always=draw.strict)
    return Instance(draw.parts, "beat the buzz", all_of(In("wand", "end"), NoneHeld()), plan, [buzz])
