"""Lay a bottle of wine into the named place of a rack."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import aim
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, grasp, held_at, up
from pytest_vla.kit.predicates import In, NoneHeld, all_of
from pytest_vla.kit.solids import cylinder, rod
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Pose, Vector, at, turn

from ..protocol import Draw, Instance, task

WOOD: Vector = (0.50, 0.32, 0.18)
GREEN: Vector = (0.10, 0.30, 0.15)
SLOTS = {"middle": 0.0, "left": 0.095, "right": -0.095}
BAR_M, RADIUS_M, LONG_M = 0.075, 0.030, 0.246
LYING = turn((0, 1, 0), math.pi / 2)


@task("seen", variations=3)
def place_wine_at_rack_location(draw: Draw) -> Instance:
    """A rack of three places, and a bottle that stands before it."""
    name = list(SLOTS)[draw.variation]
    root = draw.root(30, x=(0.27, 0.31), y=(-0.05, 0.05))
    rack = root @ at(0.11)
    bars = [rod(0.008, (x, -0.165, BAR_M), (x, 0.165, BAR_M), WOOD) for x in (-0.06, 0.06)]
    legs = [rod(0.008, (x, y, 0), (x, y, BAR_M), WOOD) for x in (-0.06, 0.06) for y in (-0.16, 0.16)]
    pegs = [
        rod(0.006, (x, y, BAR_M), (x, y, BAR_M + 0.03), WOOD)
        for x in (-0.06, 0.06)
        for y in (-0.143, -0.048, 0.048, 0.143)
    ]
    low = [rod(0.006, (x, -0.16, 0.02), (x, 0.16, 0.02), WOOD) for x in (-0.06, 0.06)]
    draw.add(Thing("rack", rack, (*bars, *legs, *pegs, *low), radius_m=0.2))
    slot = rack @ Pose((0, SLOTS[name], BAR_M + 0.008 + RADIUS_M), LYING)
    draw.add(Zone("slot", (0.02, 0.10), slot, "cylinder"))
    pieces = [
        cylinder(RADIUS_M, 0.16, (0, 0, 0.08), GREEN),
        cylinder(0.014, 0.086, (0, 0, 0.203), GREEN),
        cylinder(0.0305, 0.06, (0, 0, 0.07), (0.92, 0.88, 0.75)),
    ]
    place = root @ at(-0.05, draw.uniform(-0.10, 0.10))
    bottle = draw.add(loose("bottle", place, pieces, Pose((0, 0, 0.12), aim(0, 0)), kg=0.3, movable=False))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, bottle)
        yield Keyframe(up(look().hand, 0.10), CLOSED)
        laid = slot @ Pose((0, 0, -0.08))
        goal = held_at(look, bottle, up(laid, 0.004))
        yield Keyframe(up(goal, 0.20), CLOSED)
        yield Keyframe(goal, OPEN)
        yield Keyframe(up(goal, 0.10), OPEN)

    words = f"stack the wine bottle to the {name} of the rack"
    return Instance(draw.parts, words, all_of(In("bottle", "slot"), NoneHeld()), plan)
