"""What a server takes in: who may connect from where, and how much memory unfinished messages may hold in all."""

from __future__ import annotations

import asyncio
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
DELAY_S, LONGEST_DELAY_S = 0.05, 0.5  # for each strike, and at most
FORGET_HALF_S = 10.0
MOST_ADDRESSES = 10_000
LONGEST_ARRIVAL_S = 60.0  # from the first byte of a message to its last


class Manners:
    """Who sends what is no message waits before the next connection: a flood of them costs its sender the time."""

    def __init__(self) -> None:
        self._strikes: dict[str, tuple[float, float]] = {}

    def strike(self, address: str) -> None:
        now = monotonic()
        self._strikes[address] = (self._left(address, now) + 1, now)
        if len(self._strikes) > MOST_ADDRESSES:
            del self._strikes[next(iter(self._strikes))]

    def delay(self, address: str) -> float:
        """Seconds that a new connection of this address waits."""
        return min(LONGEST_DELAY_S, DELAY_S * self._left(address, monotonic()))

    def _left(self, address: str, now: float) -> float:
        """Strikes, of which half are forgotten in a while."""
        count, since = self._strikes.get(address, (0.0, now))
        return float(count * 0.5 ** ((now - since) / FORGET_HALF_S))


class Intake:
    """Counts what connections have sent of messages that nobody could read yet; who holds most goes first."""

    def __init__(self, most: int = MOST_HELD, longest: float = LONGEST_ARRIVAL_S) -> None:
        self.most, self.longest = most, longest
        self.manners = Manners()
        self._held: dict[Connection, int] = {}
        self._since: dict[Connection, float] = {}

    def connections(self) -> type[Connection]:
        """The kind of connection that tells this intake."""
        return type("Connection", (Connection,), {"intake": self})

    async def wait(self, connection: Connection) -> None:
        """As long as the manners of its address ask for; nothing is read meanwhile."""
        delay = self.manners.delay(peer(connection))
        if delay:
            connection.transport.pause_reading()
            await asyncio.sleep(delay)
            if not connection.transport.is_closing():
                connection.transport.resume_reading()

    def arrived(self, connection: Connection, count: int) -> None:
        now = monotonic()
        self._held[connection] = self._held.get(connection, 0) + count
        slow = now - self._since.setdefault(connection, now) > self.longest
        if slow:
            self._end(connection)
        while sum(self._held.values()) > self.most:
            self._end(max(self._held, key=lambda each: self._held[each]))

    def settled(self, connection: Connection) -> None:
        """A message was complete and is read."""
        self._held.pop(connection, None)
        self._since.pop(connection, None)

    def gone(self, connection: Connection) -> None:
        if connection in self._held:  # with half of a message
            self.manners.strike(peer(connection))
        self.settled(connection)

    def _end(self, connection: Connection) -> None:
        self.manners.strike(peer(connection))
        self.settled(connection)
        connection.transport.abort()


class Connection(ServerConnection):
    """A connection that tells what arrives."""

    intake: Intake

    def data_received(self, data: bytes) -> None:
        self.intake.arrived(self, len(data))
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.intake.gone(self)
        super().connection_lost(exc)

    def __hash__(self) -> int:
        return id(self)


def peer(connection: ServerConnection) -> str:
    address = connection.remote_address
    return str(address[0]) if address else ""


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
