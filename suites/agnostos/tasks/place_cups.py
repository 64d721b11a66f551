"""Hang one to three mugs by their handles on the spokes of a mug tree."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, easiest, grasp, held_at, up
from pytest_vla.kit.predicates import In, NoneHeld, all_of, any_of
from pytest_vla.kit.solids import Pieces, box, cup, cylinder, rod
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Pose, Vector, at, turn

from ..protocol import Draw, Instance, task

WOOD: Vector = (0.55, 0.36, 0.20)
TILT_RAD, SPOKE_M, HEIGHT_M, MUG_M = math.radians(20), 0.095, 0.20, 0.083
LOOP = at(0.053, 0, 0.042)  # the middle of the handle's opening, which looks along y


def mug(rgb: Vector) -> Pieces:
    """A mug with a handle towards +x."""
    bars = [((0.040, 0.010, 0.007), 0.066), ((0.040, 0.010, 0.007), 0.018)]
    return (
        *cup(0.033, MUG_M, rgb, wall_m=0.003),
        *(box(size, (0.054, 0, z), rgb) for size, z in bars),
        box((0.007, 0.010, 0.055), (0.074, 0, 0.042), rgb),
    )


@task("seen", variations=3)
def place_cups(draw: Draw) -> Instance:
    """A tree with four spokes, one of them taken, and three mugs."""
    count = draw.variation + 1
    root = draw.root(90, x=(0.24, 0.28), y=(-0.04, 0.04))
    spokes = [at(yaw=n * math.pi / 2) @ Pose((0, 0, HEIGHT_M), turn((0, 1, 0), -TILT_RAD)) for n in range(4)]
    rods = [rod(0.0065, (spoke.position), spoke.apply((SPOKE_M, 0, 0)), WOOD) for spoke in spokes]
    draw.add(
        Thing(
            "tree", root, (cylinder(0.07, 0.02, (0, 0, 0.01), WOOD), rod(0.010, (0, 0, 0), (0, 0, 0.27), WOOD), *rods)
        )
    )
    along = Pose((SPOKE_M / 2, 0, 0), turn((0, 1, 0), math.pi / 2))
    for number, spoke in enumerate(spokes[:3]):
        draw.add(Zone(f"spoke_{number}", (0.007, SPOKE_M / 2), spoke @ along, "cylinder", on="tree"))
    draw.add(Thing("hung", root @ hanging(3, 0.04), mug((0.9, 0.9, 0.9))))
    places = [root @ at(x, y, 0, draw.yaw()) for x, y in ((-0.19, -0.18), (-0.23, 0.0), (-0.19, 0.18))]
    grip = down(-0.036, 0, MUG_M - 0.012, math.pi / 2)
    colours: list[Vector] = [(0.8, 0.2, 0.2), (0.2, 0.4, 0.8), (0.9, 0.7, 0.2)]
    mugs = [draw.add(loose(f"mug_{n}", p, mug(colours[n]), grip, kg=0.05)) for n, p in enumerate(places)]

    def plan(look: Look) -> Iterator[Keyframe]:
        free = [0, 1, 2]
        for one in mugs[:count]:
            yield from grasp(look, one)
            yield Keyframe(up(look().hand, 0.36), CLOSED)
            spoke = free.pop(easiest(look, one, [root @ hanging(spoke, 0.05) for spoke in free]))
            before = held_at(look, one, root @ hanging(spoke, SPOKE_M + 0.05))
            yield Keyframe(up(before, 0.12), CLOSED)
            yield Keyframe(before, CLOSED)
            goal = held_at(look, one, root @ hanging(spoke, 0.05))
            yield Keyframe(goal, OPEN)
            yield Keyframe(up(goal, 0.10), OPEN)

    hung = (any_of(*(In(f"mug_{n}", f"spoke_{s}") for s in range(3))) for n in range(count))
    words = "place 1 cup on the cup holder" if count == 1 else f"place {count} cups on the cup holder"
    return Instance(draw.parts, words, all_of(*hung, NoneHeld()), plan)


def hanging(spoke: int, way_m: float) -> Pose:
    """A mug on the numbered spoke, its handle so far out and itself on the right, where the next one leaves room."""
    x, z = way_m * math.cos(TILT_RAD), HEIGHT_M + way_m * math.sin(TILT_RAD)
    return at(yaw=spoke * math.pi / 2) @ at(x, 0, z, math.pi / 2) @ LOOP.inverse()
