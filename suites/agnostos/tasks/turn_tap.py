"""Turn the named handle of a tap by a quarter."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look, grasp, turned
from pytest_vla.kit.mechanisms import knob
from pytest_vla.kit.predicates import JointMoved, TipNear, all_of
from pytest_vla.kit.solids import box, cylinder, rod
from pytest_vla.kit.things import Thing, Zone
from pytest_vla.sim.pose import Vector, at

from ..protocol import Draw, Instance, task

STEEL: Vector = (0.70, 0.72, 0.75)
MARKS: dict[str, Vector] = {"left": (0.85, 0.15, 0.15), "right": (0.15, 0.35, 0.85)}
ASIDE_M, HEIGHT_M, NEAR_M = 0.11, 0.14, 0.03


@task("seen", variations=2)
def turn_tap(draw: Draw) -> Instance:
    """A tap whose handles stand left and right of its spout."""
    side = ("left", "right")[draw.variation]
    root = draw.root()
    body = (
        box((0.06, 0.30, 0.03), (0, 0, 0.015), STEEL),
        *(cylinder(0.018, HEIGHT_M, (0, y, HEIGHT_M / 2), STEEL) for y in (-ASIDE_M, ASIDE_M)),
        rod(0.015, (0, 0, 0.03), (0, 0, 0.20), STEEL),
        rod(0.013, (0, 0, 0.20), (0.12, 0, 0.20), STEEL),
        rod(0.013, (0.12, 0, 0.20), (0.12, 0, 0.16), STEEL),
    )
    draw.add(Thing("tap", root, body))
    handles = {}
    for name, y in (("left", ASIDE_M), ("right", -ASIDE_M)):
        bar = (box((0.09, 0.018, 0.035), (0, 0, 0.018), STEEL), cylinder(0.012, 0.004, (0, 0, 0.037), MARKS[name]))
        grip = down(0, 0, 0.015)
        handles[name] = draw.add(
            knob(name, "tap", at(0, y, HEIGHT_M + 0.001), bar, most_rad=1.9, handle=grip, friction_nm=0.15)
        )

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, handles[side])
        way = math.copysign(1.75, look().hand.yaw)
        yield Keyframe(turned(look().hand, -way), CLOSED)

    draw.add(Zone("handle", (NEAR_M, NEAR_M, NEAR_M), at(z=0.02), on=side))
    turned_far = JointMoved(side, math.pi / 2)
    done = all_of(turned_far, TipNear("handle", NEAR_M)) if draw.strict else turned_far
    return Instance(draw.parts, f"turn {side} tap", done, plan)
