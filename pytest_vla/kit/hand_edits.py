"""What may be changed about a table of things under a hand, and what the scene axes mean there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

from pytest_vla.kit import axes, edits
from pytest_vla.kit.edits import IN_PLACE, CameraEdit
from pytest_vla.kit.hand import HOME
from pytest_vla.kit.hand_task import PLACES, Instance
from pytest_vla.kit.layout import distance, shift_things
from pytest_vla.kit.room import Room
from pytest_vla.kit.solids import ball, box
from pytest_vla.kit.things import Thing, things_of
from pytest_vla.perturb import COLOURS
from pytest_vla.sim.pose import Vector, at


@dataclass(frozen=True, slots=True)
class SceneEdits(edits.SceneEdits):
    """What may be changed about a table of things."""

    fixed: CameraEdit = IN_PLACE
    """Of every camera that stands."""
    table_texture: str = "plain"
    distractors: tuple[Thing, ...] = ()
    home_m: Vector | None = None


def scene_axes(room: Room) -> dict[str, axes.Row]:
    """What the scene axes mean in a room."""
    return {
        **axes.camera_axes("fixed", room.cameras[room.watched]),
        **axes.LIGHT_AXES,
        **axes.table_axes(),
        "layout.objects": partial(_shift_objects, room),
        "layout.distractors": partial(_add_distractors, room),
        **axes.OBJECT_AXES,
        # Towards the robot: home is as far out as an arm can hold the hand so high.
        "robot.start": axes.start("home_m", HOME.position, (math.pi / 2, 3 * math.pi / 2)),
    }


def _shift_objects(room: Room, edits: SceneEdits, distance_m: float, instance: Instance, rng: axes.Rng) -> SceneEdits:
    shifts = shift_things(
        things_of(instance.parts),
        distance_m,
        rng,
        movable=lambda thing: thing.movable,
        radius_m=lambda thing: thing.radius_m,
        inside=room.holds,
    )
    return replace(edits, shifts_m=shifts)


def _add_distractors(room: Room, edits: SceneEdits, count: float, instance: Instance, rng: axes.Rng) -> SceneEdits:
    """Further blocks and balls wherever there is room; fewer when the table is full."""
    there = [thing.edited(edits) for thing in things_of(instance.parts) if not thing.on]
    added: list[Thing] = []
    for number in range(round(count)):
        rgb = COLOURS[list(COLOURS)[int(rng.integers(len(COLOURS)))]]
        piece = ball(0.02, rgb=rgb) if number % 2 else box((0.04, 0.04, 0.04), rgb=rgb)
        for x, y in rng.uniform(*room.spare_m, (PLACES, 2)).tolist():
            if all(distance((x, y), other.spot) >= other.radius_m + 0.08 for other in [*there, *added]):
                added.append(Thing(f"extra_{number}", at(x, y, 0.02), (piece,), 0.05, free=True, graspable=True))
                break
    return replace(edits, distractors=tuple(added))
