"""Memory two processes share and nobody can leak: it has no name, so it is gone when the last of them is."""

from __future__ import annotations

import mmap
import os
import tempfile

import numpy as np

from pytest_vla.tree import Array

PAGE = mmap.PAGESIZE


class Arena:
    """A block of anonymous shared memory, known by a file descriptor that can be sent over a Unix socket."""

    def __init__(self, fd: int, size: int) -> None:
        self.fd = fd
        self.size = size
        populate = getattr(mmap, "MAP_POPULATE", 0)  # no page fault in the middle of an episode
        self.buffer = mmap.mmap(fd, size, flags=mmap.MAP_SHARED | populate)

    @classmethod
    def create(cls, size: int) -> Arena:
        size = max(-(-size // PAGE), 1) * PAGE
        fd = _anonymous_file()
        os.ftruncate(fd, size)
        return cls(fd, size)

    @classmethod
    def attach(cls, fd: int) -> Arena:
        """The arena behind a received descriptor, which it owns from now on."""
        return cls(fd, os.fstat(fd).st_size)

    def bytes(self, start: int = 0) -> Array:
        """The memory from `start` as a fresh array of bytes. The arena lives on while a view of it does."""
        return np.frombuffer(self.buffer, np.uint8, offset=start)

    def close(self) -> None:
        """Give the descriptor back; the mapping goes with its last view."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __del__(self) -> None:
        self.close()


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("pytest-vla", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile(prefix="pytest-vla") as file:  # unlinked from the start
        return os.dup(file.fileno())
