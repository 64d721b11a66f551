"""Pull a charger out of its wall socket."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import aim
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look, back, grasp
from pytest_vla.kit.predicates import Held, In, all_of
from pytest_vla.kit.solids import box, frame, moved, rod, shown
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Pose, Vector, at, turn

from ..protocol import Draw, Instance, task

WALL: Vector = (0.55, 0.66, 0.62)
WHITE: Vector = (0.95, 0.95, 0.95)
BLACK: Vector = (0.12, 0.12, 0.14)
STEEL: Vector = (0.75, 0.76, 0.78)
HIGH_M, PRONG_M, ASIDE_M, LONG_M = 0.20, 0.020, 0.011, 0.06
PULLED_M = LONG_M + 0.06  # from the wall to where the charger must come
OUTWARD = turn((0, 1, 0), -math.pi / 2)


@task("unseen_level2")
def unplug_charger(draw: Draw) -> Instance:
    """A piece of wall with a socket, and a charger in it."""
    root = draw.root(45, x=(0.40, 0.46), y=(-0.12, 0.12))
    holes = [moved(frame((0.009, 0.006), PRONG_M, WHITE), y=s * ASIDE_M) for s in (-1, 1)]
    plate = (*holes[0], *holes[1], *frame((0.017, 0.036), PRONG_M, WHITE, wall_m=0.025))
    slab = box((0.03, 0.36, 0.32), (PRONG_M + 0.015, 0, 0.16), WALL)
    draw.add(Thing("wall", root, (slab, *moved(plate, x=PRONG_M, z=HIGH_M, rotation=OUTWARD))))
    cable = [
        rod(0.003, (-LONG_M, 0, 0.0), (-LONG_M - 0.015, 0, -0.015), BLACK),
        rod(0.003, (-LONG_M - 0.015, 0, -0.015), (-LONG_M - 0.015, 0, -0.12), BLACK),
    ]
    pieces = [
        box((LONG_M, 0.042, 0.05), (-LONG_M / 2 - 0.001, 0, 0), BLACK),
        *(box((PRONG_M, 0.005, 0.008), (PRONG_M / 2 - 0.001, s * ASIDE_M, 0), STEEL) for s in (-1, 1)),
        *shown(*cable),
    ]
    grip = Pose((-LONG_M + 0.025, 0, 0), aim(0, 0))
    charger = draw.add(loose("charger", root @ at(z=HIGH_M), pieces, grip, kg=0.05, movable=False))
    draw.add(Zone("pulled out", (0.025, 0.025, 0.025), root @ at(-PULLED_M - 0.025, 0, HIGH_M)))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, charger)
        yield Keyframe(back(look().hand, 0.09), CLOSED)

    there = In("charger", "pulled out")
    return Instance(draw.parts, "unplug charger", all_of(there, Held("charger")) if draw.strict else there, plan)
