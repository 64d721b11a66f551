"""Screw the bulb from the holder of the named colour into a lamp."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, back, grasp, held_at, turned, up
from pytest_vla.kit.predicates import In, NoneHeld, all_of
from pytest_vla.kit.solids import ball, cylinder, ring
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Vector, at

from ..colours import COLOURS, NAMES, other_colours
from ..protocol import Draw, Instance, task

BRASS: Vector = (0.75, 0.60, 0.25)
SOCKET_M = 0.28
STEM_M = 0.035


@task("seen", variations=20)
def light_bulb_in(draw: Draw) -> Instance:
    """A lamp without a bulb, and two bulbs on holders of two colours."""
    colour = NAMES[draw.variation]
    colours = [colour, *other_colours(draw, 1, [colour])]
    root = draw.root(180, x=(0.20, 0.30), y=(-0.06, 0.06))
    lamp = root @ at(0.10)
    foot, post = cylinder(0.06, 0.02, (0, 0, 0.01), BRASS), cylinder(0.015, SOCKET_M, (0, 0, SOCKET_M / 2), BRASS)
    draw.add(Thing("lamp", lamp, (foot, post, *ring(0.022, 0.04, centre=(0, 0, SOCKET_M + 0.02), rgb=BRASS))))
    draw.add(Zone("socket", (0.010, 0.010, 0.0175), at(z=SOCKET_M + 0.02), on="lamp"))
    bulbs = []
    for number, (name, (x, y)) in enumerate(zip(colours, draw.spots(2, (0.06, 0.13), 0.13), strict=True)):
        place = root @ at(x - 0.10, y)
        draw.unobstructed(place, lamp)
        holder = ring(0.022, 0.03, centre=(0, 0, 0.015), rgb=COLOURS[name], wall_m=0.008)
        draw.add(Thing(f"holder_{number}", place, holder))
        glass = [
            cylinder(0.015, STEM_M, (0, 0, STEM_M / 2), (0.7, 0.7, 0.72)),
            ball(0.030, (0, 0, 0.06), (1.0, 0.97, 0.85)),
        ]
        bulbs.append(draw.add(loose(f"bulb_{number}", place @ at(z=0.001), glass, down(0, 0, 0.06), movable=False)))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, bulbs[0])
        yield Keyframe(up(look().hand, 0.35), CLOSED)
        goal = held_at(look, bulbs[0], lamp @ at(z=SOCKET_M + 0.002))
        yield Keyframe(up(goal, 0.08), CLOSED)
        yield Keyframe(goal, CLOSED)
        yield Keyframe(turned(goal, -0.8), OPEN)
        yield Keyframe(back(turned(goal, -0.8), 0.1), OPEN)

    done = all_of(In("bulb_0", "socket"), NoneHeld())
    return Instance(draw.parts, f"screw in the {colour} light bulb", done, plan)
