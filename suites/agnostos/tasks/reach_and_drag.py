"""Take the stick that lies on the cube and push the cube with it onto the named square."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look, grasp, halves, held_at, shifted, up
from pytest_vla.kit.predicates import In
from pytest_vla.kit.solids import box, shown
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import at

from ..colours import COLOURS, NAMES
from ..protocol import Draw, Instance, task

CUBE_M, STICK_M, AWAY_M = 0.08, 0.36, 0.21


@task("seen", variations=20)
def reach_and_drag(draw: Draw) -> Instance:
    """A cube with a stick on it, between four squares."""
    colours = [NAMES[(draw.variation + n) % len(NAMES)] for n in (0, 5, 6, 7)]
    root = draw.root(180, x=(0.20, 0.28), y=(-0.05, 0.05))
    sides = [root @ at(yaw=angle) for angle in draw.some([n * math.pi / 2 for n in range(4)], 4)]
    for name, side in zip(colours, sides, strict=True):
        draw.add(Thing(f"square {name}", side @ at(AWAY_M), shown(box((0.13, 0.13, 0.001), rgb=COLOURS[name]))))
    half = 0.02 if draw.strict else 0.05
    draw.add(Zone("target", (half, half, 0.005), sides[0] @ at(AWAY_M, 0, 0.005)))
    cube = box((CUBE_M, CUBE_M, CUBE_M), (0, 0, CUBE_M / 2), (0.80, 0.62, 0.40))
    draw.add(Thing("cube", root, (cube,), 0.3, free=True, friction=0.4))
    rod = [box((STICK_M, 0.0128, 0.0128), (0, 0, 0.0064), (0.45, 0.25, 0.12))]
    stick = draw.add(loose("stick", root @ at(z=CUBE_M, yaw=0.4), rod, down(0.11, 0, 0.004), movable=False))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, stick)
        yield Keyframe(up(look().hand, 0.12), CLOSED)
        behind = sides[0] @ at(-0.09, 0, 0.03, math.pi / 2)
        start = held_at(look, stick, *halves(behind))
        yield Keyframe(up(start, 0.15), CLOSED)
        yield Keyframe(start, CLOSED)
        yield Keyframe(shifted(start, sides[0], x=AWAY_M + 0.05), CLOSED)

    words = f"use the stick to drag the cube onto the {colours[0]} target"
    return Instance(draw.parts, words, In("cube", "target"), plan)
