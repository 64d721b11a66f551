"""What earlier hunts found, in a Hypothesis example database: it is tried first the next time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.hunt.search import HuntError

if TYPE_CHECKING:
    from pytest_vla.hunt.items import HuntKey

FOLDER = Path(".vla-hunts")


@dataclass(frozen=True)
class Ledger:
    """The finds of one task and partition, whatever the policy: what broke one is a test for the next."""

    database: Any
    key: bytes

    @classmethod
    def open(cls, folder: str | None, root: Path, hunt: HuntKey) -> Ledger:
        return cls(open_database(root / (folder or FOLDER)), "/".join(("pytest-vla", *hunt.name)).encode())

    def finds(self) -> list[str]:
        return sorted(value.decode() for value in self.database.fetch(self.key))

    def update(self, before: Sequence[str], now: Sequence[str]) -> None:
        """Keep what was found now; drop what was tried again and is no cause any more."""
        for text in set(before) - set(now):
            self.database.delete(self.key, text.encode())
        for text in now:
            self.database.save(self.key, text.encode())


def open_database(folder: Path) -> Any:
    try:
        from hypothesis.database import DirectoryBasedExampleDatabase
    except ImportError:
        raise HuntError('hunts need Hypothesis: pip install "pytest-vla[hunt]"') from None
    return DirectoryBasedExampleDatabase(folder)
