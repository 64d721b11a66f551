"""The driver's run folder and ledger, for hunts whose workers are on other machines: a few operations over a socket.

A connection says the token first and is nobody's otherwise; no name leads out of the folders that hunts share.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
import socket
import socketserver
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from time import monotonic
from typing import Any, Protocol

from pytest_vla.hunt.outcome import HuntError
from pytest_vla.hunt.place import Folder

GREETING_S = 10.0  # for all of it
MOST_STRANGERS = 32  # connections that have not said the token: who waited longest goes first
LONGEST_LINE = 64 << 20  # bytes: the largest are pictures
POLL_S = 0.05  # between two looks of one of many workers


class Ledger(Protocol):
    """What earlier hunts found in one task and partition."""

    def finds(self) -> list[str]: ...

    def update(self, mended: Sequence[str], found: Sequence[str]) -> None: ...


@dataclass(frozen=True)
class Door:
    """Where the driver listens, and what it wants to hear."""

    host: str
    port: int
    token: str


# --- on the driver ----------------------------------------------------------------------------------------------------


class Service:
    """Answers for a folder, in which hunts share these rooms, and for the ledger."""

    def __init__(self, folder: Folder, rooms: Sequence[str], ledger: Callable[[str], Ledger], address: str) -> None:
        self._folder, self._rooms, self._ledger = folder, rooms, ledger
        self._strangers = Strangers()
        token = secrets.token_hex(32)
        service = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with suppress(OSError, ValueError, TypeError, AttributeError):
                    if service._strangers.says(self.connection, f"{token}\n".encode()):
                        service._serve(self)

        self._server = socketserver.ThreadingTCPServer((address, 0), Handler, bind_and_activate=True)
        self._server.daemon_threads = True
        self.door = Door(address, self._server.server_address[1], token)
        threading.Thread(target=self._server.serve_forever, name="vla-hunts", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, handler: socketserver.StreamRequestHandler) -> None:
        while line := handler.rfile.readline(LONGEST_LINE):
            try:
                answer = {"value": self._done(*json.loads(line))}
            except Exception as error:  # whatever it was, the worker is to know
                answer = {"error": f"{type(error).__name__}: {error}"}
            handler.wfile.write(json.dumps(answer).encode() + b"\n")

    def _done(self, operation: str, where: list[str], *arguments: Any) -> Any:
        if operation in ("finds", "update"):
            return getattr(self._ledger(where[0]), operation)(*arguments)
        if operation not in _OPERATIONS or not where or where[0] not in self._rooms:
            raise HuntError(f"{operation} in {where} is nothing that hunts do")
        files = [] if operation == "names" else arguments[: 2 if operation == "rename" else 1]
        for name in (*where, *files):
            if not isinstance(name, str) or PurePath(name).name != name or name in ("", ".."):
                raise HuntError(f"{name!r} is no name of a file")
        return _OPERATIONS[operation](self._folder.within(*where), *arguments)


class Strangers:
    """Connections that have yet to say the token: a few, and not for long, whoever else knocks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[socket.socket, None] = {}  # in the order in which they came

    def says(self, connection: socket.socket, wanted: bytes) -> bool:
        """Whether it says that, in time and before too many others came."""
        with self._lock:
            self._waiting[connection] = None
            if len(self._waiting) > MOST_STRANGERS:
                first = next(iter(self._waiting))
                with suppress(OSError):
                    first.shutdown(socket.SHUT_RDWR)
                del self._waiting[first]
        try:
            return hmac.compare_digest(_heard(connection, len(wanted), GREETING_S), wanted)
        finally:
            with self._lock:
                self._waiting.pop(connection, None)


def _heard(connection: socket.socket, size: int, seconds: float) -> bytes:
    """The first line that is said in that time, or as much of it as may be said."""
    deadline, heard = monotonic() + seconds, b""
    while len(heard) < size and b"\n" not in heard and (left := deadline - monotonic()) > 0:
        connection.settimeout(left)
        more = connection.recv(size - len(heard))
        if not more:
            break
        heard += more
    connection.settimeout(None)
    return heard


def _write(folder: Folder, name: str, content: str) -> None:
    folder.write(name, base64.b64decode(content))


def _read(folder: Folder, name: str) -> str | None:
    content = folder.read(name)
    return None if content is None else base64.b64encode(content).decode()


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "claim": Folder.claim,
    "write": _write,
    "read": _read,
    "rename": Folder.rename,
    "remove": Folder.remove,
    "touch": Folder.touch,
    "age_s": Folder.age_s,
    "names": Folder.names,
}


# --- on a worker ------------------------------------------------------------------------------------------------------


class Line:
    """A worker's connection to the driver, one question at a time."""

    def __init__(self, door: Door) -> None:
        self._lock = threading.Lock()
        try:
            self._socket = socket.create_connection((door.host, door.port), GREETING_S)
            self._socket.settimeout(None)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(f"{door.token}\n".encode())
        except OSError as error:
            raise HuntError(f"the driver of this hunt cannot be reached: {error}") from None
        self._answers = self._socket.makefile("rb")

    def ask(self, *words: Any) -> Any:
        try:
            with self._lock:
                self._socket.sendall(json.dumps(words).encode() + b"\n")
                line = self._answers.readline()
        except OSError as error:
            raise HuntError(f"the driver of this hunt is gone: {error}") from None
        if not line:
            raise HuntError("the driver of this hunt is gone")
        answer = json.loads(line)
        if "error" in answer:
            raise HuntError(f"the driver of this hunt says: {answer['error']}")
        return answer["value"]

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


@dataclass(frozen=True)
class FarFolder:
    """A folder of the driver."""

    line: Line
    where: tuple[str, ...] = ()
    poll_s: float = POLL_S

    def within(self, *names: str) -> FarFolder:
        return FarFolder(self.line, (*self.where, *names), self.poll_s)

    def claim(self, name: str) -> bool:
        return bool(self._ask("claim", name))

    def write(self, name: str, content: bytes) -> None:
        self._ask("write", name, base64.b64encode(content).decode())

    def read(self, name: str) -> bytes | None:
        content = self._ask("read", name)
        return None if content is None else base64.b64decode(content)

    def rename(self, name: str, target: str) -> bool:
        return bool(self._ask("rename", name, target))

    def remove(self, name: str) -> bool:
        return bool(self._ask("remove", name))

    def touch(self, name: str) -> None:
        self._ask("touch", name)

    def age_s(self, name: str) -> float:
        return float(self._ask("age_s", name))

    def names(self) -> list[str]:
        return [str(name) for name in self._ask("names")]

    def _ask(self, operation: str, *arguments: str) -> Any:
        return self.line.ask(operation, self.where, *arguments)


@dataclass(frozen=True)
class FarLedger:
    """The driver's ledger, of one task and partition."""

    line: Line
    hunt: str

    def finds(self) -> list[str]:
        return [str(find) for find in self.line.ask("finds", [self.hunt])]

    def update(self, mended: Sequence[str], found: Sequence[str]) -> None:
        self.line.ask("update", [self.hunt], list(mended), list(found))
