"""What the visuomotor policy sees and learns from: the table from above, words as numbers, demonstrations in halves.

A demonstration is cut into half moves: all actions until the gripper has closed (or opened) and is up again. The place
where a half closes or opens the gripper is known in hindsight from its own actions, and is what the policy learns to
point at.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .facts import BOARD_M, CAMERA, FRONT, GRIPPER, HEIGHT, TABLE_M

if TYPE_CHECKING:
    from pytest_vla.train.demonstration import Demonstration

Array = NDArray[Any]
Floats = NDArray[np.float64]

CHUNK = 16  # actions; the longest half move of the oracle has 14
PIXEL_M = 0.0025
COLUMNS, ROWS = (round(side / PIXEL_M) for side in TABLE_M)  # of the table seen from above
PICTURE = int(BOARD_M / PIXEL_M)  # pixels across the board in that view
TOKENS = 56
WORDS = 1024  # buckets that words are hashed into; 0 is "no word"
HIDDEN = -1  # a word that keeps its place and gets no attention
UP_M = 0.03  # a hand above this is clear of the stones
PICK, RELEASE, REST = 0, 1, 2  # what the hand goes for in a half move


@dataclass(frozen=True, slots=True)
class Half:
    """One half move: the steps from `start` to `stop`, what it is for, and where."""

    start: int
    stop: int
    kind: int
    spot: Array


def halves(action: Array) -> list[Half]:
    """A demonstration's actions (steps, 4) cut into half moves; after the last one it rests."""
    found, start = [], 0
    while start < len(action):
        stop = _half_end(action, start)
        changes = np.flatnonzero(np.diff(action[start:stop, GRIPPER]) != 0)
        kind = REST if not changes.size else PICK if action[start, GRIPPER] > 0.5 else RELEASE
        at = start + int(changes[0]) + 1 if changes.size else start
        found.append(Half(start, stop, kind, action[at, :2]))
        start = stop
    return found


def _half_end(action: Array, start: int) -> int:
    """The first step after `start` by which the gripper has changed, is up again, and turns to something else."""
    for step in range(start + 1, len(action)):
        before, now = action[step - 1], action[step]
        if before[GRIPPER] != action[start, GRIPPER] and before[HEIGHT] > UP_M and np.abs(now - before).max() > 1e-3:
            return step
    return len(action)


def chunk_of(action: Array, start: int, stop: int) -> Array:
    """The next `CHUNK` actions of a half move, the last one held."""
    return action[np.minimum(np.arange(start, start + CHUNK), stop - 1)]


def is_held(ee: Array) -> bool:
    """Whether the fingers are as far apart as a stone is wide."""
    return bool(0.3 < ee[GRIPPER] < 0.85)


def tokens_of(instruction: str, hidden: Sequence[Sequence[int]] = ()) -> NDArray[np.int64]:
    """Words, digits and signs as bucket numbers, cut or padded to `TOKENS`; HIDDEN in hidden ranges of characters."""
    numbers = np.zeros(TOKENS, np.int64)
    for place, word in enumerate(islice(re.finditer(r"[a-z]+|[0-9]|[^\sa-z0-9]", instruction.lower()), TOKENS)):
        shown = not any(start < word.end() and word.start() < stop for start, stop in hidden)
        numbers[place] = 1 + zlib.crc32(word[0].encode()) % (WORDS - 1) if shown else HIDDEN
    return numbers


def seen_from_above(image: Array) -> NDArray[np.uint8]:
    """The front camera's picture of the table plane, as it would look from straight above."""
    rows, columns = _table_pixels()
    return _sample(image, rows * image.shape[0] - 0.5, columns * image.shape[1] - 0.5)


def picture_of(prompt: Mapping[str, Any] | None) -> NDArray[np.uint8]:
    """The prompt's picture of the board at the same scale; black where there is none."""
    picture = ((prompt or {}).get("images") or {}).get("picture")
    if picture is None:
        return np.zeros((PICTURE, PICTURE, 3), np.uint8)
    image = np.asarray(picture)
    line = ((np.arange(PICTURE) + 0.5 - PICTURE / 2) * PIXEL_M / BOARD_M + 0.5) * image.shape[0] - 0.5
    return _sample(image, *np.meshgrid(line, line, indexing="ij"))


@lru_cache(1)
def _table_pixels() -> tuple[Floats, Floats]:
    """Where each pixel of the view from above is in the front camera's picture, in shares of its height and width."""
    x = (np.arange(COLUMNS) + 0.5 - COLUMNS / 2) * PIXEL_M
    y = (ROWS / 2 - np.arange(ROWS) - 0.5) * PIXEL_M
    points = np.stack(np.broadcast_arrays(x, y[:, None], 0.0), axis=-1)
    away = points - FRONT.position
    scale = 0.5 / math.tan(math.radians(FRONT.fovy_deg) / 2) / (away @ FRONT.forward)
    return 0.5 - scale * (away @ FRONT.up), 0.5 + scale * (away @ FRONT.right)


def _sample(image: Array, rows: Floats, columns: Floats) -> NDArray[np.uint8]:
    """The image at fractional places, from the four pixels around each."""
    top = np.clip(np.floor(rows).astype(int), 0, image.shape[0] - 2)
    left = np.clip(np.floor(columns).astype(int), 0, image.shape[1] - 2)
    down, right = np.clip(rows - top, 0, 1)[..., None], np.clip(columns - left, 0, 1)[..., None]
    upper = image[top, left] * (1 - right) + image[top, left + 1] * right
    lower = image[top + 1, left] * (1 - right) + image[top + 1, left + 1] * right
    sampled: NDArray[np.uint8] = (upper * (1 - down) + lower * down + 0.5).astype(np.uint8)
    return sampled


def observed(
    image: Array, ee: Array, moves: int, instruction: str, picture: Array, hidden: Sequence[Sequence[int]] = ()
) -> dict[str, Array]:
    """The network's input for one observation; `moves` counts the stones put down so far in this episode."""
    return {
        "image": seen_from_above(image),
        "picture": picture,
        "tokens": tokens_of(instruction, hidden),
        "ee": np.asarray(ee, np.float32),
        "moves": np.asarray(moves, np.int64),
    }


def examples_of(demonstration: Demonstration) -> Iterator[dict[str, Array]]:
    """What was seen whenever the policy would have looked, what came next, where, and the actions until it looks again.

    It looks at the start of each half move, and again a chunk later if that half still goes on. More looks at a hand
    that rests would teach nothing new.
    """
    picture, action = picture_of(demonstration.prompt), np.asarray(demonstration.action)
    cut = halves(action)
    moves = 0
    for index, half in enumerate(cut):
        following = next((later for later in cut[index:] if later.kind == RELEASE), half)
        for step in range(half.start, half.stop, CHUNK)[:2]:
            image, ee = demonstration.images[CAMERA][step], demonstration.state["ee"][step]
            yield observed(image, ee, moves, demonstration.instruction, picture) | {
                "kind": np.asarray(half.kind, np.int64),
                "spot": half.spot.astype(np.float32),
                "release": following.spot.astype(np.float32),
                "chunk": chunk_of(action, step, half.stop).astype(np.float32),
            }
        moves += half.kind == RELEASE
