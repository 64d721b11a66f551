"""Put a square ring on the peg of the named colour."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import Keyframe, Look, carry
from pytest_vla.kit.predicates import NoneHeld, all_of, all_zones
from pytest_vla.kit.solids import box
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import at

from ..colours import COLOURS, NAMES, other_colours
from ..protocol import Draw, Instance, task

BASE_M, PEG_M = 0.02, 0.12
OUTER_M, INNER_M, THICK_M = 0.064, 0.036, 0.02


@task("seen", variations=20)
def insert_onto_square_peg(draw: Draw) -> Instance:
    """Three pegs on a bar, and a ring with a lug to hold it by."""
    colour = NAMES[draw.variation]
    names = draw.some([colour, *other_colours(draw, 2, [colour])], 3)
    root = draw.root(180, x=(0.22, 0.30), y=(-0.06, 0.06))
    bar = root @ at(0, -0.14)
    draw.add(Thing("bar", bar, (box((0.40, 0.10, BASE_M), (0, 0, BASE_M / 2), (0.35, 0.25, 0.18)),), radius_m=0.2))
    for number, name in enumerate(names):
        peg = box((0.024, 0.024, PEG_M), ((number - 1) * 0.13, 0, BASE_M + PEG_M / 2), COLOURS[name])
        draw.add(Thing(f"peg_{number}", bar, (peg,)))
    side = (OUTER_M + INNER_M) / 4
    wall = (OUTER_M - INNER_M) / 2
    rgb = (0.85, 0.65, 0.25)
    pieces = [
        *(box((wall, OUTER_M, THICK_M), (s * side, 0, THICK_M / 2), rgb) for s in (-1, 1)),
        *(box((INNER_M, wall, THICK_M), (0, s * side, THICK_M / 2), rgb) for s in (-1, 1)),
        box((0.05, 0.02, 0.02), (side + 0.03, 0, THICK_M / 2), rgb),
    ]
    x, y = draw.spots(1, (0.15, 0.06), 0.0)[0]
    place = root @ at(x, y + 0.06, 0.0, draw.yaw())
    draw.within_reach(place, bar @ at(-0.13), bar @ at(0.13))
    ring = draw.add(loose("ring", place, pieces, down(side + 0.035, 0, 0.008)))
    foot = bar @ at((names.index(colour) - 1) * 0.13, 0, BASE_M + 0.025)
    sides = [(0.022, 0, 0.005, 0.02), (-0.022, 0, 0.005, 0.02), (0, 0.022, 0.02, 0.005), (0, -0.022, 0.02, 0.005)]
    zones = [draw.add(Zone(f"foot_{n}", (hx, hy, 0.025), foot @ at(x, y))) for n, (x, y, hx, hy) in enumerate(sides)]

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from carry(look, ring, *(foot @ at(yaw=n * math.pi / 2) for n in range(4)), lift_m=0.18, over_m=0.14)

    there = all_zones("ring", [zone.label for zone in zones])
    done = all_of(there, NoneHeld()) if draw.strict else there
    return Instance(draw.parts, f"put the ring on the {colour} spoke", done, plan)
