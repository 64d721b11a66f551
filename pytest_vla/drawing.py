"""Pictures that are drawn when somebody looks at them, and a clock of what that took: most policies need one camera."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, TypeVar

Drawn = TypeVar("Drawn")


class Clock:
    """Seconds that this process has spent on drawing: whoever is timed while something is drawn takes them off."""

    def __init__(self) -> None:
        self.seconds = 0.0


drawing = Clock()


class LazyImages(Mapping[str, Drawn]):
    """The cameras' pictures of one moment. `draw` must give the same picture whenever it is asked: from a snapshot."""

    def __init__(self, cameras: Sequence[str], draw: Callable[[str], Drawn]) -> None:
        self._cameras, self._draw = tuple(cameras), draw
        self._drawn: dict[str, Drawn] = {}

    def __getitem__(self, camera: str) -> Drawn:
        if camera not in self._drawn:
            if camera not in self._cameras:
                raise KeyError(camera)
            before, start = drawing.seconds, perf_counter()
            try:
                self._drawn[camera] = self._draw(camera)
            finally:
                drawing.seconds = before + perf_counter() - start  # one picture may be made of another
        return self._drawn[camera]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cameras)

    def __len__(self) -> int:
        return len(self._cameras)

    def __reduce__(self) -> tuple[Any, ...]:
        """What leaves the process takes its pictures along."""
        return dict, (dict(self),)
