"""What a process prints, kept in a file that cannot grow without end."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import IO

LIMIT = 1 << 20  # bytes; as many again in the file of what was before
SHOWN_LINES, SHOWN_BYTES = 20, 4000


class Log:
    """A file that several may append to. It is there once something was written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> IO[bytes]:
        """To be the output of a process."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return self.path.open("ab")

    def write(self, text: str) -> None:
        with self.open() as file:
            file.write(text.encode(errors="replace"))
        self.bound()

    def bound(self) -> None:
        """Keep the newer half of what has become too much."""
        with suppress(OSError):
            if self.path.stat().st_size > LIMIT:
                with self.path.open("r+b") as file:
                    self.path.with_suffix(".old.log").write_bytes(file.read(2 * LIMIT)[-LIMIT:])
                    file.truncate(0)  # whoever has it open for appending goes on at its start

    def tail(self) -> str:
        """Its last lines."""
        try:
            with self.path.open("rb") as file:
                file.seek(max(file.seek(0, os.SEEK_END) - SHOWN_BYTES, 0))
                text = file.read(SHOWN_BYTES).decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.strip().splitlines()[-SHOWN_LINES:])

    def drop_empty(self) -> None:
        """Who said nothing leaves no file, and the last of them no folder."""
        with suppress(OSError):
            if not self.path.stat().st_size:
                self.path.unlink()
            self.path.parent.rmdir()
