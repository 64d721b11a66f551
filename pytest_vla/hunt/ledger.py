"""What earlier hunts found, in a Hypothesis example database: the very episodes are tried first the next time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_vla.hunt.mark import WITHOUT_HYPOTHESIS
from pytest_vla.hunt.outcome import Find, HuntError
from pytest_vla.hunt.space import Space
from pytest_vla.perturb import Perturbation, PerturbationError

FOLDER = Path(".vla-hunts")


def find_text(index: int, perturbation: str) -> str:
    """A find as it is kept: the index of the scene that showed it, and what was off."""
    return f"{index} {perturbation}"


def read_find(text: str, space: Space) -> Find | None:
    """A find that was kept, in this space; None when it has axes that are not hunted now.

    Older ones have no scene.
    """
    index, _, perturbation = text.rpartition(" ")
    try:
        levels = Perturbation.parse(perturbation)
    except PerturbationError:
        return None
    if not all(name in space.axes for name, _ in levels.levels):
        return None
    return Find(space.point(levels), int(index) if index.isdecimal() else None)


@dataclass(frozen=True)
class Ledger:
    """The finds of one task and partition, whatever the policy: what broke one is a test for the next."""

    database: Any
    key: bytes

    @classmethod
    def open(cls, folder: str | None, root: Path, hunt: str) -> Ledger:
        """That of a hunt, by its name."""
        return cls(open_database(root / (folder or FOLDER)), f"pytest-vla/{hunt}".encode())

    def finds(self) -> list[str]:
        return sorted(value.decode() for value in self.database.fetch(self.key))

    def update(self, mended: Sequence[str], found: Sequence[str]) -> None:
        """Keep what was found, and drop what was tried again and solved: nothing else."""
        for text in mended:
            self.database.delete(self.key, text.encode())
        for text in found:
            self.database.save(self.key, text.encode())


def open_database(folder: Path) -> Any:
    try:
        from hypothesis.database import DirectoryBasedExampleDatabase
    except ImportError:
        raise HuntError(WITHOUT_HYPOTHESIS) from None
    return DirectoryBasedExampleDatabase(folder)
