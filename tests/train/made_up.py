"""Small demonstrations of nothing in particular."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pytest_vla.train.dataset import Packed, write_dataset
from pytest_vla.train.demonstration import Demonstration


def demonstration(index: int = 0, length: int = 3, prompt: object = None) -> Demonstration:
    rng = np.random.default_rng([index, length])
    return Demonstration(
        *("toy", "stack", "train", index, f"stack block {index % 2}"),
        images={"top": rng.integers(0, 256, (length, 8, 12, 3), np.uint8)},
        segmentation={"top": rng.integers(0, 4, (length, 8, 12), np.uint8)},
        state={"ee": rng.normal(size=(length, 2)).astype(np.float32), "grip": np.zeros((length, 1), np.float32)},
        action=rng.normal(size=(length, 3)).astype(np.float32),
        action_names=("move.0", "move.1", "grip.0"),
        prompt=prompt,
    )


def write(folder: Path, *demonstrations: Demonstration) -> Path:
    write_dataset(folder, map(Packed.of, demonstrations), fps=10)
    return folder
