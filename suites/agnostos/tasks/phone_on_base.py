"""Put the handset of a telephone on its base."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import Keyframe, Look, carry
from pytest_vla.kit.predicates import In, NoneHeld, all_of, all_zones
from pytest_vla.kit.solids import box, cylinder, shown
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Vector, at

from ..protocol import Draw, Instance, task

RED: Vector = (0.72, 0.12, 0.12)
CREAM: Vector = (0.92, 0.89, 0.78)
BLACK: Vector = (0.10, 0.10, 0.12)
BASE_M, REST_M, LONG_M = 0.05, 0.075, 0.24


@task("unseen_level1")
def phone_on_base(draw: Draw) -> Instance:
    """A telephone with a dial and a fork for the handset, which lies beside it."""
    root = draw.root()
    base = root @ at(0.09)
    forks = [
        piece
        for y in (-0.055, 0.055)
        for piece in (
            box((0.07, 0.02, REST_M - BASE_M), (0.04, y, (BASE_M + REST_M) / 2), RED),
            *(box((0.012, 0.02, 0.03), (0.04 + s * 0.029, y, REST_M + 0.012), RED) for s in (-1, 1)),
        )
    ]
    holes = [(0.03 * math.cos(n * 0.7), 0.03 * math.sin(n * 0.7)) for n in range(9)]
    dial = [cylinder(0.007, 0.003, (x - 0.04, y, BASE_M + 0.004), BLACK) for x, y in holes]
    plate = cylinder(0.042, 0.004, (-0.04, 0, BASE_M + 0.001), CREAM)
    draw.add(Thing("base", base, (box((0.19, 0.20, BASE_M), (0, 0, BASE_M / 2), RED), *forks, *shown(plate, *dial))))
    ends = [(s * (LONG_M / 2 - 0.022)) for s in (-1, 1)]
    pieces = [
        box((0.03, LONG_M, 0.022), (0, 0, 0.011), BLACK),
        *(box((0.040, 0.040, 0.026), (0, y, -0.010), BLACK) for y in ends),
        *shown(*(cylinder(0.026, 0.025, (0, y, -0.010), BLACK) for y in ends)),
    ]
    lying = root @ at(-0.13, 0, 0.024, draw.uniform(-0.4, 0.4))
    handset = draw.add(loose("handset", lying, pieces, down(0, 0, 0.010, math.pi / 2)))
    fork = base @ at(0.04, 0, REST_M)
    draw.add(Zone("cradle", (0.025, 0.075, 0.025), fork @ at(z=0.02)))
    for name, y in (("left fork", 0.055), ("right fork", -0.055)):
        draw.add(Zone(name, (0.02, 0.01, 0.008), fork @ at(0, y, 0.008)))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from carry(look, handset, fork @ at(z=0.003))

    there = all_zones("handset", ["left fork", "right fork"]) if draw.strict else In("handset", "cradle")
    return Instance(draw.parts, "put the phone on the base", all_of(there, NoneHeld()), plan)
