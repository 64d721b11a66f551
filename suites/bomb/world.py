"""What a simulator must offer to play the tasks: the same methods, whatever the physics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.images import Image

from .edits import ImageEdit, SceneEdits
from .scene import Stone, TableState


class World(Protocol):
    """One table. `reset` forgets the episode before; snapshots are drawn at any time and reach no physics."""

    @property
    def renderer(self) -> str: ...

    def reset(self, stones: Sequence[Stone], edits: SceneEdits) -> None: ...

    def act(self, action: NDArray[np.float32]) -> None: ...

    def state(self) -> TableState: ...

    def snapshot(self) -> Any: ...

    def picture(self, snapshot: Any, camera: str) -> Image: ...

    def digest(self) -> str: ...

    def close(self) -> None: ...


def corrected(image: Image, edit: ImageEdit) -> Image:
    """The picture of a sensor with another brightness and colour balance; the very same one when both are neutral."""
    if edit == ImageEdit():
        return image
    levels = np.arange(256)[:, None] * (edit.brightness * np.asarray(edit.balance))
    table = np.rint(np.clip(levels, 0, 255)).astype(np.uint8)
    return np.stack([table[image[..., channel], channel] for channel in range(3)], axis=-1)
