"""Both ends of one connection: fixed-size control messages over a Unix socket, everything else in shared memory.

Each side owns an arena it writes to (`Outbox`) and maps the other side's (`Inbox`). A message is one header; the arena
holds an optional JSON part (what changed) and then arrays. The descriptor of a new arena rides on the header that
first uses it. While nothing changes, a request is one copy of its arrays: its header is in the arena too, and a bell is
rung; so is a reply.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_vla.inference.memory import Arena
from pytest_vla.tree import Array, Form, Layout, Skeleton, size_of, write

MAX_MESSAGE = 1 << 31  # bytes in an arena: two hundred 4K images, far from any observation
FIRST_ARENA = 1 << 16  # bytes

HELLO, REQUEST, REPLY, FAILURE, PATIENCE = range(1, 6)  # patience: what takes so long does not count
DESCRIPTOR, RETAINED = 1, 2  # flags; the descriptors are of two bells in a HELLO, that of a new arena elsewhere
_INT = struct.Struct("i")
_HEADER = struct.Struct("<BBHIQQddd")  # kind, flags, batch, number, JSON bytes, all bytes, sent, queue, compute
_NUMBER = 3  # its place in a header
HEADER_ROOM = 64  # bytes at the start of an arena


class ChannelError(Exception):
    """The peer broke the protocol, or asked for more memory than one message may take."""


class ChannelClosed(ChannelError):
    """The peer is gone."""


@dataclass(slots=True)
class Message:
    """One header. Times are seconds; `sent` is on the clock all processes of a machine share."""

    kind: int
    flags: int = 0
    batch: int = 0
    number: int = 0
    json_size: int = 0
    size: int = 0
    sent: float = 0.0
    queue: float = 0.0
    compute: float = 0.0

    def packed(self) -> bytes:
        data = bytearray(_HEADER.size)
        self.post(data)
        return bytes(data)

    def post(self, buffer: mmap.mmap | bytearray) -> None:
        """Write it to the start of a memory."""
        sizes = self.json_size, self.size
        times = self.sent, self.queue, self.compute
        _HEADER.pack_into(buffer, 0, self.kind, self.flags, self.batch, self.number, *sizes, *times)


class Outbox:
    """The arena this side writes to: replaced by a larger one, or by a new one when the peer kept a view of it."""

    def __init__(self) -> None:
        self._arena: Arena | None = None
        self._is_new = False
        self._form: Form | None = None
        self._form_size = 0

    def put(self, message: Message, news: Any, arrays: Sequence[Array], skeleton: Skeleton | None = None) -> None:
        """Write the JSON part (None: nothing changed) and the arrays, and note their sizes in the message.

        With the `skeleton` these arrays are of, later trees of the same form can be written by `refill`.
        """
        text = b"" if news is None else json.dumps(news, separators=(",", ":")).encode()
        message.json_size = len(text)
        message.size = size_of(arrays, len(text))
        if message.size > MAX_MESSAGE:
            raise ChannelError(f"{message.size} bytes are too much for one message; the limit is {MAX_MESSAGE}")
        memory = self._memory(message.size)
        if text:
            memory[: len(text)] = bytearray(text)
        write(arrays, memory, len(text))
        if skeleton is None:
            self._form = None
        else:
            layout = Layout(skeleton)
            self._form, self._form_size = layout.form(memory), layout.end()

    def copy(self, message: Message, data: bytes) -> None:
        """Write the memory of another message as it is."""
        message.size = len(data)
        self._memory(len(data))[: len(data)] = np.frombuffer(data, np.uint8)
        self._form = None

    def refill(self, message: Message, tree: Any) -> bool:
        """Copy a tree straight to where the last one was; False when it has another form and must be `put`."""
        if self._form is None or not self._form.fill(tree):
            return False
        message.size = self._form_size
        return True

    def retire(self) -> None:
        """The peer still looks at this arena: leave it alone and use another one from now on."""
        self._arena = self._form = None

    def send(self, sock: socket.socket, message: Message) -> None:
        """The header over the socket, with the arena if the peer does not have it."""
        if self._is_new and self._arena is not None:
            send(sock, message, self._arena.fd)
            self._is_new = False
        else:
            send(sock, message)

    def post(self, sock: socket.socket, message: Message) -> bool:
        """The header in the arena, for a peer that will hear a bell; over the socket if it does not have the arena.

        Whether it is in the arena.
        """
        if self._is_new or self._arena is None:
            self.send(sock, message)
            return False
        message.post(self._arena.buffer)
        return True

    def _memory(self, size: int) -> Array:
        if self._arena is None or self._arena.size < HEADER_ROOM + size:
            self._arena = Arena.create(HEADER_ROOM + max(2 * size, FIRST_ARENA))
            self._is_new = True
        return self._arena.bytes(HEADER_ROOM)


class Inbox:
    """The peer's arena as seen from here.

    A policy that keeps a view of what it got keeps the arena: nothing is copied to be safe, the peer is told to write
    its next message somewhere else.
    """

    def __init__(self) -> None:
        self.memory: Array = np.empty(0, np.uint8)
        self._arena: Arena | None = None
        self._layout: Layout | None = None
        self._form: Form | None = None

    def attach(self, fd: int) -> None:
        self._arena = Arena.attach(fd)
        self._arena.close()  # the mapping is enough
        if self._arena.size < HEADER_ROOM:
            raise ChannelError("the peer's memory is too small for a message")
        self.memory = self._arena.bytes(HEADER_ROOM)
        self._form = None

    def read(self, layout: Layout) -> Any:
        """The tree at the begin of the memory, as views; where the same layout is read again, this takes a moment."""
        if self._form is None or self._layout is not layout:
            layout.check(self.memory)
            self._layout, self._form = layout, layout.form(self.memory)
        return self._form.read()

    def posted(self, number: int) -> Message | None:
        """The message with this number, if its header is in the arena."""
        if self._arena is None:
            return None
        fields = _HEADER.unpack_from(self._arena.buffer)
        return Message(*fields) if fields[_NUMBER] == number else None

    def news(self, message: Message) -> Any:
        """The JSON part, None when nothing changed; arrays follow it in the memory."""
        if not message.json_size <= message.size <= self.memory.size:
            raise ChannelError("a message is larger than the memory it came with")
        if not message.json_size:
            return None
        try:
            return json.loads(self.memory[: message.json_size].tobytes())
        except ValueError as error:
            raise ChannelError(f"a message cannot be read: {error}") from None

    def is_retained(self) -> bool:
        """Whether anybody else still holds a view."""
        return self._references() > _ALONE + (0 if self._form is None else self._form.views)

    def _references(self) -> int:
        return sys.getrefcount(self.memory)


_ALONE = Inbox()._references()


class Bells:
    """A client's side of the two bells of a connection: one wakes it when its reply is there, one wakes the server.

    The socket would do. But Linux takes a process that writes to one for a process about to sleep, and moves the
    reader to its core: there it would take its time from the model while another core has nothing to do. And what is
    in a socket has to be fetched from there, one by one; many bells are heard at once.
    """

    def __init__(self, fds: tuple[int, int], sock: socket.socket) -> None:
        self._fds = fds
        self._poll = select.epoll()
        self._poll.register(fds[0], select.EPOLLIN | select.EPOLLET)
        self._poll.register(sock, 0)  # its end, whenever that was; not what is written to it

    def ring(self) -> None:
        """Wake the server."""
        os.eventfd_write(self._fds[1], 1)

    def wait(self, limit: float) -> None:
        """Until it rings or the peer is gone; after `limit` seconds (0: any) a TimeoutError."""
        if not self._poll.poll(limit or None, 1):
            raise TimeoutError

    def close(self) -> None:
        self._poll.close()
        for fd in self._fds:
            os.close(fd)


def send(sock: socket.socket, message: Message, *fds: int) -> None:
    if fds:
        message.flags |= DESCRIPTOR
    data = message.packed()
    try:
        sent = socket.send_fds(sock, [data], fds) if fds else sock.send(data)
    except (BrokenPipeError, ConnectionResetError):
        raise ChannelClosed("the peer is gone") from None
    if sent != len(data):
        raise ChannelError("the peer does not read its messages")


def receive(sock: socket.socket) -> tuple[Message, int | None]:
    """The next message and the descriptor that came with it, if any."""
    message, fds = _received(sock, 1)
    return message, fds[0] if fds else None


def greeting(sock: socket.socket) -> tuple[Message, tuple[int, int] | None]:
    """The first message of a server and the two bells of the connection, where it has any."""
    message, fds = _received(sock, 2)
    if not fds:
        return message, None
    try:
        first, second = fds
    except ValueError:
        for fd in fds:
            os.close(fd)
        raise ChannelError(f"a greeting with {len(fds)} bells instead of 2") from None
    return message, (first, second)


def _received(sock: socket.socket, most: int) -> tuple[Message, list[int]]:
    try:
        data, extra, _, _ = sock.recvmsg(_HEADER.size, socket.CMSG_SPACE(most * _INT.size))
    except ConnectionResetError:
        raise ChannelClosed("the peer is gone") from None
    fds = [fd for _, _, content in extra for (fd,) in _INT.iter_unpack(content)]
    if not data:
        raise ChannelClosed("the peer is gone")
    if len(data) != _HEADER.size:
        raise ChannelError(f"a message of {len(data)} bytes instead of {_HEADER.size}")
    message = Message(*_HEADER.unpack(data))
    if bool(message.flags & DESCRIPTOR) != bool(fds):
        raise ChannelError("a message and its descriptor do not belong together")
    return message, fds
