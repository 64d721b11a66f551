"""Drop the named piece through a hole of the shape sorter."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import Keyframe, Look, carry
from pytest_vla.kit.predicates import In
from pytest_vla.kit.solids import Pieces, box, cylinder, grid, open_box
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Vector, at

from ..colours import COLOURS
from ..protocol import Draw, Instance, task

SIZE_M: Vector = (0.17, 0.17, 0.13)
CELL_M, HOLE_M, TALL_M, AWAY_M = 0.0566, 0.046, 0.045, 0.235
MIDDLE: Vector = (0, 0, TALL_M / 2)
HOLES = {"cube": (-1, -1), "cylinder": (-1, 1), "triangular prism": (1, -1), "star": (1, 1), "moon": (0, 0)}


def shape(name: str) -> Pieces:
    """The piece of that name, standing on its origin."""
    if name == "cube":
        return (box((0.036, 0.036, TALL_M), MIDDLE, COLOURS["blue"]),)
    if name == "cylinder":
        return (cylinder(0.018, TALL_M, MIDDLE, COLOURS["green"]),)
    if name == "triangular prism":
        steps = [(0.036 - 0.009 * n, -0.0135 + 0.009 * n) for n in range(4)]
        return tuple(box((width, 0.009, TALL_M), (0, y, TALL_M / 2), COLOURS["red"]) for width, y in steps)
    if name == "star":
        rays = [n * math.pi / 5 * 2 for n in range(5)]
        return tuple(
            box((0.020, 0.010, TALL_M), (0.009 * math.cos(a), 0.009 * math.sin(a), TALL_M / 2), (1, 0.85, 0), yaw=a)
            for a in rays
        )
    arc = [math.radians(a) for a in (80, 120, 160, 200, 240, 280)]
    return tuple(
        box((0.010, 0.013, TALL_M), (0.013 * math.cos(a), 0.013 * math.sin(a), TALL_M / 2), COLOURS["purple"], yaw=a)
        for a in arc
    )


@task("seen", variations=5)
def place_shape_in_shape_sorter(draw: Draw) -> Instance:
    """A box with five holes in its lid, and five pieces."""
    name = list(HOLES)[draw.variation]
    root = draw.root(180, x=(0.22, 0.28), y=(-0.04, 0.04))
    lid = grid(3, CELL_M, 0.012, HOLES.values(), HOLE_M, (0, 0, SIZE_M[2]), (0.90, 0.80, 0.55))
    draw.add(Thing("sorter", root, (*open_box(SIZE_M, (0.75, 0.60, 0.40)), *lid), radius_m=0.15))
    draw.add(Zone("inside", (0.075, 0.075, 0.05), at(z=0.05), on="sorter"))
    angles = draw.some([math.radians(side * angle) for side in (-1, 1) for angle in (55, 90, 125)], 5)
    places = [at(*root.xy) @ at(yaw=angle + draw.uniform(-0.1, 0.1)) @ at(AWAY_M) for angle in angles]
    pieces = {
        other: draw.add(loose(other, place @ at(yaw=draw.yaw()), shape(other), down(0, 0, TALL_M - 0.008), kg=0.05))
        for other, place in zip(HOLES, places, strict=True)
    }
    column, row = HOLES[name]
    hole = root @ at(column * CELL_M, row * CELL_M, SIZE_M[2] - 0.008)
    targets = [hole @ at(yaw=quarter * math.pi / 2) for quarter in range(4)]

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from carry(look, pieces[name], *targets, lift_m=0.22, over_m=0.06)

    return Instance(draw.parts, f"put the {name} in the shape sorter", In(name, "inside"), plan)
