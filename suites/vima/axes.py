"""What each perturbation axis means on this table: the kit's rows, and one small function for each that is our own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from pytest_vla.kit.axes import (
    LIGHT_AXES,
    OBJECT_AXES,
    ROBOT_AXES,
    Rng,
    Row,
    adds,
    one_of,
    start,
    table_axes,
    whole,
)
from pytest_vla.kit.layout import Spot, shift_things

from .edits import SceneEdits
from .kit.placement import NoRoom, free_spot
from .kit.prompt import ObjectImage
from .kit.scene import WORKSPACE_X_M, WORKSPACE_Y_M, Instance, Look, Thing
from .objects import OBJECTS
from .tools import TOOL_START

TABLE_TEXTURES = ("wooden", "tiles", "granite", "brick", "checkerboard", "polka dot", "magma", "blue and purple stripe")
OBJECT_TEXTURES = ("plastic", "tiger", "rainbow", "granite", "red paisley", "green swirl", "checkerboard", "wooden")
OBJECT_COLOURS = {"white": "pink"}  # where the suite has no plain texture of that name
DISTRACTOR_SHAPES = ("block", "L-shaped block", "hexagon", "star", "triangle", "heart")
DISTRACTOR_TEXTURES = ("red", "green", "blue", "yellow", "purple", "orange", "cyan", "pink")
EDGE_M = 0.03
LEFT_OUT = ("robot.delay",)
"""An episode has two actions to spare: with later ones no task could be done."""


# --- camera -----------------------------------------------------------------------------------------------------------


def zoomed_out(edits: SceneEdits, times: float, instance: Instance, rng: Rng) -> SceneEdits:
    """Cameras a kilometre away see the same from farther off and through a wider lens."""
    return replace(edits, camera=replace(edits.camera, zoom=1 / times * edits.camera.zoom))


# --- appearance -------------------------------------------------------------------------------------------------------


def object_colour(edits: SceneEdits, name: str, instance: Instance, rng: Rng) -> SceneEdits:
    return _painted(edits, OBJECT_COLOURS.get(name, name), instance)


def object_texture(edits: SceneEdits, number: int, instance: Instance, rng: Rng) -> SceneEdits:
    return _painted(edits, OBJECT_TEXTURES[number - 1], instance)


def _painted(edits: SceneEdits, texture: str, instance: Instance) -> SceneEdits:
    """Things that the prompt does not show, or where it shows all of them, those that never move: names stay true."""
    shown = {asset.look.kind for asset in instance.prompt.assets.values() if isinstance(asset, ObjectImage)}
    unnamed = [thing for thing in instance.things if thing.look.kind not in shown]
    chosen = unnamed or [thing for thing in instance.things if thing.fixed] or list(instance.things)
    return replace(edits, object_textures={**edits.object_textures, **{thing.label: texture for thing in chosen}})


# --- layout -----------------------------------------------------------------------------------------------------------


def objects(edits: SceneEdits, distance_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    """Each movable thing starts elsewhere, clear of the others."""
    shifts = shift_things(
        instance.things,
        distance_m,
        rng,
        movable=lambda thing: not thing.fixed and thing.z is None,
        radius_m=lambda thing: math.hypot(*OBJECTS[thing.look.shape].size_high[:2]) / 2,
        inside=_inside,
    )
    return replace(edits, shifts_m=shifts)


def _inside(spot: Spot) -> bool:
    (low_x, high_x), (low_y, high_y) = WORKSPACE_X_M, WORKSPACE_Y_M
    return low_x + EDGE_M < spot[0] < high_x - EDGE_M and low_y + EDGE_M < spot[1] < high_y - EDGE_M


def distractors(edits: SceneEdits, count: float, instance: Instance, rng: Rng) -> SceneEdits:
    """Further things wherever there is room; fewer when the table is full."""
    return _with_distractors(edits, round(count), instance, rng, "extra")


def distractor_place(edits: SceneEdits, number: int, instance: Instance, rng: Rng) -> SceneEdits:
    """One further thing, at the numbered of the drawn places."""
    for _ in range(number):
        edits_there = _with_distractors(edits, 1, instance, rng, "placed")
    return edits_there


def _with_distractors(edits: SceneEdits, count: int, instance: Instance, rng: Rng, label: str) -> SceneEdits:
    shift = edits.shifts_m
    there = [
        replace(thing, spot=(thing.spot[0] + dx, thing.spot[1] + dy))
        for thing in (*instance.things, *edits.distractors)
        for dx, dy in [shift.get(thing.label, (0.0, 0.0))]
    ]
    added: list[Thing] = []
    for number in range(count):
        shape = DISTRACTOR_SHAPES[int(rng.integers(len(DISTRACTOR_SHAPES)))]
        look = Look(shape, DISTRACTOR_TEXTURES[int(rng.integers(len(DISTRACTOR_TEXTURES)))])
        yaw = float(rng.uniform(0, 2 * math.pi))
        try:
            spot = free_spot(rng, look, yaw, [*there, *added])
        except NoRoom:
            break
        added.append(Thing(f"{label}_{number}", look, spot, yaw))
    return replace(edits, distractors=(*edits.distractors, *added))


TABLE: Mapping[str, Row] = {
    "camera.shift": adds("camera", shift_m=lambda m: (0.0, m, 0.0)),
    "camera.distance": zoomed_out,
    "camera.yaw": adds("camera", yaw_deg=float),
    "camera.orbit": adds("camera", yaw_deg=float),
    "camera.pitch": adds("camera", pitch_deg=float),
    "camera.fov": zoomed_out,
    **LIGHT_AXES,
    **table_axes([{"table_texture": texture} for texture in TABLE_TEXTURES]),
    "appearance.object_colour": object_colour,
    "appearance.object_texture": object_texture,
    "appearance.reflectivity": whole("specular"),
    "layout.objects": objects,
    "layout.distractors": distractors,
    "layout.distractor_place": distractor_place,
    "appearance.background": one_of(*({"background": texture} for texture in TABLE_TEXTURES)),
    **OBJECT_AXES,
    **ROBOT_AXES,
    "robot.start": start("tool_start", TOOL_START),
}
