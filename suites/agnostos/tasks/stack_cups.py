"""Stack two cups inside the cup of the named colour."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import Keyframe, Look, carry
from pytest_vla.kit.predicates import NoneHeld, all_in, all_of
from pytest_vla.kit.solids import cup
from pytest_vla.kit.things import Zone, loose
from pytest_vla.sim.pose import at

from ..colours import COLOURS, NAMES, other_colours
from ..protocol import Draw, Instance, task

HEIGHT_M, RADIUS_M, FLARE_M, RISE_M = 0.11, 0.038, 0.018, 0.032
GRIP = down(RADIUS_M + FLARE_M / 2, 0, HEIGHT_M - 0.008, math.pi / 2)


@task("seen", variations=20)
def stack_cups(draw: Draw) -> Instance:
    """Three cups that fit into each other."""
    colour = NAMES[draw.variation]
    colours = [colour, *other_colours(draw, 2, [colour])]
    root = draw.root(180)
    places = [root @ at(*spot) for spot in draw.spots(3, (0.14, 0.20), 0.16)]
    draw.within_reach(*places)
    cups = [
        draw.add(
            loose(
                f"cup_{number}",
                place,
                cup(RADIUS_M, HEIGHT_M, COLOURS[name], wall_m=0.003, flare_m=FLARE_M),
                GRIP,
                kg=0.05,
            )
        )
        for number, (name, place) in enumerate(zip(colours, places, strict=True))
    ]
    draw.add(Zone("core", (0.02, 0.05), at(z=0.06), "cylinder", on="cup_0"))

    def plan(look: Look) -> Iterator[Keyframe]:
        for number, one in enumerate(cups[1:], 1):
            base = look().pose("cup_0")
            turns = [base @ at(z=number * RISE_M, yaw=n * math.pi / 5) for n in range(10)]
            yield from carry(look, one, *turns, lift_m=0.22, over_m=0.14)

    done = all_of(all_in(["cup_1", "cup_2"], "core"), NoneHeld())
    return Instance(draw.parts, f"stack the other cups on top of the {colour} cup", done, plan)
