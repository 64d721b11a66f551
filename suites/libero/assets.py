"""The asset files that tasks need, and whether a folder holds the published ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Check:
    """How a folder compares with the published files; names in the order of the list."""

    count: int
    absent: tuple[str, ...]
    different: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Of what is other than published: runs on different files do not pair."""
        return hashlib.blake2b("\n".join((*self.absent, "", *self.different)).encode(), digest_size=4).hexdigest()


@cache
def tasks() -> Mapping[str, tuple[str, ...]]:
    """The tasks of every partition, in the original's order."""
    return {name: tuple(found) for name, found in json.loads((_DATA / "tasks.json").read_text("utf-8")).items()}


def instruction(task: str) -> str:
    """What a policy is told: the task's name in words, as the original's evaluation has it.

    The `language` inside the bddl file says it differently in 29 of 130 tasks ("Pick the akita black bowl ...").
    """
    words = task.split("_")
    if "SCENE" in task:  # LIVING_ROOM_SCENE2_put_...
        words = words[next(number for number, word in enumerate(words) if word.startswith("SCENE")) + 1 :]
    return " ".join(words)


@cache
def needed(partitions: Iterable[str]) -> Mapping[str, str]:
    """The sha256 of every file that these partitions need."""
    numbers = {number for number, name in enumerate(tasks_order()) if name in set(partitions)}
    listed = json.loads((_DATA / "assets.json").read_text("utf-8"))
    return {name: digest for name, (digest, users) in listed.items() if numbers.intersection(users)}


def tasks_order() -> tuple[str, ...]:
    """The partitions as the list of assets numbers them."""
    return tuple(tasks())


@cache
def check(folder: Path, partitions: tuple[str, ...]) -> Check:
    """Compare a folder with the published files of these partitions: 220 MB for the four usual ones, once a process."""
    files = needed(partitions)
    absent = tuple(name for name in files if not (folder / name).is_file())
    different = tuple(name for name, digest in files.items() if name not in absent and _sha256(folder / name) != digest)
    return Check(len(files), absent, different)


@cache
def lacking(folder: Path, partition: str) -> str | None:
    """The first file without which a partition's scenes cannot be made; textures of floors and walls have stand-ins."""
    files = (name for name in needed((partition,)) if not name.startswith("textures/"))
    return next((name for name in files if not (folder / name).is_file()), None)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
