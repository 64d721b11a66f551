"""Pull a knife out of its block and lay it on the chopping board."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import aim
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, grasp, held_at, up
from pytest_vla.kit.predicates import In, NoneHeld, all_of, ordered
from pytest_vla.kit.solids import box, open_box
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Pose, Vector, at, turn

from ..protocol import Draw, Instance, task

WOOD: Vector = (0.58, 0.38, 0.20)
STEEL: Vector = (0.80, 0.82, 0.84)
BLOCK_M = 0.10


@task("unseen_level1")
def put_knife_on_chopping_board(draw: Draw) -> Instance:
    """A knife that stands in a block, and a board."""
    root = draw.root(30, x=(0.24, 0.28), y=(-0.04, 0.04))
    board = root @ at(0.13)
    plank = box((0.20, 0.41, 0.015), (0, 0, 0.0075), (0.82, 0.66, 0.42))
    draw.add(Thing("board", board, (plank,)))
    draw.add(Zone("slab", (0.10, 0.125, 0.01), at(z=0.025), on="board"))
    block = root @ at(-0.06, draw.uniform(-0.16, 0.16))
    draw.add(Thing("block", block, open_box((0.05, 0.08, BLOCK_M), WOOD, wall_m=0.012)))
    pieces = [
        box((0.003, 0.030, 0.085), (0, 0, 0.0425), STEEL),
        box((0.016, 0.024, 0.10), (0, 0, 0.135), (0.12, 0.12, 0.13)),
    ]
    knife = draw.add(loose("knife", block @ at(z=0.014), pieces, Pose((0, 0, 0.150), aim(0, 0)), movable=False))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, knife)
        yield Keyframe(up(look().hand, 0.10), CLOSED)
        flat = board @ Pose((-0.12, 0, 0.026), turn((0, 1, 0), math.pi / 2))
        goal = held_at(look, knife, flat)
        yield Keyframe(up(goal, 0.12), CLOSED)
        yield Keyframe(goal, OPEN)
        yield Keyframe(up(goal, 0.10), OPEN)

    done = (all_of if draw.strict else ordered)(In("knife", "slab"), NoneHeld())
    return Instance(draw.parts, "put the knife on the chopping board", done, plan)
