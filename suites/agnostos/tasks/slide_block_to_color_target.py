"""Push a block across the table to the named square."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look
from pytest_vla.kit.predicates import In
from pytest_vla.kit.solids import box, shown
from pytest_vla.kit.things import Thing, Zone
from pytest_vla.sim.pose import Vector, at

from ..protocol import Draw, Instance, task

SQUARES: dict[str, Vector] = {
    "green": (0.15, 0.65, 0.20),
    "blue": (0.15, 0.30, 0.85),
    "pink": (0.95, 0.45, 0.70),
    "yellow": (0.95, 0.85, 0.15),
}
SIDE_M, AWAY_M, LOW_M = 0.056, 0.19, 0.018


@task("seen", variations=4)
def slide_block_to_color_target(draw: Draw) -> Instance:
    """A block in the middle of four squares."""
    root = draw.root(180, x=(0.20, 0.28), y=(-0.05, 0.05))
    sides = {name: root @ at(yaw=number * math.pi / 2) for number, name in enumerate(SQUARES)}
    for name, side in sides.items():
        draw.add(Thing(f"square {name}", side @ at(AWAY_M), shown(box((0.10, 0.10, 0.001), rgb=SQUARES[name]))))
    colour = list(SQUARES)[draw.variation]
    half = 0.02 if draw.strict else 0.05
    draw.add(Zone("target", (half, half, 0.05), sides[colour] @ at(AWAY_M, 0, 0.05)))
    block = box((SIDE_M, SIDE_M, SIDE_M), (0, 0, SIDE_M / 2), (0.75, 0.20, 0.18))
    draw.add(Thing("block", root, (block,), 0.1, free=True, friction=0.4, movable=True))

    def plan(look: Look) -> Iterator[Keyframe]:
        goal = (sides[colour] @ at(AWAY_M)).position
        x, y, _ = look().pose("block").position
        way = math.atan2(goal[1] - y, goal[0] - x)
        for along, height in ((-0.07, 0.12), (-0.07, LOW_M), (AWAY_M - 0.02, LOW_M)):
            yield Keyframe(down(x + along * math.cos(way), y + along * math.sin(way), height, _quarter(way)), CLOSED)

    return Instance(draw.parts, f"slide the block to {colour} target", In("block", "target"), plan)


def _quarter(yaw: float) -> float:
    """The yaw by which closed fingers, which look the same after half a turn, are turned least."""
    return (yaw + math.pi / 2) % math.pi - math.pi / 2
