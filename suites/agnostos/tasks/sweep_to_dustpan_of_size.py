"""Sweep five crumbs into the tall or the short dustpan."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look, grasp, halves, held_at, shifted, up
from pytest_vla.kit.mechanisms import particles
from pytest_vla.kit.predicates import all_in
from pytest_vla.kit.solids import Pieces, box, cylinder, shown
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Vector, at

from ..protocol import Draw, Instance, task

SIZES_M: dict[str, Vector] = {"tall": (0.27, 0.22, 0.06), "short": (0.16, 0.13, 0.03)}
BLUE: Vector = (0.20, 0.40, 0.75)


def dustpan(size: Vector) -> Pieces:
    """A floor with three walls, open towards -x where its origin is, and a handle."""
    x, y, z = size
    return (
        *shown(box((x, y, 0.002), (x / 2, 0, 0.001), BLUE)),  # no edge for crumbs to jam at
        box((0.005, y, z), (x, 0, z / 2), BLUE),
        *(box((x, 0.005, z), (x / 2, s * y / 2, z / 2), BLUE) for s in (-1, 1)),
        box((0.10, 0.02, 0.02), (x + 0.05, 0, 0.02), BLUE),
    )


@task("seen", variations=2)
def sweep_to_dustpan_of_size(draw: Draw) -> Instance:
    """A brush, five crumbs between two dustpans."""
    size = ("tall", "short")[draw.variation]
    root = draw.root(180, x=(0.20, 0.30), y=(-0.05, 0.05))
    places = {"tall": root @ at(0.10, 0.0), "short": root @ at(-0.10, 0.0, 0.0, math.pi)}
    for name, place in places.items():
        draw.add(Thing(name, place, dustpan(SIZES_M[name])))
    x, y, z = SIZES_M[size]
    draw.add(Zone("pan", (x / 2, y / 2, z / 2), at(x / 2, 0, z / 2), on=size))
    spots = draw.spots(5, (0.025, 0.04), 0.015)
    dirt = particles("dirt", [root @ at(*spot, 0.005) for spot in spots], 0.010, (0.25, 0.18, 0.10))
    draw.add_all(dirt)
    brush = [
        box((0.03, 0.20 if size == "tall" else 0.11, 0.04), (0, 0, 0.02), (0.85, 0.75, 0.35)),
        cylinder(0.012, 0.14, (0, 0, 0.11), (0.55, 0.30, 0.12)),
    ]
    draw.within_reach(root @ at(0, 0.20), places[size] @ at(0.04), places[size] @ at(-0.17))
    broom = draw.add(loose("broom", root @ at(0.0, 0.20, 0.0, math.pi / 2), brush, down(0, 0, 0.13), movable=False))

    def plan(look: Look) -> Iterator[Keyframe]:
        lane = places[size]
        yield from grasp(look, broom)
        yield Keyframe(up(look().hand, 0.12), CLOSED)
        start = held_at(look, broom, *halves(lane @ at(-0.17, 0, 0.0)))
        yield Keyframe(up(start, 0.10), CLOSED)
        yield Keyframe(start, CLOSED)
        yield Keyframe(shifted(start, lane, x=0.23), CLOSED)

    done = all_in([crumb.label for crumb in dirt], "pan")
    return Instance(draw.parts, f"sweep dirt to the {size} dustpan", done, plan)
