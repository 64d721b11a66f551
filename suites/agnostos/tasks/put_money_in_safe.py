"""Take the banknotes from the top of an open safe and put them on the named shelf."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import aim
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, back, grasp, held_at, up
from pytest_vla.kit.predicates import In, NoneHeld, all_of
from pytest_vla.kit.solids import box, open_box, rod
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Pose, Vector, at

from ..protocol import Draw, Instance, task

STEEL: Vector = (0.36, 0.39, 0.43)
SIZE_M: Vector = (0.22, 0.30, 0.47)
SHELVES = {"bottom": 0.012, "middle": 0.165, "top": 0.318}
PITCH_RAD = 0.9


@task("seen", variations=3)
def put_money_in_safe(draw: Draw) -> Instance:
    """A safe with its door open, three shelves, and a wad of notes on top."""
    name = list(SHELVES)[draw.variation]
    root = draw.root(15, x=(0.52, 0.55), y=(-0.06, 0.06))
    x, y, z = SIZE_M
    boards = [box((x, y, 0.008), (0, 0, height - 0.004), STEEL) for height in list(SHELVES.values())[1:]]
    door = box((0.02, y, z), (-x / 2 - 0.02, y, z / 2), STEEL)
    dial = rod(0.03, (-x / 2 - 0.045, y, z * 0.6), (-x / 2 - 0.03, y, z * 0.6), (0.85, 0.75, 0.35), "cylinder")
    draw.add(Thing("safe", root, (*open_box(SIZE_M, STEEL, wall_m=0.012, open_side="front"), *boards, door, dial)))
    draw.add(Zone("shelf", (0.10, 0.10, 0.005), at(0, 0, SHELVES[name] + 0.005), on="safe"))
    wad = [
        box((0.125, 0.053, 0.032), (0, 0, 0.016), (0.45, 0.65, 0.42)),
        box((0.03, 0.054, 0.033), (0, 0, 0.016), (0.92, 0.90, 0.80)),
    ]
    place = root @ at(draw.uniform(-0.05, -0.02), draw.uniform(-0.06, 0.06), z + 0.001, draw.uniform(-0.5, 0.5))
    money = draw.add(loose("money", place, wad, Pose((-0.04, 0, 0.018), aim(0, PITCH_RAD)), movable=False))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, money)
        yield Keyframe(up(look().hand, 0.06), CLOSED)
        level = SHELVES[name] + 0.006
        yield Keyframe(held_at(look, money, root @ at(-x / 2 - 0.11, 0, z + 0.05)), CLOSED)
        yield Keyframe(held_at(look, money, root @ at(-x / 2 - 0.11, 0, level + 0.02)), CLOSED)
        goal = held_at(look, money, root @ at(-x / 2 + 0.06, 0, level))
        yield Keyframe(goal, OPEN)
        yield Keyframe(back(goal, 0.10), OPEN)

    words = f"put the money away in the safe on the {name} shelf"
    return Instance(draw.parts, words, all_of(In("money", "shelf"), NoneHeld()), plan)
