"""Where the workers of a run leave things for each other: the run folder, as a few operations that nobody can halve.

On one machine that is the folder itself; a cluster's workers reach it through `far.py`.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

DRAFT = ".draft"


class Place(Protocol):
    """A folder. Where several try the same, one succeeds."""

    @property
    def poll_s(self) -> float:
        """How long to wait between two looks."""

    def within(self, *names: str) -> Place:
        """A folder in it."""

    def claim(self, name: str) -> bool:
        """Make an empty file; False where it is there."""

    def write(self, name: str, content: bytes) -> None:
        """All of it or nothing."""

    def read(self, name: str) -> bytes | None: ...

    def rename(self, name: str, target: str) -> bool: ...

    def remove(self, name: str) -> bool: ...

    def touch(self, name: str) -> None:
        """Leave a sign of life on a file, if it is there."""

    def age_s(self, name: str) -> float:
        """Seconds since the last sign of life; 0 where there is no such file."""

    def names(self) -> list[str]:
        """The files that are complete, in order."""


@dataclass(frozen=True)
class Folder:
    """A folder of this machine."""

    path: Path
    poll_s: float = 0.005

    def within(self, *names: str) -> Folder:
        return Folder(self.path.joinpath(*names), self.poll_s)

    def claim(self, name: str) -> bool:
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            (self.path / name).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def write(self, name: str, content: bytes) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        draft = self.path / f"{name}{DRAFT}{os.getpid()}"
        draft.write_bytes(content)
        draft.rename(self.path / name)

    def read(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def rename(self, name: str, target: str) -> bool:
        try:
            (self.path / name).rename(self.path / target)
        except FileNotFoundError:
            return False
        return True

    def remove(self, name: str) -> bool:
        try:
            (self.path / name).unlink()
        except FileNotFoundError:
            return False
        return True

    def touch(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.utime(self.path / name)

    def age_s(self, name: str) -> float:
        try:
            return time.time() - (self.path / name).stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def names(self) -> list[str]:
        with suppress(FileNotFoundError):
            return sorted(name for name in os.listdir(self.path) if DRAFT not in name)
        return []
