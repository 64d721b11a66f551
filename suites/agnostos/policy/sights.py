"""What the trained policy sees: each thing as a few coloured points in the room, the hand, and the words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.policies.base import Observation

from .places import points_of
from .sentences import SIZE, sentence_features

CAMERAS = ("front", "left_shoulder", "right_shoulder")
POINTS = 40  # of a thing, however many are seen
CHANNELS = 6  # x, y, z from the thing's middle (m), and its colour

Array = NDArray[np.float32]
Sight = dict[str, Any]


def sight_of(observation: Observation) -> Sight:
    """The things that are seen (their middles, points and names), the hand and the instruction."""
    middles, points, names = [], [], []
    for name, seen in _coloured(observation).items():
        low, high = seen[:, :3].min(axis=0), seen[:, :3].max(axis=0)
        middle = (low + high) / 2
        chosen = seen[np.linspace(0, len(seen) - 1, POINTS).round().astype(int)]
        chosen[:, :3] -= middle
        middles.append(middle)
        points.append(chosen)
        names.append(name)
    return {
        "middle": np.array(middles, np.float32).reshape(-1, 3),
        "points": np.array(points, np.float32).reshape(-1, POINTS, CHANNELS),
        "names": tuple(names),
        "hand": np.asarray(observation["state"]["ee"], np.float32),
        "instruction": str(observation["instruction"]),
    }


def _coloured(observation: Observation) -> dict[str, Array]:
    """For each thing that is seen its points in the room with their colours (0..1), camera after camera."""
    scan = observation["scan"]
    found: dict[str, list[Array]] = {}
    for camera in CAMERAS:
        measured, picture = scan["cameras"][camera], observation["images"][camera]
        stride = len(picture) // len(measured["mask"])
        colours = np.asarray(picture)[stride // 2 :: stride, stride // 2 :: stride].astype(np.float32) / 255
        both = np.concatenate([points_of(measured), colours], axis=-1)
        for number in np.unique(measured["mask"]):
            if number:
                found.setdefault(scan["things"][number - 1], []).append(both[measured["mask"] == number])
    return {name: np.concatenate(found[name]) for name in scan["things"] if name in found}


@cache
def words(text: str) -> Array:
    """An instruction, or a thing's name, as a vector."""
    return np.asarray(sentence_features([text.replace("_", " ").replace(".", " ")])[0], np.float32)


def collated(sights: Sequence[Mapping[str, Any]]) -> dict[str, Array]:
    """A batch of sights: rows of things padded to the longest."""
    most = max(1, *(len(sight["names"]) for sight in sights))
    size = len(sights)
    batch = {
        "middle": np.zeros((size, most, 3), np.float32),
        "points": np.zeros((size, most, POINTS, CHANNELS), np.float32),
        "names": np.zeros((size, most, SIZE), np.float32),
        "there": np.zeros((size, most), bool),
        "hand": np.stack([sight["hand"] for sight in sights]),
        "instruction": np.stack([words(sight["instruction"]) for sight in sights]),
    }
    for row, sight in enumerate(sights):
        count = len(sight["names"])
        batch["middle"][row, :count], batch["points"][row, :count] = sight["middle"], sight["points"]
        batch["there"][row, :count] = True
        for place, name in enumerate(sight["names"]):
            batch["names"][row, place] = words(name)
    return batch
