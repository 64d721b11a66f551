"""A table lamp with a button before it, which two tasks share."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.draw import Redraw
from pytest_vla.kit.hand import down
from pytest_vla.kit.hand_table import HandTable
from pytest_vla.kit.hand_task import Draw, Instance
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look
from pytest_vla.kit.mechanisms import button, button_top
from pytest_vla.kit.predicates import JointMoved, TipNear, Trigger, all_of
from pytest_vla.kit.solids import ball, cylinder, ring, rod, shown
from pytest_vla.kit.things import Joint, Thing, Zone
from pytest_vla.sim.pose import Vector, at

BRIGHT: Vector = (1.0, 0.95, 0.55)
DULL: Vector = (0.22, 0.22, 0.24)
BRASS: Vector = (0.62, 0.50, 0.28)
SWITCH_M: Vector = (0.05, 0.05, 0.02)
AWAY_M = 3.0  # above all cameras: where the bright bulb is while the dull one shows
FAITHFUL_M, STRICT_M, FINGER_M = 0.003, 0.005, 0.015


def lamp(draw: Draw, words: str, *, lit: bool) -> Instance:
    """The lamp, lit or not; that changes once the button is pressed."""
    root = draw.root(x=(0.18, 0.32))
    stand = root @ at(0.12)
    place = root @ at(-0.12)
    if stand.position[0] < place.position[0] - 0.1:
        raise Redraw  # an arm would have to reach through the lamp
    stem = rod(0.007, (0, 0, 0.02), (0, 0, 0.22), BRASS)
    shade = ring(0.06, 0.08, wall_m=0.003, centre=(0, 0, 0.26), rgb=(0.30, 0.45, 0.42), flare_m=-0.04, sides=16)
    bulb = shown(ball(0.036, (0, 0, 0.255), DULL))
    draw.add(Thing("lamp", stand, (cylinder(0.06, 0.02, (0, 0, 0.01), BRASS), stem, *shade, *bulb)))
    glow = Joint("slide", (0, 0, 1), (0.0, AWAY_M), start=0.0 if lit else AWAY_M, friction=50.0)
    draw.add(Thing("light", at(z=0.255), (ball(0.038, rgb=BRIGHT),), 0.01, joint=glow, on="lamp", weightless=True))
    draw.add_all(button("button", place, (0.85, 0.15, 0.12), base_m=SWITCH_M, radius_m=0.0165))
    x, y, _ = place.position
    top = button_top(SWITCH_M)

    def switch(table: HandTable) -> None:
        table.set_joint("light", AWAY_M if lit else 0.0)

    def plan(look: Look) -> Iterator[Keyframe]:
        yield Keyframe(down(x, y, top + 0.08), CLOSED)
        yield Keyframe(down(x, y, top - 0.004), CLOSED)

    draw.add(Zone("switch", (FINGER_M, FINGER_M, FINGER_M), at(z=top), on="button.base"))
    by_finger = all_of(JointMoved("button", STRICT_M, 1), TipNear("switch", FINGER_M))
    pressed = by_finger if draw.strict else JointMoved("button", FAITHFUL_M, 1)
    return Instance(draw.parts, words, pressed, plan, trigger=Trigger(pressed, switch, pressed))
