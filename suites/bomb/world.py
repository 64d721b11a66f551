"""What a simulator must offer to play the tasks: the same methods, whatever the physics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .cameras import CAMERAS
from .edits import ImageEdit, SceneEdits
from .scene import Stone, TableState

Image = NDArray[np.uint8]


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


class Images(Mapping[str, Image]):
    """The cameras' pictures of one moment, each drawn when somebody first looks at it, the same whenever that is."""

    def __init__(self, world: World, edit: ImageEdit) -> None:
        self._world, self._edit, self._snapshot = world, edit, world.snapshot()
        self._drawn: dict[str, Image] = {}

    def __getitem__(self, camera: str) -> Image:
        if camera not in self._drawn:
            if camera not in CAMERAS:
                raise KeyError(camera)
            self._drawn[camera] = corrected(self._world.picture(self._snapshot, camera), self._edit)
        return self._drawn[camera]

    def __iter__(self) -> Iterator[str]:
        return iter(CAMERAS)

    def __len__(self) -> int:
        return len(CAMERAS)

    def __reduce__(self) -> tuple[Any, ...]:
        """What leaves the process takes its pictures along."""
        return dict, (dict(self),)


def corrected(image: Image, edit: ImageEdit) -> Image:
    """The picture of a sensor with another brightness and colour balance; the very same one when both are neutral."""
    if edit == ImageEdit():
        return image
    levels = np.arange(256)[:, None] * (edit.brightness * np.asarray(edit.balance))
    table = np.rint(np.clip(levels, 0, 255)).astype(np.uint8)
    return np.stack([table[image[..., channel], channel] for channel in range(3)], axis=-1)
