"""One connection to PyBullet."""

from __future__ import annotations

import tempfile
from typing import Any


class BulletError(Exception):
    """The simulator was asked for something it cannot do."""


class Client:
    """One PyBullet connection with a lifetime. PyBullet is imported here, when the first client is made.

    With a `window` the simulation is shown as it goes on; PyBullet has one such client in a process.
    """

    def __init__(self, *, window: bool = False) -> None:
        import pybullet

        self.p: Any = pybullet
        self.id: int = pybullet.connect(pybullet.GUI if window else pybullet.DIRECT)
        if self.id < 0:
            raise BulletError("PyBullet gave no client; a process can hold 1024, close the ones not in use")
        self.folder = tempfile.TemporaryDirectory(prefix="pytest_vla_")

    def close(self) -> None:
        """End the client; closing twice is harmless."""
        if self.id >= 0:
            self.p.disconnect(physicsClientId=self.id)
            self.id = -1
            self.folder.cleanup()
