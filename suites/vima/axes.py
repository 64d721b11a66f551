"""What each perturbation axis means on this table: one small function from a magnitude to the suite's own edits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.perturb import COLOURS, CONTRADICTION, Perturbation, everywhere
from pytest_vla.perturb import scene_edits as apply

from .edits import NEUTRAL, SceneEdits
from .kit.placement import NoRoom, free_spot
from .kit.prompt import ObjectImage, PromptSpec
from .kit.scene import WORKSPACE_X_M, WORKSPACE_Y_M, Instance, Look, Spot, Thing
from .objects import OBJECTS

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey

    from .kit.task import Task

Rng = np.random.Generator
Function = Callable[[SceneEdits, Any, Instance, Rng], SceneEdits]

TABLE_TEXTURES = ("wooden", "tiles", "granite", "brick", "checkerboard", "polka dot", "magma", "blue and purple stripe")
OBJECT_TEXTURES = ("plastic", "tiger", "rainbow", "granite", "red paisley", "green swirl", "checkerboard", "wooden")
OBJECT_COLOURS = {"white": "pink"}  # where the suite has no plain texture of that name
DISTRACTOR_SHAPES = ("block", "L-shaped block", "hexagon", "star", "triangle", "heart")
DISTRACTOR_TEXTURES = ("red", "green", "blue", "yellow", "purple", "orange", "cyan", "pink")
TOOL_START: Spot = (0.5, 0.0)
GAP_M = 0.02
EDGE_M = 0.03
DIRECTIONS = 16
CONTRADICTION_DRAWS = 20
LEFT_OUT = ("robot.delay",)
"""An episode has two actions to spare: with later ones no task could be done."""


def axes() -> list[str]:
    """Every axis that works in this suite."""
    return [*TABLE, *(name for name in everywhere() if name not in LEFT_OUT), CONTRADICTION]


def scene_edits(episode: EpisodeKey, instance: Instance) -> SceneEdits:
    """What the key's perturbation changes on the table; NEUTRAL itself when that is nothing."""
    if not episode.perturbation:
        return NEUTRAL
    return apply(TABLE, NEUTRAL, episode, instance)


def contradicted(spec: PromptSpec, episode: EpisodeKey, task: Task, strict: bool) -> PromptSpec:
    """The prompt, or under `language.contradict` one of another episode: well-formed, and asking for something else."""
    contradicts = CONTRADICTION in episode.perturbation
    level = Perturbation.parse(episode.perturbation).level(CONTRADICTION) if contradicts else 0
    if not level:
        return spec
    for attempt in range(CONTRADICTION_DRAWS):
        stream = f"perturbation.{CONTRADICTION}.{level}.{attempt}"
        other = task.instance(episode, strict=strict, stream=stream).prompt
        if other != spec:
            return other
    raise RuntimeError(f"{episode}: no other prompt in {CONTRADICTION_DRAWS} draws")


# --- camera and light -------------------------------------------------------------------------------------------------


def camera(**changes: Callable[[Any], Any]) -> Function:
    """Set fields of the camera edit, each a function of the magnitude; zooms multiply."""

    def edit(edits: SceneEdits, magnitude: Any, instance: Instance, rng: Rng) -> SceneEdits:
        values = {name: value(magnitude) for name, value in changes.items()}
        if "zoom" in values:
            values["zoom"] *= edits.camera.zoom
        if "yaw_deg" in values:
            values["yaw_deg"] += edits.camera.yaw_deg
        return replace(edits, camera=replace(edits.camera, **values))

    return edit


def light_direction(edits: SceneEdits, turn_deg: float, instance: Instance, rng: Rng) -> SceneEdits:
    x, y, z = edits.light.direction
    cos, sin = math.cos(math.radians(turn_deg)), math.sin(math.radians(turn_deg))
    return replace(edits, light=replace(edits.light, direction=(x * cos - y * sin, x * sin + y * cos, z)))


def light_brightness(edits: SceneEdits, factor: float, instance: Instance, rng: Rng) -> SceneEdits:
    light = edits.light
    return replace(edits, light=replace(light, ambient=light.ambient * factor, diffuse=light.diffuse * factor))


def light_colour(edits: SceneEdits, share: float, instance: Instance, rng: Rng) -> SceneEdits:
    return replace(edits, light=replace(edits.light, colour=(1.0, 1 - share / 3, 1 - share)))


def light_shadow(edits: SceneEdits, share: float, instance: Instance, rng: Rng) -> SceneEdits:
    light = edits.light
    moved = light.ambient * share
    return replace(edits, light=replace(light, ambient=light.ambient - moved, diffuse=light.diffuse + moved))


def reflectivity(edits: SceneEdits, specular: float, instance: Instance, rng: Rng) -> SceneEdits:
    return replace(edits, light=replace(edits.light, specular=edits.light.specular + specular))


# --- appearance -------------------------------------------------------------------------------------------------------


def table_colour(edits: SceneEdits, name: str, instance: Instance, rng: Rng) -> SceneEdits:
    return replace(edits, table_colour=COLOURS[name])


def table_texture(edits: SceneEdits, number: int, instance: Instance, rng: Rng) -> SceneEdits:
    return replace(edits, table_texture=TABLE_TEXTURES[number - 1])


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
    """Each movable thing goes the distance in the first of its drawn directions that keeps it clear of the others."""
    spots = {thing.label: thing.spot for thing in instance.things}
    shifts: dict[str, Spot] = {}
    for thing in instance.things:
        angles = rng.uniform(0, 2 * math.pi, DIRECTIONS)
        if thing.fixed or thing.z is not None:
            continue
        others = [other for other in instance.things if other.label != thing.label]
        for angle in angles:
            dx, dy = distance_m * math.cos(angle), distance_m * math.sin(angle)
            spot = (thing.spot[0] + dx, thing.spot[1] + dy)
            if _inside(spot) and all(_clear(thing, spot, other, spots[other.label]) for other in others):
                spots[thing.label], shifts[thing.label] = spot, (dx, dy)
                break
    return replace(edits, shifts_m=shifts)


def _inside(spot: Spot) -> bool:
    (low_x, high_x), (low_y, high_y) = WORKSPACE_X_M, WORKSPACE_Y_M
    return low_x + EDGE_M < spot[0] < high_x - EDGE_M and low_y + EDGE_M < spot[1] < high_y - EDGE_M


def _clear(thing: Thing, spot: Spot, other: Thing, there: Spot) -> bool:
    """No nearer than before, or farther apart than both are large."""
    before = math.dist(thing.spot, there)
    reach = sum(math.hypot(*OBJECTS[each.look.shape].size_high[:2]) / 2 for each in (thing, other)) + GAP_M
    return math.dist(spot, there) >= min(before, reach)


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


# --- object and robot -------------------------------------------------------------------------------------------------


def field(name: str) -> Function:
    """Set a field of the edits to the magnitude itself."""
    return lambda edits, magnitude, instance, rng: replace(edits, **{name: magnitude})


def robot_start(edits: SceneEdits, distance_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    angle = rng.uniform(0, 2 * math.pi)
    x, y = TOOL_START
    return replace(edits, tool_start=(x + distance_m * math.cos(angle), y + distance_m * math.sin(angle)))


TABLE: Mapping[str, Function] = {
    "camera.shift": camera(shift_m=lambda m: (0.0, m, 0.0)),
    "camera.distance": camera(zoom=lambda times: 1 / times),
    "camera.yaw": camera(yaw_deg=float),
    "camera.orbit": camera(yaw_deg=float),
    "camera.pitch": camera(pitch_deg=float),
    "camera.fov": camera(zoom=lambda times: 1 / times),
    "light.direction": light_direction,
    "light.brightness": light_brightness,
    "light.colour": light_colour,
    "light.shadow": light_shadow,
    "appearance.table_colour": table_colour,
    "appearance.table_texture": table_texture,
    "appearance.object_colour": object_colour,
    "appearance.object_texture": object_texture,
    "appearance.reflectivity": reflectivity,
    "layout.objects": objects,
    "layout.distractors": distractors,
    "layout.distractor_place": distractor_place,
    "object.scale": field("scale"),
    "object.mass": field("mass"),
    "object.friction": field("friction"),
    "robot.start": robot_start,
}
