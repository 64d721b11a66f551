"""Take a plate off the dish rack and stand it in the plate holder."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import Keyframe, Look, carry, halves
from pytest_vla.kit.predicates import In, NoneHeld, NotIn, all_of
from pytest_vla.kit.solids import Pieces, box, rod, shown
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Vector, at

from ..colours import COLOURS
from ..protocol import Draw, Instance, task

SLOTS = ("black", "red", "purple")
STEEL: Vector = (0.78, 0.79, 0.80)
CHINA: Vector = (0.93, 0.94, 0.97)
PLATE_M, THICK_M, APART_M, BLOCK_M = 0.09, 0.012, 0.10, 0.10
RAIL_M, RAIL_Y_M = 0.006, 0.045
SIT_M = math.sqrt((PLATE_M + RAIL_M) ** 2 - RAIL_Y_M**2)  # from the rails up to the middle of a plate on them


def slot(x: float, z: float, high_m: float, rgb: Vector) -> Pieces:
    """Two pairs of pillars with room for a plate between them."""
    aside = THICK_M / 2 + 0.008
    ends = [(x + sx * aside, sy * RAIL_Y_M) for sx in (-1, 1) for sy in (-1, 1)]
    return tuple(rod(RAIL_M, (px, py, z), (px, py, z + high_m), rgb) for px, py in ends)


def rails(long_m: float, z: float) -> Pieces:
    """Two rods for plates to stand on."""
    return tuple(rod(RAIL_M, (-long_m / 2, s * RAIL_Y_M, z), (long_m / 2, s * RAIL_Y_M, z), STEEL) for s in (-1, 1))


@task("unseen_level2", variations=3)
def take_plate_off_colored_dish_rack(draw: Draw) -> Instance:
    """A rack of three colours with a plate in the named one, and a block with a slot for it."""
    colour = SLOTS[draw.variation]
    root = draw.root(x=(0.20, 0.32), y=(-0.10, 0.10))
    rack, block = root @ at(0, -0.16), root @ at(0, 0.15)
    places = [(n - 1) * APART_M for n in range(3)]
    pillars = [piece for x, name in zip(places, SLOTS, strict=True) for piece in slot(x, 0.03, 0.07, COLOURS[name])]
    feet = [box((0.02, 0.16, 0.02), (s * 0.14, 0, 0.01), STEEL) for s in (-1, 1)]
    draw.add(Thing("rack", rack, (*rails(0.30, 0.03), *pillars, *feet), radius_m=0.18))
    cube = box((0.10, 0.11, BLOCK_M), (0, 0, BLOCK_M / 2), (0.60, 0.42, 0.26))
    holder = (*rails(0.08, BLOCK_M + 0.004), *slot(0.0, BLOCK_M, 0.06, STEEL))
    draw.add(Thing("block", block, (cube, *holder), radius_m=0.08))
    draw.add(Zone("rack inside", (0.15, 0.11, 0.05), rack @ at(z=0.07)))
    draw.add(Zone("block top", (0.025, 0.025, 0.025), block @ at(z=BLOCK_M + 0.025)))
    disc = rod(PLATE_M, (-THICK_M / 2, 0, 0), (THICK_M / 2, 0, 0), CHINA, "cylinder")
    well = rod(PLATE_M * 0.6, (-THICK_M / 2 - 0.001, 0, 0), (THICK_M / 2 + 0.001, 0, 0), (0.35, 0.55, 0.80), "cylinder")
    start = rack @ at(places[draw.variation], 0, 0.03 + SIT_M)
    draw.within_reach(start, block)
    handle = down(0, 0, PLATE_M - 0.015, math.pi / 2)
    plate = draw.add(loose("plate", start, (disc, *shown(well)), handle, movable=False))

    def plan(look: Look) -> Iterator[Keyframe]:
        target = block @ at(z=BLOCK_M + 0.006 + SIT_M)
        yield from carry(look, plate, *halves(target), lift_m=0.18, over_m=0.10)

    done = all_of(NotIn("plate", "rack inside"), In("plate", "block top"), NoneHeld())
    return Instance(draw.parts, f"take plate off the {colour} colored rack", done, plan)
