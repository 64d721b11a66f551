"""Both ends of one connection: fixed-size control messages over a Unix socket, everything else in shared memory.

Each side owns an arena it writes to (`Outbox`) and maps the other side's (`Inbox`). A message is one header; the arena
holds an optional JSON part (what changed) and then arrays. The descriptor of a new arena rides on the header that
first uses it.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_vla.inference.memory import Arena
from pytest_vla.inference.tree import Array, size_of, write

MAX_MESSAGE = 1 << 31  # bytes in an arena: two hundred 4K images, far from any observation
FIRST_ARENA = 1 << 16  # bytes

HELLO, REQUEST, REPLY, FAILURE = range(1, 5)
NEW_ARENA, RETAINED = 1, 2  # flags
_INT = struct.Struct("i")
_ONE_DESCRIPTOR = socket.CMSG_SPACE(_INT.size)
_HEADER = struct.Struct("<BBHIQQddd")  # kind, flags, batch, number, JSON bytes, all bytes, sent, queue, compute


class ChannelError(Exception):
    """The peer broke the protocol, or asked for more memory than one message may take."""


class ChannelClosed(ChannelError):
    """The peer is gone."""


@dataclass(slots=True)
class Message:
    """One header. Times are seconds; `sent` is on the clock all processes of a machine share."""

    kind: int
    number: int = 0
    flags: int = 0
    batch: int = 0
    json_size: int = 0
    size: int = 0
    sent: float = 0.0
    queue: float = 0.0
    compute: float = 0.0


class Outbox:
    """The arena this side writes to: replaced by a larger one, or by a new one when the peer kept a view of it."""

    def __init__(self) -> None:
        self._arena: Arena | None = None
        self._is_new = False

    def put(self, message: Message, news: Any, arrays: Sequence[Array]) -> None:
        """Write the JSON part (None: nothing changed) and the arrays, and note their sizes in the message."""
        text = b"" if news is None else json.dumps(news, separators=(",", ":")).encode()
        message.json_size = len(text)
        message.size = size_of(arrays, len(text))
        if message.size > MAX_MESSAGE:
            raise ChannelError(f"{message.size} bytes are too much for one message; the limit is {MAX_MESSAGE}")
        memory = self._memory(message.size)
        if text:
            memory[: len(text)] = bytearray(text)
        write(arrays, memory, len(text))

    def retire(self) -> None:
        """The peer still looks at this arena: leave it alone and use another one from now on."""
        self._arena = None

    def send(self, sock: socket.socket, message: Message) -> None:
        fds = []
        if self._is_new and self._arena is not None:
            message.flags |= NEW_ARENA
            fds.append(self._arena.fd)
        send(sock, message, fds)
        self._is_new = False

    def _memory(self, size: int) -> Array:
        if self._arena is None or self._arena.size < size:
            self._arena = Arena.create(max(2 * size, FIRST_ARENA))
            self._is_new = True
        return self._arena.bytes()


class Inbox:
    """The peer's arena as seen from here."""

    def __init__(self) -> None:
        self._arena: Arena | None = None

    def attach(self, fd: int) -> None:
        self._arena = Arena.attach(fd)
        self._arena.close()  # the mapping is enough

    def get(self, message: Message) -> tuple[Any, Loan]:
        """The JSON part (None when nothing changed) and the memory in which arrays follow it."""
        if self._arena is None or not message.json_size <= message.size <= self._arena.size:
            raise ChannelError("a message is larger than the memory it came with")
        memory = self._arena.bytes()
        try:
            news = json.loads(memory[: message.json_size].tobytes()) if message.json_size else None
        except ValueError as error:
            raise ChannelError(f"a message cannot be read: {error}") from None
        return news, Loan(memory)


class Loan:
    """The peer's memory while a message is handled. A policy that keeps a view of it keeps the arena: nothing is
    copied to be safe, the peer is told to write its next message somewhere else."""

    __slots__ = ("memory",)

    def __init__(self, memory: Array) -> None:
        self.memory = memory

    def is_retained(self) -> bool:
        """Whether anybody else still holds a view."""
        return self._references() > _ALONE

    def _references(self) -> int:
        return sys.getrefcount(self.memory)


_ALONE = Loan(np.empty(0, np.uint8))._references()


def send(sock: socket.socket, message: Message, fds: Sequence[int] = ()) -> None:
    data = _HEADER.pack(
        message.kind,
        message.flags,
        message.batch,
        message.number,
        message.json_size,
        message.size,
        message.sent,
        message.queue,
        message.compute,
    )
    try:
        sent = socket.send_fds(sock, [data], list(fds)) if fds else sock.send(data)
    except (BrokenPipeError, ConnectionResetError):
        raise ChannelClosed("the peer is gone") from None
    if sent != len(data):
        raise ChannelError("the peer does not read its messages")


def receive(sock: socket.socket) -> tuple[Message, int | None]:
    """The next message and the descriptor that came with it, if any."""
    try:
        data, extra, _, _ = sock.recvmsg(_HEADER.size, _ONE_DESCRIPTOR)
    except ConnectionResetError:
        raise ChannelClosed("the peer is gone") from None
    fd = _INT.unpack_from(extra[0][2])[0] if extra else None
    if not data:
        raise ChannelClosed("the peer is gone")
    if len(data) != _HEADER.size:
        raise ChannelError(f"a message of {len(data)} bytes instead of {_HEADER.size}")
    kind, flags, batch, number, json_size, size, sent, queue, compute = _HEADER.unpack(data)
    if bool(flags & NEW_ARENA) != (fd is not None):
        raise ChannelError("a message and its descriptor do not belong together")
    return Message(kind, number, flags, batch, json_size, size, sent, queue, compute), fd
