"""What a simulator must offer to play the tasks, and what is done to its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from pytest_vla.kit import gantry
from pytest_vla.kit.images import Image

from .edits import ImageEdit, SceneEdits
from .scene import Stone


class World(gantry.World, Protocol):
    """One table. `reset` forgets the episode before."""

    def reset(self, stones: Sequence[Stone], edits: SceneEdits) -> None: ...


def corrected(image: Image, edit: ImageEdit) -> Image:
    """The picture of a sensor with another brightness and colour balance; the very same one when both are neutral."""
    if edit == ImageEdit():
        return image
    levels = np.arange(256)[:, None] * (edit.brightness * np.asarray(edit.balance))
    table = np.rint(np.clip(levels, 0, 255)).astype(np.uint8)
    return np.stack([table[image[..., channel], channel] for channel in range(3)], axis=-1)
