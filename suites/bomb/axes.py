"""What each perturbation axis means on this table: one small function from a magnitude to the suite's own edits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.perturb import COLOURS, CONTRADICTION, Perturbation, everywhere
from pytest_vla.perturb import scene_edits as apply

from .board import POSITIONS, Position, distance, far_from, spot_of
from .cameras import FRONT
from .edits import SceneEdits
from .layout import blocks, extra_stones, shift_stones
from .rig import START_M
from .scene import Colour, Instance, Remove, Stone, Vector
from .tasks import named

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey

Rng = np.random.Generator
Function = Callable[[SceneEdits, Any, Instance, Rng], SceneEdits]

TABLE_LOOKS: tuple[tuple[str, Vector | None], ...] = (
    *((name, None) for name in ("felt", "wood", "planks", "marble", "stripes", "checker")),
    ("marble", (0.80, 0.72, 0.62)),
    ("stripes", (0.35, 0.45, 0.65)),
)
BOARD_AND_STONES = (
    *(("plain", "plain"), ("planks", "plain"), ("marble", "plain"), ("wood", "speckles")),
    *(("wood", "stripes"), ("plain", "speckles"), ("planks", "stripes"), ("marble", "speckles")),
)
MOST_GLOSS = 1.0
BLOCK_DRAWS = 20
_POSITION = re.compile(r"position \((\d),(\d)\)")


def axes() -> list[str]:
    """Every axis that works in this suite."""
    return [*TABLE, *everywhere(), CONTRADICTION]


def scene_edits(edits: SceneEdits, episode: EpisodeKey, instance: Instance) -> SceneEdits:
    """The partition's own edits with the key's perturbation on top; the very same ones when there is none."""
    return apply(TABLE, edits, episode, instance) if episode.perturbation else edits


def contradicted(instance: Instance, episode: EpisodeKey) -> Instance:
    """The episode as the policy is told of it: under `language.contradict` something else, which can be done too."""
    level = Perturbation.parse(episode.perturbation).level(CONTRADICTION) if episode.perturbation else 0
    if not level:
        return instance
    rng = episode.rng(f"perturbation.{CONTRADICTION}.{level}")
    if instance.picture is not None:
        return replace(instance, picture=_other_picture(instance, rng))
    if isinstance(instance.goals[0], Remove):
        return replace(instance, instruction=_other_removal(instance, rng))
    return replace(instance, instruction=_elsewhere(instance.instruction, rng))


# --- camera and light -------------------------------------------------------------------------------------------------


def front(**changes: Callable[[Any], Any]) -> Function:
    """Add to fields of the front camera's edit, each a function of the magnitude."""

    def edit(edits: SceneEdits, magnitude: Any, instance: Instance, rng: Rng) -> SceneEdits:
        values = {name: _sum(getattr(edits.front, name), change(magnitude)) for name, change in changes.items()}
        return replace(edits, front=replace(edits.front, **values))

    return edit


def light(**changes: Callable[[Any], Any]) -> Function:
    """Set fields of the light's edit, each a function of the magnitude."""

    def edit(edits: SceneEdits, magnitude: Any, instance: Instance, rng: Rng) -> SceneEdits:
        return replace(edits, light=replace(edits.light, **{name: value(magnitude) for name, value in changes.items()}))

    return edit


def _sum(before: Any, added: Any) -> Any:
    if isinstance(before, tuple):
        return tuple(a + b for a, b in zip(before, added, strict=True))
    return before + added


# --- appearance -------------------------------------------------------------------------------------------------------


def table_colour(edits: SceneEdits, name: str, instance: Instance, rng: Rng) -> SceneEdits:
    return replace(edits, table_colour=COLOURS[name])


def table_texture(edits: SceneEdits, number: int, instance: Instance, rng: Rng) -> SceneEdits:
    texture, colour = TABLE_LOOKS[number - 1]
    return replace(edits, table_texture=texture, table_colour=colour or edits.table_colour)


def stone_colour(edits: SceneEdits, name: str, instance: Instance, rng: Rng) -> SceneEdits:
    """Black and white with a tint: words still tell them apart."""
    red, green, blue = COLOURS[name]
    tints: dict[Colour, Vector] = {
        "black": (0.22 * red, 0.22 * green, 0.22 * blue),
        "white": (0.6 + 0.4 * red, 0.6 + 0.4 * green, 0.6 + 0.4 * blue),
    }
    return replace(edits, stone_colours=tints)


def board_and_stones(edits: SceneEdits, number: int, instance: Instance, rng: Rng) -> SceneEdits:
    board, stone = BOARD_AND_STONES[number - 1]
    return replace(edits, board_texture=board, stone_texture=stone)


def reflectivity(edits: SceneEdits, gloss: float, instance: Instance, rng: Rng) -> SceneEdits:
    return replace(
        edits,
        board_gloss=min(edits.board_gloss + gloss, MOST_GLOSS),
        stone_gloss=min(edits.stone_gloss + gloss, MOST_GLOSS),
    )


# --- layout -----------------------------------------------------------------------------------------------------------


def stones(edits: SceneEdits, reach_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    return replace(edits, shifts_m=shift_stones(instance, rng, reach_m))


def more_stones(edits: SceneEdits, count: float, instance: Instance, rng: Rng) -> SceneEdits:
    return replace(edits, extra_stones=extra_stones(instance, rng, round(count), edits.shifts_m))


def one_block(edits: SceneEdits, number: int, instance: Instance, rng: Rng) -> SceneEdits:
    """A block at the numbered of the drawn places that are clear of further stones."""
    there = [stone.spot for stone in edits.extra_stones]
    for _ in range(number):
        for _ in range(BLOCK_DRAWS):
            found = blocks(instance, rng, 1, edits.shifts_m)
            if all(far_from(block.spot, there) for block in found):
                break
    return replace(edits, blocks=found)


# --- object and robot -------------------------------------------------------------------------------------------------


def field(name: str) -> Function:
    """Set a field of the edits to the magnitude itself."""
    return lambda edits, magnitude, instance, rng: replace(edits, **{name: magnitude})


def start(edits: SceneEdits, distance_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    """Towards the board, in a direction of its own."""
    angle = rng.uniform(-math.pi, 0)
    x, y, z = START_M
    return replace(edits, tip_start_m=(x + distance_m * math.cos(angle), y + distance_m * math.sin(angle), z))


# --- contradictions ---------------------------------------------------------------------------------------------------


def _elsewhere(instruction: str, rng: Rng) -> str:
    """The same request for other intersections; the same one where it was named twice."""
    old = [(int(row), int(column)) for row, column in _POSITION.findall(instruction)]
    free = [position for position in POSITIONS if position not in old]
    moved = {position: free[i] for position, i in zip(dict.fromkeys(old), rng.permutation(len(free)), strict=False)}
    return _POSITION.sub(lambda found: named(moved[int(found[1]), int(found[2])]), instruction)


def _other_removal(instance: Instance, rng: Rng) -> str:
    """Another stone on the board is to be removed."""
    goal = instance.goals[0]
    assert isinstance(goal, Remove)
    others = [stone for stone in instance.stones if not stone.beside and stone.label != goal.label]
    stone = others[int(rng.integers(len(others)))]
    return f"remove the {stone.colour} stone at {named(_position(stone))}"


def _other_picture(instance: Instance, rng: Rng) -> dict[Position, Colour]:
    """The stones that lie there, and the missing ones in other places."""
    assert instance.picture is not None
    lying = {_position(stone): stone.colour for stone in instance.stones if not stone.beside}
    missing = [colour for position, colour in instance.picture.items() if position not in lying]
    free = [position for position in POSITIONS if position not in instance.picture]
    places = [free[i] for i in rng.permutation(len(free))[: len(missing)]]
    return {**lying, **dict(zip(places, missing, strict=True))}


def _position(stone: Stone) -> Position:
    return min(POSITIONS, key=lambda position: distance(spot_of(position), stone.spot))


TABLE: Mapping[str, Function] = {
    "camera.shift": front(shift_m=lambda m: (m, 0.0, 0.0)),
    "camera.lift": front(shift_m=lambda m: (0.0, 0.0, m)),
    "camera.distance": front(shift_m=lambda times: tuple((times - 1) * value for value in FRONT.position)),
    "camera.yaw": front(yaw_deg=float),
    "camera.orbit": front(yaw_deg=float),
    "camera.pitch": front(pitch_deg=float),
    "camera.roll": front(roll_deg=float),
    "camera.fov": front(fov_deg=lambda times: (times - 1) * FRONT.fovy_deg),
    "light.direction": light(azimuth_deg=float),
    "light.brightness": light(brightness=float),
    "light.colour": light(colour=lambda share: (1.0, 1 - share / 3, 1 - share)),
    "light.shadow": light(shadow=float),
    "appearance.table_colour": table_colour,
    "appearance.table_texture": table_texture,
    "appearance.object_colour": stone_colour,
    "appearance.object_texture": board_and_stones,
    "appearance.reflectivity": reflectivity,
    "layout.objects": stones,
    "layout.distractors": more_stones,
    "layout.distractor_place": one_block,
    "object.scale": field("scale"),
    "object.mass": field("mass"),
    "object.friction": field("friction"),
    "robot.start": start,
}
