"""Pictures that are drawn when somebody looks at them: most policies need one camera, an oracle none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


Drawn = TypeVar("Drawn")


class LazyImages(Mapping[str, Drawn]):
    """The cameras' pictures of one moment. `draw` must give the same picture whenever it is asked: from a snapshot."""

    def __init__(self, cameras: Sequence[str], draw: Callable[[str], Drawn]) -> None:
        self._cameras, self._draw = tuple(cameras), draw
        self._drawn: dict[str, Drawn] = {}

    def __getitem__(self, camera: str) -> Drawn:
        if camera not in self._drawn:
            if camera not in self._cameras:
                raise KeyError(camera)
            self._drawn[camera] = self._draw(camera)
        return self._drawn[camera]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cameras)

    def __len__(self) -> int:
        return len(self._cameras)

    def __reduce__(self) -> tuple[Any, ...]:
        """What leaves the process takes its pictures along."""
        return dict, (dict(self),)
