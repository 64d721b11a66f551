"""What each perturbation axis means on this table: the kit's rows, and one small function for each that is our own."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_vla.kit.axes import (
    BACKGROUND_AXES,
    LIGHT_AXES,
    OBJECT_AXES,
    ROBOT_AXES,
    Rng,
    Row,
    camera_axes,
    contradiction,
    one_of,
    start,
    table_axes,
)
from pytest_vla.kit.layout import Spot, distance, far_from
from pytest_vla.perturb import COLOURS, CONTRADICTION
from pytest_vla.sim.pose import Vector

from .board import CLEARANCE_M, POSITIONS, Position, spot_of
from .cameras import FRONT
from .edits import SceneEdits
from .layout import (
    added,
    blocks,
    extra_stones,
    far_places,
    lookalikes,
    shift_or_nudge,
    shifted,
    still_nearest,
)
from .rig import START_M
from .scene import Colour, Instance, Remove, Stone, labels_to_move, stone_of
from .tasks import named

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey

BOARD_AND_STONES = (
    *(("plain", "plain"), ("planks", "plain"), ("marble", "plain"), ("wood", "speckles")),
    *(("wood", "stripes"), ("plain", "speckles"), ("planks", "stripes"), ("marble", "speckles")),
)
MOST_GLOSS = 1.0
BLOCK_DRAWS = 20
_POSITION = re.compile(r"position \((\d),(\d)\)")


def contradicted(instance: Instance, episode: EpisodeKey) -> Instance:
    """The episode as the policy is told of it: under `language.contradict` something else, which can be done too."""
    level = contradiction(episode)
    if not level:
        return instance
    rng = episode.rng(f"perturbation.{CONTRADICTION}.{level}")
    if instance.picture is not None:
        return replace(instance, picture=_other_picture(instance, rng))
    if isinstance(instance.goals[0], Remove):
        return replace(instance, instruction=_other_removal(instance, rng))
    return replace(instance, instruction=_elsewhere(instance.instruction, rng))


# --- appearance -------------------------------------------------------------------------------------------------------


def stone_colour(edits: SceneEdits, name: str, instance: Instance, rng: Rng) -> SceneEdits:
    """Black and white with a tint: words still tell them apart."""
    red, green, blue = COLOURS[name]
    tints: dict[Colour, Vector] = {
        "black": (0.22 * red, 0.22 * green, 0.22 * blue),
        "white": (0.6 + 0.4 * red, 0.6 + 0.4 * green, 0.6 + 0.4 * blue),
    }
    return replace(edits, stone_colours=tints)


def reflectivity(edits: SceneEdits, gloss: float, instance: Instance, rng: Rng) -> SceneEdits:
    return replace(
        edits,
        board_gloss=min(edits.board_gloss + gloss, MOST_GLOSS),
        stone_gloss=min(edits.stone_gloss + gloss, MOST_GLOSS),
    )


# --- layout -----------------------------------------------------------------------------------------------------------


def stones(edits: SceneEdits, reach_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    return replace(edits, shifts_m=shift_or_nudge(instance, rng, reach_m))


def stones_far(edits: SceneEdits, reach_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    """As far as they should be, or as near to that as there is room beside the board."""
    more = shift_or_nudge(shifted(instance, edits.shifts_m), rng, reach_m, places=far_places)
    return replace(edits, shifts_m=added(edits.shifts_m, more))


def stones_to_move(edits: SceneEdits, reach_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    more = shift_or_nudge(shifted(instance, edits.shifts_m), rng, reach_m, only=labels_to_move(instance))
    return replace(edits, shifts_m=added(edits.shifts_m, more))


def board(edits: SceneEdits, distance_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    """Nearer or farther, with the stones that lie on it; beside it stones leave no room."""
    spots = {stone.label: stone.spot for stone in shifted(instance, edits.shifts_m).stones}
    for side in rng.permutation((-1.0, 1.0)).tolist():
        moved = (0.0, side * distance_m)
        if still_nearest(instance, spots, moved):
            on_it = [stone.label for stone in (*instance.stones, *edits.extra_stones) if not stone.beside]
            return replace(edits, board_m=moved, shifts_m=added(edits.shifts_m, dict.fromkeys(on_it, moved)))
    return edits


def pushed_stone(edits: SceneEdits, distance_m: float, instance: Instance, rng: Rng) -> SceneEdits:
    """One that is to be moved, clear of everything that lies there."""
    now = shifted(instance, edits.shifts_m)
    label = stone_of(now, now.goals[0]).label
    there = [*(stone.spot for stone in edits.extra_stones), *(block.spot for block in edits.blocks)]

    def places(start: Spot, rng: Rng, reach_m: float) -> list[Spot]:
        return [spot for spot in far_places(start, rng, reach_m) if far_from(spot, there, CLEARANCE_M)]

    return replace(edits, pushes_m=shift_or_nudge(now, rng, distance_m, only=[label], places=places))


def alike(edits: SceneEdits, count: float, instance: Instance, rng: Rng) -> SceneEdits:
    stones = (*shifted(instance, edits.shifts_m).stones, *edits.extra_stones)
    taken = [*(stone.spot for stone in stones), *(block.spot for block in edits.blocks)]
    more = lookalikes(instance, rng, round(count), taken)
    return replace(edits, blocks=(*edits.blocks, *more))


def more_stones(edits: SceneEdits, count: float, instance: Instance, rng: Rng) -> SceneEdits:
    return replace(edits, extra_stones=extra_stones(instance, rng, round(count), edits.shifts_m))


def one_block(edits: SceneEdits, number: int, instance: Instance, rng: Rng) -> SceneEdits:
    """A block at the numbered of the drawn places that are clear of further stones."""
    there = [stone.spot for stone in edits.extra_stones]
    for _ in range(number):
        for _ in range(BLOCK_DRAWS):
            found = blocks(instance, rng, 1, edits.shifts_m)
            if all(far_from(block.spot, there, CLEARANCE_M) for block in found):
                break
    return replace(edits, blocks=found)


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


TABLE: Mapping[str, Row] = {
    **camera_axes("front", FRONT),
    **LIGHT_AXES,
    **table_axes(),
    "appearance.object_colour": stone_colour,
    "appearance.object_texture": one_of(*({"board_texture": b, "stone_texture": s} for b, s in BOARD_AND_STONES)),
    "appearance.reflectivity": reflectivity,
    "layout.objects": stones,
    "layout.objects_far": stones_far,
    "layout.manipulated": stones_to_move,
    "layout.distractors": more_stones,
    "layout.distractor_place": one_block,
    "layout.lookalikes": alike,
    "layout.receiver": board,
    "layout.disturbance": pushed_stone,
    **BACKGROUND_AXES,
    **OBJECT_AXES,
    **ROBOT_AXES,
    "robot.start": start("tip_start_m", START_M, (-math.pi, 0)),  # towards the board
}
