"""Put the named one of nine groceries into an open cupboard."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import aim
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, back, grasp, held_at, up
from pytest_vla.kit.predicates import In, NoneHeld, all_of
from pytest_vla.kit.solids import Piece, box, cylinder, open_box
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Pose, Vector, at

from ..protocol import Draw, Instance, task

WOOD: Vector = (0.72, 0.53, 0.34)
PITCH_RAD = 0.75
ITEMS: dict[str, tuple[Piece, ...]] = {
    "crackers": (
        box((0.04, 0.06, 0.09), (0, 0, 0.045), (0.80, 0.15, 0.12)),
        box((0.041, 0.04, 0.03), (0, 0, 0.06), (0.95, 0.85, 0.4)),
    ),
    "chocolate jello": (box((0.03, 0.06, 0.05), (0, 0, 0.025), (0.30, 0.17, 0.09)),),
    "strawberry jello": (box((0.03, 0.06, 0.05), (0, 0, 0.025), (0.95, 0.35, 0.45)),),
    "soup": (
        cylinder(0.026, 0.07, (0, 0, 0.035), (0.85, 0.15, 0.10)),
        cylinder(0.0265, 0.02, (0, 0, 0.05), (0.95, 0.95, 0.9)),
    ),
    "tuna": (cylinder(0.033, 0.03, (0, 0, 0.015), (0.20, 0.45, 0.75)),),
    "spam": (
        box((0.04, 0.065, 0.05), (0, 0, 0.025), (0.10, 0.25, 0.60)),
        box((0.041, 0.05, 0.015), (0, 0, 0.03), (0.95, 0.80, 0.15)),
    ),
    "coffee": (
        cylinder(0.032, 0.08, (0, 0, 0.04), (0.10, 0.25, 0.18)),
        cylinder(0.033, 0.01, (0, 0, 0.085), (0.85, 0.75, 0.5)),
    ),
    "mustard": (
        cylinder(0.022, 0.08, (0, 0, 0.04), (0.95, 0.80, 0.10)),
        cylinder(0.010, 0.025, (0, 0, 0.0925), (0.8, 0.6, 0.1)),
    ),
    "sugar": (
        box((0.04, 0.06, 0.09), (0, 0, 0.045), (0.95, 0.95, 0.92)),
        box((0.041, 0.05, 0.02), (0, 0, 0.05), (0.20, 0.45, 0.80)),
    ),
}
SIZE_M: Vector = (0.22, 0.40, 0.44)


@task("seen", variations=9)
def put_groceries_in_cupboard(draw: Draw) -> Instance:
    """A cupboard with two shelves, and groceries in a row before it."""
    name = list(ITEMS)[draw.variation]
    root = draw.root(12, x=(0.50, 0.54), y=(-0.06, 0.06))
    shelf = box((SIZE_M[0], SIZE_M[1], 0.012), (0, 0, 0.22), WOOD)
    draw.add(Thing("cupboard", root, (*open_box(SIZE_M, WOOD, wall_m=0.012, open_side="front"), shelf)))
    draw.add(Zone("inside", (0.09, 0.18, 0.09), at(0.01, 0, 0.11), on="cupboard"))
    order = draw.some(list(ITEMS), len(ITEMS))
    things = {}
    for number, item in enumerate(order):
        place = at(0.17 + draw.uniform(-0.015, 0.015), (number - 4) * 0.095 + draw.uniform(-0.005, 0.005))
        top = max(piece.pose.position[2] + piece.half_m[-1] for piece in ITEMS[item])
        grip = Pose((0, 0, min(top - 0.012, 0.05)), aim(0, PITCH_RAD))
        things[item] = draw.add(loose(item, place, ITEMS[item], grip, movable=False))
    target = things[name]

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, target)
        yield Keyframe(up(look().hand, 0.14), CLOSED)
        inside = root @ at(-SIZE_M[0] / 2 + 0.05, 0, 0.016)
        goal = held_at(look, target, inside)
        yield Keyframe(up(held_at(look, target, root @ at(-SIZE_M[0] / 2 - 0.10, 0, 0.016)), 0.01), CLOSED)
        yield Keyframe(goal, OPEN)
        yield Keyframe(back(goal, 0.10), OPEN)

    return Instance(draw.parts, f"put the {name} in the cupboard", all_of(In(name, "inside"), NoneHeld()), plan)
