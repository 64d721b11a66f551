"""What each perturbation axis means on this table: the kit's rows, and one small function for each that is our own."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
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
from pytest_vla.kit.goals import StagedJudge
from pytest_vla.kit.layout import Spot

from .edits import SceneEdits
from .kit.elsewhere import added, bystanders, empty_bases, receivers, shift_free, shift_some, shift_together, standing
from .kit.features import first_goal, movers
from .kit.placement import NoRoom, free_spot
from .kit.prompt import ObjectImage
from .kit.scene import Instance, Look, Thing
from .objects import OBJECTS
from .tools import TOOL_START

TABLE_TEXTURES = ("wooden", "tiles", "granite", "brick", "checkerboard", "polka dot", "magma", "blue and purple stripe")
OBJECT_TEXTURES = ("plastic", "tiger", "rainbow", "granite", "red paisley", "green swirl", "checkerboard", "wooden")
OBJECT_COLOURS = {"white": "pink"}  # where the suite has no plain texture of that name
DISTRACTOR_SHAPES = ("block", "L-shaped block", "hexagon", "star", "triangle", "heart")
DISTRACTOR_TEXTURES = ("red", "green", "blue", "yellow", "purple", "orange", "cyan", "pink")
WEDGED_SHARE = 0.25  # of the way, for a thing without room
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
    """Each movable thing starts elsewhere, clear of the others; things that stand in each other go together."""
    free = [thing.label for thing in instance.things if _free(thing)]
    if not free:
        return _moved(edits, shift_together(instance.things, distance_m, rng), goals_follow=True)
    return _moved(edits, shift_free(instance.things, distance_m, rng, free))


def objects_far(edits: SceneEdits, distance_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    """The same, with the goals of what is to stay at its own place, and as far as the task leaves them free."""
    things = standing(instance.things, edits.shifts_m)
    if instance.places == "relative":
        return _moved(edits, shift_together(things, distance_m, rng), goals_follow=True)
    bound = movers(instance) if instance.places == "absolute" else ()
    free = [thing.label for thing in things if _free(thing) and thing.label not in bound]
    return _moved(edits, shift_some(things, distance_m, rng, free), goals_follow=True)


def manipulated(edits: SceneEdits, distance_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    """What is to be moved; a thing that stands in another stays in it."""
    return _moved(edits, _shift_movers(edits, distance_m, instance, rng, movers(instance)))


def receiver(edits: SceneEdits, distance_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    """What takes things up, with what stands in it; in a task without that, what stands by."""
    things, labels = standing(instance.things, edits.shifts_m), receivers(instance)
    shifts = shift_some([thing for thing in things if thing.z is None or thing.fixed], distance_m, rng, labels)
    by_spot = {thing.spot: shifts[thing.label] for thing in things if thing.fixed and thing.label in shifts}
    inside = {thing.label: by_spot[thing.spot] for thing in things if thing.z is not None and thing.spot in by_spot}
    return _moved(edits, {**shifts, **inside}, goals_follow=True)


def disturbance(edits: SceneEdits, distance_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    """The first thing to be moved, or where every action must be the right one, what stands by."""
    judge = instance.judge
    strict = isinstance(judge, StagedJudge) and judge.every_step
    pushed = bystanders(instance) if strict else {first_goal(instance)[0].label}
    return replace(edits, pushes_m=_shift_movers(edits, distance_m, instance, rng, sorted(pushed)[:1]))


def _free(thing: Thing) -> bool:
    return not thing.fixed and thing.z is None


def _moved(edits: SceneEdits, more: Mapping[str, Spot], goals_follow: bool = False) -> SceneEdits:
    follow = edits.goals_follow or goals_follow
    return replace(edits, shifts_m=added(edits.shifts_m, more), goals_follow=follow)


def _shift_movers(
    edits: SceneEdits, distance_m: float, instance: Instance, rng: Rng, labels: Collection[str]
) -> dict[str, Spot]:
    """What is wedged in between others, or stands in one, moves by a share of the way."""
    things = standing((*instance.things, *edits.distractors), edits.shifts_m)
    shifts = shift_some(things, distance_m, rng, [t.label for t in things if t.label in labels and _free(t)])
    for thing in things:
        angle = rng.uniform(0, 2 * math.pi)
        if thing.label in labels and thing.label not in shifts:
            length = WEDGED_SHARE * distance_m
            shifts[thing.label] = length * math.cos(angle), length * math.sin(angle)
    return shifts


def distractors(edits: SceneEdits, count: float, instance: Instance, rng: Rng) -> SceneEdits:
    """Further things wherever there is room; fewer when the table is full."""
    return _with_distractors(edits, round(count), instance, rng, "extra")


def distractor_place(edits: SceneEdits, number: int, instance: Instance, rng: Rng) -> SceneEdits:
    """One further thing, at the numbered of the drawn places."""
    for _ in range(number):
        edits_there = _with_distractors(edits, 1, instance, rng, "placed")
    return edits_there


def lookalikes(edits: SceneEdits, count: float, instance: Instance, rng: Rng) -> SceneEdits:
    """Further things of the shape of one that is to be moved, or where shapes say which is meant, of its texture."""
    shown = [asset.look for asset in instance.prompt.assets.values() if isinstance(asset, ObjectImage)]
    used = [*shown, *(thing.look for thing in instance.things)]
    textures = [name for name in DISTRACTOR_TEXTURES if name not in {look.texture for look in used}]
    models = [thing.look for thing in instance.things if thing.label in movers(instance)]

    def look() -> Look:
        model = models[int(rng.integers(len(models)))]
        if instance.alike == "shape":
            return Look(model.shape, textures[int(rng.integers(len(textures)))])
        profile = OBJECTS[model.shape].profile
        shapes = [name for name in DISTRACTOR_SHAPES if name not in {other.shape for other in used}]
        shapes = [name for name in shapes if OBJECTS[name].profile != profile] or shapes
        return Look(shapes[int(rng.integers(len(shapes)))], model.texture)

    more = _with_things(edits, round(count), instance, rng, "lookalike", look)
    if len(more.distractors) > len(edits.distractors):
        return more
    held = [  # no room on the table: there is some in what is empty
        Thing(f"lookalike_{number}", kind, base.spot, z=base.look.height_m + kind.height_m / 2)
        for number, base in enumerate(standing(empty_bases(instance), edits.shifts_m)[: round(count)])
        for kind in [look()]
    ]
    return replace(edits, distractors=(*edits.distractors, *held))


def _with_distractors(edits: SceneEdits, count: int, instance: Instance, rng: Rng, label: str) -> SceneEdits:
    def look() -> Look:
        shape = DISTRACTOR_SHAPES[int(rng.integers(len(DISTRACTOR_SHAPES)))]
        return Look(shape, DISTRACTOR_TEXTURES[int(rng.integers(len(DISTRACTOR_TEXTURES)))])

    return _with_things(edits, count, instance, rng, label, look)


def _with_things(
    edits: SceneEdits, count: int, instance: Instance, rng: Rng, label: str, draw_look: Callable[[], Look]
) -> SceneEdits:
    """Further things wherever there is room, as many as there is room for."""
    there = standing((*instance.things, *edits.distractors), edits.shifts_m)
    more: list[Thing] = []
    for number in range(count):
        look, yaw = draw_look(), float(rng.uniform(0, 2 * math.pi))
        try:
            spot = free_spot(rng, look, yaw, [*there, *more])
        except NoRoom:
            break
        more.append(Thing(f"{label}_{number}", look, spot, yaw))
    return replace(edits, distractors=(*edits.distractors, *more))


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
    "layout.objects_far": objects_far,
    "layout.manipulated": manipulated,
    "layout.distractors": distractors,
    "layout.distractor_place": distractor_place,
    "layout.lookalikes": lookalikes,
    "layout.receiver": receiver,
    "layout.disturbance": disturbance,
    "appearance.background": one_of(*({"background": texture} for texture in TABLE_TEXTURES)),
    **OBJECT_AXES,
    **ROBOT_AXES,
    "robot.start": start("tool_start", TOOL_START),
}
