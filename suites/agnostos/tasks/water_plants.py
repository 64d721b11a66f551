"""Tip a watering can so that its drops fall into a plant's pot."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.hand_table import HandTable
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look, grasp, held_at, up
from pytest_vla.kit.mechanisms import particles
from pytest_vla.kit.predicates import In, Ordered, Trigger, all_in
from pytest_vla.kit.solids import ball, box, cup, cylinder, rod, shown
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Pose, Vector, at, multiply, turn

from ..protocol import Draw, Instance, task

GREEN: Vector = (0.20, 0.55, 0.22)
CAN: Vector = (0.25, 0.50, 0.70)
POT_M, POUR_M = 0.09, 0.20
HEAD: Vector = (0.17, 0, 0.12)
TILT_RAD = math.radians(35)


@task("unseen_level2")
def water_plants(draw: Draw) -> Instance:
    """A watering can and a potted plant; drops appear at the spout once it is over the pot."""
    root = draw.root(180, x=(0.18, 0.30), y=(-0.08, 0.08))
    place = root @ at(0.15)
    leaves = shown(*(ball(0.02, (0.03 * math.cos(a), 0.03 * math.sin(a), POT_M + 0.02), GREEN) for a in (0, 2.1, 4.2)))
    soil = cylinder(0.05, 0.05, (0, 0, 0.03), (0.25, 0.17, 0.10))
    draw.add(Thing("plant", place, (*cup(0.052, POT_M, (0.75, 0.38, 0.22)), soil, *leaves), radius_m=0.07))
    draw.add(Zone("pot", (0.05, 0.02), at(z=0.075), "cylinder", on="plant"))
    draw.add(Zone("pour", (0.02,), at(z=POUR_M), "sphere", on="plant"))
    pieces = [
        cylinder(0.045, 0.10, (0, 0, 0.05), CAN),
        rod(0.008, (0.04, 0, 0.03), HEAD, CAN),
        *(rod(0.007, (x, 0, 0.09), (x, 0, 0.15), CAN) for x in (-0.03, 0.03)),
        box((0.075, 0.016, 0.016), (0, 0, 0.155), CAN),
    ]
    can = draw.add(loose("can", root @ at(-0.12), pieces, down(0, 0, 0.152), movable=False))
    draw.add(Thing("head", Pose(HEAD), (ball(0.014, rgb=CAN),), 0.01, on="can"))
    drops = particles("drop", [at(2.8, 0.02 * n, 0.0025) for n in range(5)], 0.005, (0.1, 0.4, 0.9), kg=0.0005)
    draw.add_all(drops)

    def pour(table: HandTable) -> None:
        x, y, z = table.pose("head").position
        for number, drop in enumerate(drops):
            table.put(drop.label, at(x + 0.008 * (number % 3 - 1), y + 0.008 * (number // 3), z - 0.02))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, can)
        yield Keyframe(up(look().hand, 0.18), CLOSED)
        tilted = multiply(root.rotation, turn((0, 1, 0), TILT_RAD))
        x, y, z = Pose((0, 0, 0), tilted).apply(HEAD)
        target = place @ at(z=POUR_M)
        over = Pose((target.position[0] - x, target.position[1] - y, POUR_M - z), tilted)
        yield Keyframe(held_at(look, can, over), CLOSED)

    watered = all_in([drop.label for drop in drops], "pot")
    before = Ordered((In("head", "pour"), watered)) if draw.strict else In("can", "pot")
    return Instance(draw.parts, "water plant", before, plan, trigger=Trigger(In("head", "pour"), pour, watered))
