"""Push one to three of three buttons in the order that is said."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look
from pytest_vla.kit.mechanisms import button, button_top
from pytest_vla.kit.predicates import JointMoved, TipNear, all_of, ordered
from pytest_vla.kit.things import Zone
from pytest_vla.sim.pose import at

from ..colours import COLOURS, NAMES
from ..protocol import Draw, Instance, task

BUTTON_COLOURS = [name for name in NAMES if name not in ("red", "lime")]
FAITHFUL_M, STRICT_M = 0.001, 0.005
HALF_M = (0.015, 0.015, 0.015)


@task("seen", variations=50)
def push_buttons(draw: Draw) -> Instance:
    """Three buttons; how many are asked for goes with the variation."""
    count = draw.variation % 3 + 1
    first = BUTTON_COLOURS[draw.variation % len(BUTTON_COLOURS)]
    colours = [first, *draw.some([name for name in BUTTON_COLOURS if name != first], 2)]
    root = draw.root()
    places = [root @ at(*spot) for spot in draw.spots(3, (0.20, 0.20), 0.16)]
    draw.within_reach(*places)
    for number, (name, place) in enumerate(zip(colours, places, strict=True)):
        draw.add_all(button(f"button_{number}", place, COLOURS[name]))

    def plan(look: Look) -> Iterator[Keyframe]:
        for place in places[:count]:
            x, y, _ = place.position
            yield Keyframe(down(x, y, button_top() + 0.08), CLOSED)
            yield Keyframe(down(x, y, button_top() - 0.004), CLOSED)
            yield Keyframe(down(x, y, button_top() + 0.08), CLOSED)

    zones = [draw.add(Zone(f"over_{n}", HALF_M, at(z=button_top()), on=f"button_{n}.base")) for n in range(count)]
    words = ", then ".join(f"push the {name} button" for name in colours[:count])
    pushed = [JointMoved(f"button_{number}", FAITHFUL_M, 1) for number in range(count)]
    if draw.strict:
        down_far = (JointMoved(f"button_{number}", STRICT_M, 1) for number in range(count))
        near = (TipNear(zone.label, HALF_M[0]) for zone in zones)
        return Instance(draw.parts, words, ordered(*(all_of(*both) for both in zip(down_far, near, strict=True))), plan)
    return Instance(draw.parts, words, ordered(*pushed), plan)
