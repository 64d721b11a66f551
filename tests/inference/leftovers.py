"""What a run may leave behind and must not: processes and named shared memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def children() -> set[int]:
    """Processes whose parent is this one, dead ones that nobody waited for included."""
    found = set()
    for folder in _processes():
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.add(int(folder.name))
    return found


def running_in(folder: Path) -> dict[int, str]:
    """Command lines of other processes that work in a folder."""
    found = {}
    for process in _processes():
        try:
            if os.readlink(process / "cwd") == str(folder) and int(process.name) != os.getpid():
                found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return found


def shared_memory() -> set[str]:
    return set(os.listdir("/dev/shm"))


def _processes() -> Iterator[Path]:
    return (folder for folder in Path("/proc").iterdir() if folder.name.isdigit())
