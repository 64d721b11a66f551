"""A worker's place on a node: an actor that waits for the driver's relay, once, and starts the worker for it."""

from __future__ import annotations

import ctypes
import hmac
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

GREETING_S = 10.0
"""How long a connection may take to show its token."""
LONGEST_GREETING = 64 << 10


class Seat:
    """Lives as long as its worker; what the driver tells all workers is in files of its folder."""

    def __init__(self, files: dict[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pytest-vla-seat-"))
        self.process: subprocess.Popen[bytes] | None = None
        for name, text in files.items():
            self.write(name, text)

    def address(self) -> str:
        """The address that Ray has of this node."""
        import ray

        return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]

    def open(self, address: str) -> dict[str, Any]:
        """Listen on the address that Ray has of this node, and on no other; for one connection with this token."""
        token = secrets.token_hex(32)
        door = socket.create_server((address, 0), backlog=4)
        threading.Thread(target=self._serve, args=(door, token), daemon=True).start()
        host, port = door.getsockname()[:2]
        return {"host": host, "port": port, "token": token, "process": os.getpid()}

    def write(self, name: str, text: str) -> None:
        """Complete or absent: the worker must not read half of it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)

    def worker(self) -> int | None:
        """The process of the worker."""
        return self.process.pid if self.process is not None else None

    def _serve(self, door: socket.socket, token: str) -> None:
        """Nobody gets in without the token, and nobody after the first with it."""
        arguments = None
        while arguments is None:
            connection, _ = door.accept()
            arguments = _greeted(connection, token)
            if arguments is None:
                connection.close()
        door.close()
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            self.process = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=connection.fileno(),
                stdout=connection.fileno(),
                env={**os.environ, "PYTEST_VLA_SEAT": str(self.folder)},
                preexec_fn=_end_with_parent,
            )
        self.process.wait()  # this thread made the worker, which would end with it
        shutil.rmtree(self.folder, ignore_errors=True)  # the driver hears of it by the connection, and ends this seat


def _greeted(connection: socket.socket, token: str) -> list[str] | None:
    """What the relay wants to be run, if it knows the token. Read byte by byte: what follows is for the worker."""
    connection.settimeout(GREETING_S)
    line = b""
    with suppress(OSError, ValueError, TypeError, KeyError):
        while not line.endswith(b"\n") and len(line) < LONGEST_GREETING:
            line += connection.recv(1) or b"\n"
        greeting = json.loads(line)
        if hmac.compare_digest(str(greeting["token"]), token):
            return [str(argument) for argument in greeting["arguments"]]
    return None


def _end_with_parent() -> None:
    """Linux: when the actor is killed, so is its worker. Elsewhere it ends when its connection does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
