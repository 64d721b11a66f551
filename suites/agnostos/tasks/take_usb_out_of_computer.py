"""Pull a USB stick out of a computer and let go of it."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import OPEN, Keyframe, Look, grasp, up
from pytest_vla.kit.predicates import Held, NoneHeld, NotIn, all_of, ordered
from pytest_vla.kit.solids import box, cylinder, frame, moved, shown
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Vector, at

from ..protocol import Draw, Instance, task

CASE: Vector = (0.20, 0.21, 0.24)
GRILLE: Vector = (0.09, 0.09, 0.11)
STEEL: Vector = (0.75, 0.76, 0.78)
STICK: Vector = (0.15, 0.45, 0.85)
TOWER_M: Vector = (0.30, 0.14, 0.24)
HOLE_M, DEEP_M = (0.018, 0.010), 0.016


@task("unseen_level2")
def take_usb_out_of_computer(draw: Draw) -> Instance:
    """A computer's tower with a stick in the port on its top."""
    root = draw.root(x=(0.20, 0.32))
    x, _, z = TOWER_M
    port = at(-x / 2 + 0.05, 0, z)
    front = [
        box((0.002, 0.11, 0.02), (-x / 2, 0, z - 0.03), STEEL),
        *(box((0.002, 0.11, 0.006), (-x / 2, 0, 0.03 + 0.014 * n), GRILLE) for n in range(9)),
        cylinder(0.009, 0.003, (-x / 2 + 0.05, 0.045, z), (0.10, 0.80, 0.35)),
        *(box((0.10, 0.006, 0.002), (0.05, 0.014 * n, z), GRILLE) for n in range(-3, 4)),
    ]
    socket = moved(frame(HOLE_M, DEEP_M, STEEL, wall_m=0.006), x=port.position[0], z=z)
    draw.add(Thing("computer", root, (box(TOWER_M, (0, 0, z / 2), CASE), *socket, *shown(*front))))
    draw.add(Zone("port", (0.008, 0.004, DEEP_M / 2 - 0.001), root @ port @ at(z=DEEP_M / 2)))
    pieces = [box((0.016, 0.008, DEEP_M), (0, 0, -DEEP_M / 2), STEEL), box((0.024, 0.014, 0.05), (0, 0, 0.025), STICK)]
    usb = draw.add(loose("usb", root @ port @ at(z=DEEP_M + 0.0005), pieces, down(0, 0, 0.03), kg=0.02, movable=False))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, usb)
        yield Keyframe(up(look().hand, 0.08), OPEN)

    out = all_of(NotIn("usb", "port"), NoneHeld())
    taken = ordered(all_of(Held("usb"), NotIn("usb", "port")), out)  # not only knocked out
    return Instance(draw.parts, "take usb out of computer", taken if draw.strict else out, plan)
