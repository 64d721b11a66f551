"""Stack two to four blocks of the named colour on the pad."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import Keyframe, Look, carry
from pytest_vla.kit.predicates import CountIn, NoneHeld, all_of
from pytest_vla.kit.solids import box
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import at

from ..colours import COLOURS, NAMES, other_colours
from ..protocol import Draw, Instance, task

SIDE_M = 0.05
SIZE_M = (SIDE_M, SIDE_M, SIDE_M)
GRIP = down(0, 0, 0.03)
PAD_M = 0.05


@task("seen", variations=60)
def stack_blocks(draw: Draw) -> Instance:
    """Four blocks of the colour, four of another, and a raised pad."""
    count, colour = 2 + draw.variation // len(NAMES), NAMES[draw.variation % len(NAMES)]
    other = other_colours(draw, 1, [colour])[0]
    root = draw.root(180, x=(0.20, 0.28), y=(-0.05, 0.05))
    pad, *places = (root @ at(*spot, yaw=draw.yaw()) for spot in draw.spots(9, (0.18, 0.24), 0.10))
    draw.within_reach(pad, *places)
    draw.add(Thing("pad", pad, (box((0.075, 0.075, PAD_M), (0, 0, PAD_M / 2)),), radius_m=0.06))
    blocks = [
        draw.add(loose(f"block_{number}", place, [box(SIZE_M, (0, 0, SIDE_M / 2), COLOURS[name])], GRIP, kg=0.125))
        for number, (name, place) in enumerate(zip([colour] * 4 + [other] * 4, places, strict=True))
    ]
    draw.add(Zone("column", (0.005, 0.005, 0.10), pad @ at(z=0.125)))

    def plan(look: Look) -> Iterator[Keyframe]:
        for level, block in enumerate(blocks[:count]):
            top = pad @ at(z=PAD_M + 0.002 + level * SIDE_M)
            yield from carry(look, block, top, lift_m=0.30, over_m=0.10)

    done = all_of(CountIn(tuple(block.label for block in blocks[:4]), "column", count), NoneHeld())
    return Instance(draw.parts, f"stack {count} {colour} blocks", done, plan)
