"""Put the lid on the jar of the named colour and give it a turn."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, grasp, held_at, turned, up
from pytest_vla.kit.predicates import In, NoneHeld, all_of
from pytest_vla.kit.solids import box, cup, cylinder
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import at

from ..colours import COLOURS, NAMES, other_colours
from ..protocol import Draw, Instance, task

HEIGHT_M = 0.10


@task("seen", variations=20)
def close_jar(draw: Draw) -> Instance:
    """Two open jars and one lid."""
    colour = NAMES[draw.variation]
    colours = [colour, *other_colours(draw, 1, [colour])]
    root = draw.root()
    *places, lid_place = (root @ at(*spot) for spot in draw.spots(3, (0.15, 0.15), 0.13))
    draw.within_reach(*places, lid_place)
    for number, (name, place) in enumerate(zip(colours, places, strict=True)):
        draw.add(Thing(f"jar_{number}", place, cup(0.034, HEIGHT_M, COLOURS[name]), radius_m=0.05))
    pieces = [cylinder(0.037, 0.016, (0, 0, 0.008), (0.75, 0.75, 0.78)), box((0.05, 0.02, 0.018), (0, 0, 0.025))]
    lid = draw.add(loose("lid", lid_place, pieces, down(0, 0, 0.022)))
    draw.add(Zone("rim", (0.025, 0.025, 0.010), at(z=HEIGHT_M + 0.010), on="jar_0"))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, lid)
        yield Keyframe(up(look().hand, 0.20), CLOSED)
        goal = held_at(look, lid, places[0] @ at(z=HEIGHT_M + 0.001))
        yield Keyframe(up(goal, 0.08), CLOSED)
        yield Keyframe(goal, CLOSED)
        yield Keyframe(turned(goal, -0.8), OPEN)

    return Instance(draw.parts, f"close the {colour} jar", all_of(In("lid", "rim"), NoneHeld()), plan)
