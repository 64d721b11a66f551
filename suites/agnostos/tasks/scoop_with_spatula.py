"""Slide a spatula under a cube and lift it."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look, grasp, held_at, up
from pytest_vla.kit.predicates import Held, In, all_of
from pytest_vla.kit.solids import box, rod
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Pose, Vector, at, turn

from ..protocol import Draw, Instance, task

STEEL: Vector = (0.72, 0.73, 0.76)
BLACK: Vector = (0.12, 0.12, 0.14)
WOOD: Vector = (0.72, 0.52, 0.32)
CUBE_M, BOARD_M, OVER_M, LEDGE_M = 0.02, 0.014, 0.008, 0.016
BLADE_M, LIP_M = 0.06, 0.001
NOSE_UP_RAD = 0.15


@task("unseen_level2")
def scoop_with_spatula(draw: Draw) -> Instance:
    """A spatula, and a small cube that stands over the edge of a board with a ledge behind it."""
    root = draw.root(180, x=(0.20, 0.30), y=(-0.08, 0.08))
    edge = root @ at(0.06)
    board = box((0.05, 0.14, BOARD_M), (0.025, 0, BOARD_M / 2), WOOD)
    ledge = box((0.01, 0.14, 0.03), (LEDGE_M + 0.005, 0, 0.015), WOOD)
    draw.add(Thing("board", edge, (board, ledge)))
    spot = edge @ at(CUBE_M / 2 - OVER_M, draw.uniform(-0.03, 0.03), BOARD_M)
    cube = (box((CUBE_M, CUBE_M, CUBE_M), (0, 0, CUBE_M / 2), (0.85, 0.15, 0.12)),)
    draw.add(Thing("cube", spot @ at(yaw=draw.uniform(-0.2, 0.2)), cube, 0.01, free=True, friction=0.3))
    pieces = [
        box((0.03, 0.07, LIP_M), (0.045, 0, LIP_M / 2), STEEL),
        box((BLADE_M, 0.07, 0.003), (0, 0, 0.0015), STEEL),
        rod(0.005, (-0.025, 0, 0.006), (-0.08, 0, 0.012), STEEL),
        box((0.14, 0.018, 0.022), (-0.15, 0, 0.012), BLACK),
    ]
    grip = down(-0.13, 0, 0.012)
    spatula = draw.add(loose("spatula", root @ at(-0.06), pieces, grip, kg=0.08, friction=0.3, movable=False))
    draw.add(Zone("above", (0.10, 0.10, 0.025), edge @ at(z=0.148)))

    def plan(look: Look) -> Iterator[Keyframe]:
        lane = edge @ at(y=edge.inverse().apply(look().pose("cube").position)[1])
        yield from grasp(look, spatula)
        yield Keyframe(up(look().hand, 0.03), CLOSED)
        for x, z, nose_up in (
            (-0.03, BOARD_M / 2, 0.0),  # before the cube,
            (-0.003, BOARD_M / 2, 0.0),  # under its part that has nothing below,
            (-0.003, BOARD_M + 0.004, 0.0),  # a little up,
            (LEDGE_M - 0.002, BOARD_M + 0.003, 0.0),  # all the way under it,
            (0.0, BOARD_M + 0.015, NOSE_UP_RAD),
            (0.0, 0.16, NOSE_UP_RAD),
        ):
            front = lane @ Pose((x, 0, z), turn((0, 1, 0), -nose_up))
            yield Keyframe(held_at(look, spatula, front @ at(-BLADE_M)), CLOSED)

    done = all_of(In("cube", "above"), Held("spatula"))
    return Instance(draw.parts, "scoop up the cube and lift it with the spatula", done, plan)
