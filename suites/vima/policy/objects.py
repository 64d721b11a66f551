"""Object tokens: a picture as one masked crop and one box per object, a prompt as words among such objects."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .facts import BACKDROP, CAMERA, METRES_PER_PIXEL, NOTHING_ID, TABLE_CENTRE_M

Array = NDArray[Any]

CROP_PX = 32
WORDS = 2048  # buckets of the hashed vocabulary; 0 is "no word"
WORD, OBJECT, SCENE_OBJECT = 0, 1, 2

_PARTS = re.compile(r"\{(\w+)\}|([A-Za-z0-9]+)")


@dataclass(frozen=True)
class Objects:
    """The objects of one picture: crops (n, 4, 32, 32) of colour and mask, boxes (n, 4): centre and size in metres."""

    crops: NDArray[np.uint8]
    boxes: NDArray[np.float32]
    ids: tuple[int, ...]


NOTHING = Objects(
    np.zeros((1, 4, CROP_PX, CROP_PX), np.uint8), np.array([[*TABLE_CENTRE_M, 0.0, 0.0]], np.float32), ids=(-1,)
)
"""Stands in for the objects of an empty table, so that there is something to point at."""


@dataclass(frozen=True)
class PromptTokens:
    """A prompt in reading order. `crop` is the row of `crops` that a token shows, and -1 for a word."""

    kind: NDArray[np.int64]
    word: NDArray[np.int64]
    crop: NDArray[np.int64]
    place: NDArray[np.int64]  # which part of the prompt: the objects of one picture share it
    boxes: NDArray[np.float32]
    crops: NDArray[np.uint8]


def find_objects(rgb: Array, segmentation: Array, background: Sequence[int] = BACKDROP) -> Objects:
    """One crop and box for each number of the segmentation that is not background."""
    ids = [int(i) for i in np.flatnonzero(np.bincount(segmentation.reshape(-1))) if i not in background]
    crops, boxes = np.zeros((len(ids), 4, CROP_PX, CROP_PX), np.uint8), np.zeros((len(ids), 4), np.float32)
    for row, number in enumerate(ids):
        crops[row], boxes[row] = _cut(rgb, segmentation == number)
    return Objects(crops, boxes, tuple(ids))


def read_prompt(prompt: Mapping[str, Any], hidden: Sequence[Sequence[int]] = ()) -> PromptTokens:
    """The words and objects of a prompt as a policy gets it: `{"text": ..., "assets": {name: pictures}}`.

    What stands in a hidden range of the text's characters is no token: nothing attends to it.
    """
    rows: list[tuple[int, int, int, int]] = []
    boxes: list[Array] = []
    crops: list[Array] = []
    for place, match in enumerate(_PARTS.finditer(prompt["text"])):
        name, word = match.groups()
        if any(start < match.end() and match.start() < stop for start, stop in hidden):
            continue
        if word is not None:
            rows.append((WORD, word_number(word), -1, place))
            boxes.append(np.zeros(4, np.float32))
        elif name in prompt["assets"]:
            asset = prompt["assets"][name]
            alone = asset["kind"] == "object"
            background = (NOTHING_ID,) if alone else BACKDROP
            found = find_objects(asset["rgb"][CAMERA], asset["segmentation"][CAMERA], background)
            for crop, box in zip(found.crops, found.boxes, strict=True):
                rows.append((OBJECT if alone else SCENE_OBJECT, 0, len(crops), place))
                boxes.append(box)
                crops.append(crop)
    if not rows:  # an empty prompt still has to be something to attend to
        rows, boxes = [(WORD, 0, -1, 0)], [np.zeros(4, np.float32)]
    kind, words, crop_rows, places = np.array(rows, np.int64).T
    shown = np.stack(crops) if crops else np.zeros((0, 4, CROP_PX, CROP_PX), np.uint8)
    return PromptTokens(kind, words, crop_rows, places, np.stack(boxes), shown)


def word_number(word: str) -> int:
    """The same bucket for a word in every process."""
    return 1 + zlib.crc32(word.lower().encode()) % (WORDS - 1)


def _cut(rgb: Array, mask: Array) -> tuple[Array, Array]:
    """The square around a mask, everything else black, at 32 x 32 pixels."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    middle, side = ((top + bottom) / 2, (left + right) / 2), max(bottom - top, right - left)
    steps = (np.arange(CROP_PX) + 0.5) / CROP_PX * side - side / 2
    take_rows = np.floor(middle[0] + steps).astype(int).clip(0, mask.shape[0] - 1)
    take_columns = np.floor(middle[1] + steps).astype(int).clip(0, mask.shape[1] - 1)
    square = np.ix_(take_rows, take_columns)
    shown = mask[square]
    crop = np.dstack([rgb[square] * shown[..., None], np.uint8(255) * shown])
    height, width = mask.shape
    box = (
        TABLE_CENTRE_M[0] + (middle[0] - height / 2) * METRES_PER_PIXEL,
        TABLE_CENTRE_M[1] + (middle[1] - width / 2) * METRES_PER_PIXEL,
        (bottom - top) * METRES_PER_PIXEL,
        (right - left) * METRES_PER_PIXEL,
    )
    return crop.transpose(2, 0, 1), np.array(box, np.float32)
