"""What a server takes in: who may connect from where, and how much memory unfinished messages may hold in all."""

from __future__ import annotations

import ipaddress
from time import monotonic
from urllib.parse import urlsplit

from pytest_vla.policies.base import PolicyError

try:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request
except ImportError:
    raise PolicyError('pytest-vla serve needs websockets: pip install "pytest-vla[remote]"') from None

MOST_HELD = 256 << 20  # bytes of messages that are not complete, over all connections
LONGEST_ARRIVAL_S = 60.0  # from the first byte of a message to its last


class Intake:
    """Counts what connections have sent of messages that nobody could read yet; who holds most goes first."""

    def __init__(self, most: int = MOST_HELD, longest: float = LONGEST_ARRIVAL_S) -> None:
        self.most, self.longest = most, longest
        self._held: dict[Connection, int] = {}
        self._since: dict[Connection, float] = {}

    def connections(self) -> type[Connection]:
        """The kind of connection that tells this intake."""
        return type("Connection", (Connection,), {"intake": self})

    def arrived(self, connection: Connection, count: int) -> None:
        now = monotonic()
        self._held[connection] = self._held.get(connection, 0) + count
        slow = now - self._since.setdefault(connection, now) > self.longest
        if slow:
            self._end(connection)
        while sum(self._held.values()) > self.most:
            self._end(max(self._held, key=lambda each: self._held[each]))

    def settled(self, connection: Connection) -> None:
        """A message was complete and is read, or the connection is gone."""
        self._held.pop(connection, None)
        self._since.pop(connection, None)

    def _end(self, connection: Connection) -> None:
        self.settled(connection)
        connection.transport.abort()


class Connection(ServerConnection):
    """A connection that tells what arrives."""

    intake: Intake

    def data_received(self, data: bytes) -> None:
        self.intake.arrived(self, len(data))
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.intake.settled(self)
        super().connection_lost(exc)

    def __hash__(self) -> int:
        return id(self)


def is_foreign(request: Request, host: str) -> str | None:
    """Why a request does not come from a program that was given this address: from a page of a browser, say.

    A page of any site may open a WebSocket to this machine: its browser says from where (`Origin`). One whose own name
    was made to lead here says that name (`Host`).
    """
    if request.headers.get_all("Origin"):
        return "requests of web pages are not served"
    names = [urlsplit(f"//{text}").hostname or "" for text in request.headers.get_all("Host")]
    strange = [name for name in names if not (name in (host.strip("[]"), "localhost") or _is_address(name))]
    return f"this server is not called {strange[0][:100]!r}" if strange else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
