"""What a server takes in: who may connect from where, and how much memory unfinished messages may hold in all."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from collections import deque
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from pytest_vla.policies.base import PolicyError
from pytest_vla.policies.connection import header, mask
from pytest_vla.policies.wire import MAX_MESSAGE

try:
    from websockets.asyncio.server import ServerConnection
    from websockets.frames import Frame, Opcode
    from websockets.http11 import Request
    from websockets.protocol import State
except ImportError:
    raise PolicyError('pytest-vla serve needs websockets: pip install "pytest-vla[remote]"') from None

MOST_HELD = 256 << 20  # bytes of messages that are not complete, over all connections
DELAY_S, LONGEST_DELAY_S = 0.005, 0.1  # between two new connections: for each strike of their address, and at most
LONGEST_LINE = 128  # of connections of one address that wait for their turn
FORGET_HALF_S = 10.0
TURNED_AWAY_AT_ONCE = 20
SILENT_S = 5
LONGEST_REQUEST = 16 << 10
MOST_ADDRESSES = 10_000
LONGEST_ARRIVAL_S = 60.0  # from the first bytes of a message to its last
SWEEP_S = 5.0
FIRST_BUFFER, KEPT_BUFFER = 64 << 10, 1 << 20  # bytes of a connection: to begin with, and after a message
ORIGIN = 2  # where the first frame is in the buffer: the data of a large one, behind 14 bytes, begins at a word
WHOLE = b"a message that is kept beside the frames"
WHOLE_BINARY, MASK_BYTES = 0x82, 4
SMALL_BYTES = 16 << 10  # signs of life between messages are no message that does not end


class Manners:
    """An address that sends what is no message gets its new connections one by one: a flood of them waits in line."""

    def __init__(self) -> None:
        self._strikes: dict[str, tuple[float, float]] = {}

    def strike(self, address: str) -> None:
        now = monotonic()
        self._strikes[address] = (self._left(address, now) + 1, now)
        if len(self._strikes) > MOST_ADDRESSES:
            del self._strikes[next(iter(self._strikes))]

    def delay(self, address: str) -> float:
        """Seconds between two new connections of this address."""
        return min(LONGEST_DELAY_S, DELAY_S * self._left(address, monotonic()))

    def _left(self, address: str, now: float) -> float:
        """Strikes, of which half are forgotten in a while."""
        count, since = self._strikes.get(address, (0.0, now))
        return float(count * 0.5 ** ((now - since) / FORGET_HALF_S))


class Door(socket.socket):
    """Listens, and shuts out at once, before anything is made for them, those who speak before they were answered.

    Whoever wants a WebSocket asks for it and waits; who sends a message along does not want an answer.
    """

    intake: Intake

    @classmethod
    def open(cls, host: str, port: int, intake: Intake) -> Door:
        asked = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = min(asked, key=lambda each: each[0] != socket.AF_INET)
        door = cls(family, kind, protocol)
        door.intake = intake
        if os.name == "posix":
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_DEFER_ACCEPT"):  # Linux: who has said nothing is not even shown to us
            door.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, SILENT_S)
        try:
            door.bind(address)
        except OSError:
            door.close()
            raise
        door.setblocking(False)
        return door

    def accept(self) -> tuple[socket.socket, Any]:
        for _ in range(TURNED_AWAY_AT_ONCE):
            accepted, address = super().accept()
            accepted.setblocking(False)
            if _asks(accepted) is not False:
                return accepted, address
            self.intake.manners.strike(str(address[0]))
            accepted.close()
        raise BlockingIOError  # the others are served, then this goes on


def _asks(accepted: socket.socket) -> bool | None:
    """Whether a request has come and nothing but it; None while it has not. Nothing is taken away by looking."""
    try:
        received = accepted.recv(LONGEST_REQUEST, socket.MSG_PEEK)
    except BlockingIOError:
        return None
    except OSError:
        return False
    request, end, rest = received.partition(b"\r\n\r\n")
    if end:
        return not rest
    return None if request and len(request) < LONGEST_REQUEST else False  # nothing at all: it has gone


def _look(connection: Connection) -> bool | None:
    asked = connection.transport.get_extra_info("socket")
    with socket.fromfd(asked.fileno(), asked.family, asked.type) as accepted:
        return _asks(accepted)


class Intake:
    """Counts what connections have sent of messages that nobody could read yet; who holds most goes first.

    `most` bytes in all, `longest` seconds until a message is there, `largest` bytes of one.
    """

    def __init__(self, most: int = MOST_HELD, longest: float = LONGEST_ARRIVAL_S, largest: int = MAX_MESSAGE) -> None:
        self.most, self.longest, self.largest = most, longest, largest
        self.manners = Manners()
        self._lines: dict[str, deque[Connection]] = {}
        self._total = 0
        self._held: dict[Connection, int] = {}
        self._since: dict[Connection, float] = {}

    def connections(self) -> type[Connection]:
        """The kind of connection that tells this intake."""
        return type("Connection", (Connection,), {"intake": self})

    def came(self, connection: Connection) -> None:
        """Before anything is read of a new connection: those of an address with strikes wait in line."""
        address = peer(connection)
        line, delay = self._lines.get(address), self.manners.delay(address)
        if line is None and delay < DELAY_S / 10:
            return
        connection.transport.pause_reading()
        if line is None:
            line = self._lines[address] = deque()
            connection.loop.call_later(delay, self._next_turn, address, connection.loop)
        if len(line) >= LONGEST_LINE:
            line = self._lines[address] = deque(each for each in line if self._is_waiting(each))
        if len(line) < LONGEST_LINE:
            line.append(connection)
        else:
            connection.transport.abort()

    def _next_turn(self, address: str, loop: asyncio.AbstractEventLoop) -> None:
        """Listen to the first in line that has asked; who spoke too soon or went away has no turn."""
        line, silent = self._lines.pop(address), list[Connection]()
        while line:
            connection = line.popleft()
            if not self._is_waiting(connection):
                continue
            if _look(connection) is not None:
                connection.transport.resume_reading()
                break
            silent.append(connection)
        line.extendleft(reversed(silent))
        if line:
            self._lines[address] = line
            loop.call_later(self.manners.delay(address), self._next_turn, address, loop)

    def _is_waiting(self, connection: Connection) -> bool:
        if not connection.transport.is_closing() and _look(connection) is not False:
            return True
        connection.transport.abort()
        return False

    def arrived(self, connection: Connection, count: int) -> None:
        self._held[connection] = self._held.get(connection, 0) + count
        self._total += count
        if self._held[connection] > SMALL_BYTES:
            self._since.setdefault(connection, monotonic())
        while self._total > self.most:
            self._end(max(self._held, key=lambda each: self._held[each]))

    def sweep(self) -> None:
        """End who takes too long to complete a message, also when nothing more comes."""
        now = monotonic()
        for connection in [each for each, since in self._since.items() if now - since > self.longest]:
            self._end(connection)

    async def sweeping(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            self.sweep()

    def settled(self, connection: Connection) -> None:
        """A message was complete and is read."""
        self._total -= self._held.pop(connection, 0)
        self._since.pop(connection, None)

    def gone(self, connection: Connection) -> None:
        if self._held.get(connection, 0) > SMALL_BYTES:  # with half of a message
            self.manners.strike(peer(connection))
        self.settled(connection)

    def _end(self, connection: Connection) -> None:
        self.manners.strike(peer(connection))
        self.settled(connection)
        connection.transport.abort()


class Connection(ServerConnection, asyncio.BufferedProtocol):
    """A connection that tells what arrives, and hands it on frame by frame.

    The parts of a large frame are read to where they belong: put together one by one they would be copied again and
    again. A message that is one binary frame, as nearly all are, is unmasked from there to memory of its own, which can
    be written to; any other frame is for websockets.
    """

    intake: Intake

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._buffer, self._filled = bytearray(FIRST_BUFFER), ORIGIN
        self._whole: deque[memoryview] = deque()
        self._in_parts = False  # within a message of several frames
        super().connection_made(transport)
        self.intake.came(self)

    async def next(self) -> memoryview | bytes | str:
        """The next message."""
        data = await self.recv()
        return self._whole.popleft() if data is WHOLE else data

    async def answer(self, message: bytes) -> None:
        """Send a message; straight to the socket where the last one has left."""
        if self.protocol.state is State.OPEN and not self.transport.get_write_buffer_size():
            self.transport.write(header(len(message), masked=False) + message)
        else:
            await self.send(message)

    def get_buffer(self, sizehint: int) -> memoryview:
        if len(self._buffer) - self._filled < FIRST_BUFFER // 2:
            self._buffer += bytes(len(self._buffer))
        return memoryview(self._buffer)[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self.intake.arrived(self, nbytes)
        self._filled += nbytes
        taken = ORIGIN
        with memoryview(self._buffer) as view:
            while self.protocol.state is State.OPEN:
                begin, end = next_frame(view[taken : self._filled], self.intake.largest)
                if not end:
                    break
                self._take(view[taken : taken + end], begin)
                taken += end
            else:
                self.data_received(bytes(view[taken : self._filled]))
                taken = self._filled
        if taken > ORIGIN:
            self._keep(taken)

    def _take(self, frame: memoryview, begin: int) -> None:
        """Hand on a frame whose data begins there."""
        first = frame[0]
        if begin and first == WHOLE_BINARY and not self._in_parts:
            self._whole.append(unmasked(frame[begin:], bytes(frame[begin - MASK_BYTES : begin])))
            self.process_event(Frame(Opcode.BINARY, WHOLE))
            return
        if first & 0x0F in (Opcode.CONT, Opcode.TEXT, Opcode.BINARY):
            self._in_parts = not first & 0x80
        self.data_received(bytes(frame))

    def _keep(self, begin: int) -> None:
        """What is left of the buffer from there."""
        rest = self._buffer[begin : self._filled]
        if len(self._buffer) > KEPT_BUFFER:
            self._buffer = bytearray(FIRST_BUFFER + len(rest))
        self._filled = ORIGIN + len(rest)
        self._buffer[ORIGIN : self._filled] = rest

    def connection_lost(self, exc: Exception | None) -> None:
        self.intake.gone(self)
        super().connection_lost(exc)

    def __hash__(self) -> int:
        return id(self)


def next_frame(buffer: memoryview, longest: int) -> tuple[int, int]:
    """Where the data of the first WebSocket frame begins, or 0 if it is not masked, and where it ends, or 0 if it is
    not all there; one that is too long ends with what is there, to be refused."""
    if len(buffer) < 2:
        return 0, 0
    begin, length = 2, buffer[1] & 0x7F
    if length > 125:
        begin += 2 if length == 126 else 8
        if len(buffer) < begin:
            return 0, 0
        length = int.from_bytes(buffer[2:begin], "big")
    if length > longest:
        return 0, len(buffer)
    is_masked = buffer[1] & 0x80
    begin += MASK_BYTES if is_masked else 0
    end = begin + length
    return begin if is_masked else 0, end if end <= len(buffer) else 0


def unmasked(data: memoryview, key: bytes) -> memoryview:
    """What a client masked with this key."""
    made = np.empty(len(data), np.uint8)
    mask(data, key, made)
    return made.data


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
