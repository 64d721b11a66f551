"""Push the open lid of a laptop down until it is shut."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look, easier, up
from pytest_vla.kit.mechanisms import lid, opened
from pytest_vla.kit.predicates import JointMoved
from pytest_vla.kit.solids import box, shown
from pytest_vla.kit.things import Thing
from pytest_vla.sim.pose import Pose, Vector, at

from ..protocol import Draw, Instance, task

SILVER: Vector = (0.68, 0.70, 0.73)
SCREEN: Vector = (0.10, 0.22, 0.42)
KEYS: Vector = (0.13, 0.13, 0.15)
BLOCK_M, DEEP_M, WIDE_M, THICK_M = 0.10, 0.24, 0.34, 0.014
OPEN_RAD, LEAST_RAD = 1.83, 1.79


@task("unseen_level1")
def close_laptop_lid(draw: Draw) -> Instance:
    """A laptop on a block, its lid open past the vertical."""
    root = draw.root(x=(0.18, 0.30), y=(-0.12, 0.12))
    top = BLOCK_M + THICK_M
    keys = [box((0.022, 0.26, 0.002), (row * 0.028 - 0.01, 0, top), KEYS) for row in range(-1, 4)]
    pad = box((0.05, 0.09, 0.002), (-0.085, 0, top), (0.55, 0.57, 0.60))
    block = box((0.30, 0.40, BLOCK_M), (0, 0, BLOCK_M / 2), (0.50, 0.34, 0.22))
    case = box((DEEP_M, WIDE_M, THICK_M), (0, 0, BLOCK_M + THICK_M / 2), SILVER)
    draw.add(Thing("laptop", root, (block, case, *shown(*keys, pad))))
    hinge = at(DEEP_M / 2, 0, top + 0.004)
    pieces = (
        box((DEEP_M, WIDE_M, 0.008), (-DEEP_M / 2, 0, 0.004), SILVER),
        *shown(box((DEEP_M - 0.03, WIDE_M - 0.03, 0.002), (-DEEP_M / 2, 0, 0), SCREEN)),
    )
    draw.add(lid("lid", "laptop", hinge, pieces, OPEN_RAD, start=OPEN_RAD))

    def push(share: float, behind_m: float) -> Pose:
        screen = opened(root @ hinge, OPEN_RAD * share)
        return easier(down(*screen.apply((-0.20, 0, 0.008 + behind_m)), root.yaw))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield Keyframe(up(push(1.0, 0.06), 0.14), CLOSED)
        for share, behind_m in ((1.0, 0.06), (0.75, 0.015), (0.5, 0.015), (0.25, 0.015), (0.0, 0.008)):
            yield Keyframe(push(share, behind_m), CLOSED)

    draw.within_reach(push(1.0, 0.06))
    return Instance(draw.parts, "close laptop lid", JointMoved("lid", LEAST_RAD, -1), plan)
