"""What each partition changes: the six perturbation groups of the benchmark, each alone and all at once.

The ranges stand here and nowhere else. Every group draws from a stream of its own, so the group alone and the group
among all others are the same change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit.edits import CameraEdit
from pytest_vla.sim.view import vector

from .edits import NEUTRAL, ImageEdit, SceneEdits
from .layout import extra_stones, shift_stones
from .scene import Instance
from .textures import TABLE_TEXTURES

UNPERTURBED, PERTURBED = "unperturbed", "perturbed"

TABLE_RGB = (0.15, 0.9)
GLOSS = (0.3, 1.0)
EXTRA_STONES = (1, 4)
BRIGHTNESS = (0.6, 1.4)
BALANCE = (0.8, 1.2)
YAW_DEG = PITCH_DEG = 10.0
ROLL_DEG = 6.0
FOV_DEG = 6.0
SHIFT_M = 0.02
WRIST_SHARE = 0.5  # of these ranges, for the camera that is close to everything

Group = Callable[[SceneEdits, Instance, np.random.Generator], SceneEdits]


def table(edits: SceneEdits, instance: Instance, rng: np.random.Generator) -> SceneEdits:
    """Colour and texture of the table."""
    names = [name for name in TABLE_TEXTURES if name != NEUTRAL.table_texture]
    texture = names[int(rng.integers(len(names)))]
    return replace(edits, table_colour=vector(rng.uniform(*TABLE_RGB, 3)), table_texture=texture)


def reflectivity(edits: SceneEdits, instance: Instance, rng: np.random.Generator) -> SceneEdits:
    """How much board and stones shine."""
    board, stone = (float(v) for v in rng.uniform(*GLOSS, 2))
    return replace(edits, board_gloss=board, stone_gloss=stone)


def stones(edits: SceneEdits, instance: Instance, rng: np.random.Generator) -> SceneEdits:
    """Number and layout of the stones that have no part in the task."""
    count = int(rng.integers(EXTRA_STONES[0], EXTRA_STONES[1] + 1))
    return replace(edits, extra_stones=extra_stones(instance, rng, count, edits.shifts_m))


def start(edits: SceneEdits, instance: Instance, rng: np.random.Generator) -> SceneEdits:
    """Where the stones beside the board start: anywhere there."""
    return replace(edits, shifts_m=shift_stones(instance, rng))


def colour(edits: SceneEdits, instance: Instance, rng: np.random.Generator) -> SceneEdits:
    """Colour balance and brightness of the images."""
    return replace(edits, image=ImageEdit(float(rng.uniform(*BRIGHTNESS)), vector(rng.uniform(*BALANCE, 3))))


def camera(edits: SceneEdits, instance: Instance, rng: np.random.Generator) -> SceneEdits:
    """Angle, place and field of view of both cameras."""
    return replace(edits, front=_camera(rng, 1.0), wrist=_camera(rng, WRIST_SHARE))


# Start comes before stones: further stones are put where the others leave room.
GROUPS: Mapping[str, Group] = {
    "table": table,
    "reflectivity": reflectivity,
    "start": start,
    "stones": stones,
    "colour": colour,
    "camera": camera,
}
PARTITIONS = (UNPERTURBED, *GROUPS, PERTURBED)


def draw_edits(episode: EpisodeKey, instance: Instance) -> SceneEdits:
    """The change that an episode's partition makes to it."""
    key = replace(episode, suite="bomb", partition=PERTURBED)  # the same draw in both simulators
    chosen = GROUPS if episode.partition == PERTURBED else [name for name in GROUPS if name == episode.partition]
    edits = NEUTRAL
    for name in chosen:
        edits = GROUPS[name](edits, instance, key.rng(f"perturbation.{name}"))
    return edits


def _camera(rng: np.random.Generator, share: float) -> CameraEdit:
    yaw, pitch, roll, fov, *shift = rng.uniform(-1, 1, 7) * share
    return CameraEdit(
        float(yaw * YAW_DEG), float(pitch * PITCH_DEG), float(roll * ROLL_DEG),
        vector(np.asarray(shift) * SHIFT_M), float(fov * FOV_DEG),
    )  # fmt: skip
