"""Observations between nodes: the messages of `channel.py` with their memory, over a socket that asks for a token.

A client on another node speaks to a `Crossing` beside the server, which passes everything on through shared memory.
"""

from __future__ import annotations

import hmac
import io
import json
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np

from pytest_vla.episode import EpisodeError
from pytest_vla.inference.channel import (
    HELLO,
    RETAINED,
    Bells,
    ChannelClosed,
    ChannelError,
    Inbox,
    Message,
    Outbox,
    greeting,
    receive,
)
from pytest_vla.inference.client import Lane, is_closed, native
from pytest_vla.observed import Telling
from pytest_vla.options import Wire
from pytest_vla.tree import Array, size_of, write

PACKED = 4  # flag: the arrays come one by one, each as its codec has it
RAW, DEFLATED, JPEG = range(3)
TOKEN_BYTES = 64
GREETING_S = 10.0
SLOW_BYTES_S = 50e6  # below, `auto` deflates: a core does about as much
LEAST_PACKED = 4096  # bytes of an array that is worth it
JPEG_QUALITY = 95
MOST_BYTES = 1 << 28
MEANINGFUL_BYTES = 1 << 16  # what fits into the socket's own memory says nothing of the link
PATIENCE_S = 120.0  # a replica that was lost loads its model again, perhaps elsewhere
FAR = "tcp://"  # HOST:PORT/TOKEN
_HEADER = struct.Struct("<BBHIQQddd")
_PART = struct.Struct("<BQ")


class FarLane(Lane):
    """A lane to a server on another node; `find` gives its address, which is another one after it was lost."""

    def __init__(self, find: Callable[[], str], limit: float, wire: Wire) -> None:
        super().__init__((), limit)
        self._find, self._wire = find, wire

    def _connect(self) -> None:
        if self._sock is not None and not is_closed(self._sock):
            return None
        self.drop()
        until, pause = monotonic() + PATIENCE_S, 0.1
        while True:
            address = self._find()
            if not address.startswith(FAR):
                self._addresses = (address,)
                with suppress(EpisodeError):
                    return super()._connect()
            else:
                with suppress(ChannelError, OSError):
                    return self._connect_far(address)
            if monotonic() > until:
                raise EpisodeError("server_lost", f"no inference server could be reached for {PATIENCE_S:g} s")
            sleep(pause)
            pause = min(2 * pause, 2.0)

    def _connect_far(self, address: str) -> None:
        place, _, token = address.removeprefix(FAR).rpartition("/")
        host, _, port = place.rpartition(":")
        sock = socket.create_connection((host, int(port)), timeout=GREETING_S)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(token.encode())
            read_message(sock)  # hello
        except BaseException:
            sock.close()
            raise
        sock.settimeout(self._limit or None)
        self._sock, self._bells = sock, None
        self._inbox, self._outbox = Inbox(), FarOutbox(self._wire)
        self._telling, self._action = Telling(), None

    def _receive(self, sock: socket.socket) -> tuple[Message, int | None]:
        if not isinstance(self._outbox, FarOutbox):
            return super()._receive(sock)
        message, data = read_message(sock)
        self._inbox.memory = np.frombuffer(data, np.uint8)
        return message, None


class FarOutbox(Outbox):
    """Sends the memory of a message behind its header."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire
        self._data = b""
        self._rate = float("inf")

    def put(self, message: Message, news: Any, arrays: Sequence[Array], skeleton: Any = None) -> None:
        text = b"" if news is None else json.dumps(news, separators=(",", ":")).encode()
        message.json_size, message.size = len(text), size_of(arrays, len(text))
        if self._wire == "raw" or (self._wire == "auto" and self._rate > SLOW_BYTES_S):
            self._data = joined(text, arrays)
        else:
            message.flags |= PACKED
            self._data = packed(text, arrays, lossy=self._wire == "jpeg")

    def refill(self, message: Message, tree: Any) -> bool:
        return False

    def send(self, sock: socket.socket, message: Message) -> None:
        began = monotonic()
        send_message(sock, message, self._data)
        if len(self._data) > MEANINGFUL_BYTES:
            self._rate = len(self._data) / max(monotonic() - began, 1e-9)


def joined(text: bytes, arrays: Sequence[Array]) -> bytes:
    """The memory of a message."""
    memory = np.zeros(size_of(arrays, len(text)), np.uint8)
    memory[: len(text)] = np.frombuffer(text, np.uint8)
    write(arrays, memory, len(text))
    return memory.tobytes()


def packed(text: bytes, arrays: Sequence[Array], lossy: bool) -> bytes:
    """The JSON part, then each array behind the number of its codec and its length."""
    parts = [text]
    for array in arrays:
        codec, data = _encoded(array, lossy)
        parts += [_PART.pack(codec, len(data)), data]
    return b"".join(parts)


def unpacked(message: Message, data: bytes) -> tuple[Message, bytes]:
    """The message as it was before `packed`."""
    arrays, place = [], message.json_size
    while place < len(data):
        codec, length = _PART.unpack_from(data, place)
        place += _PART.size
        arrays.append(_decoded(codec, data[place : place + length]))
        place += length
    memory = joined(data[: message.json_size], arrays)
    message.flags &= ~PACKED
    message.size = len(memory)
    return message, memory


def _encoded(array: Array, lossy: bool) -> tuple[int, bytes]:
    if array.nbytes < LEAST_PACKED:
        return RAW, np.ascontiguousarray(array).tobytes()
    if lossy and array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] == 3:
        from PIL import Image

        out = io.BytesIO()
        Image.fromarray(array).save(out, "JPEG", quality=JPEG_QUALITY)
        return JPEG, out.getvalue()
    return DEFLATED, zlib.compress(np.ascontiguousarray(array).tobytes(), 1)


def _decoded(codec: int, data: bytes) -> Array:
    if codec == JPEG:
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(data))).reshape(-1)
    if codec == DEFLATED:
        reader = zlib.decompressobj()
        data = reader.decompress(data, MOST_BYTES)
        if reader.unconsumed_tail:
            raise ChannelError(f"an array has more than {MOST_BYTES} bytes")
    elif codec != RAW:
        raise ChannelError(f"an array has the unknown codec {codec}")
    return np.frombuffer(data, np.uint8)


def send_message(sock: socket.socket, message: Message, data: bytes = b"") -> None:
    try:
        sock.sendall(message.packed() + struct.pack("<Q", len(data)) + data)
    except TimeoutError:
        raise
    except OSError:
        raise ChannelClosed("the peer is gone") from None


def read_message(sock: socket.socket) -> tuple[Message, bytes]:
    header = _exactly(sock, _HEADER.size + 8)
    (length,) = struct.unpack_from("<Q", header, _HEADER.size)
    if length > MOST_BYTES:
        raise ChannelError(f"a message of {length} bytes is too long")
    return Message(*_HEADER.unpack_from(header)), bytes(_exactly(sock, length))


def _exactly(sock: socket.socket, count: int) -> bytearray:
    data = bytearray(count)
    view, place = memoryview(data), 0
    while place < count:
        try:
            got = sock.recv_into(view[place:])
        except TimeoutError:
            raise
        except OSError:
            got = 0
        if not got:
            raise ChannelClosed("the peer is gone")
        place += got
    return data


class Crossing:
    """Beside a server: lets clients of other nodes in that have the token, on one address of this node."""

    def __init__(self, server: str, address: str, token: str) -> None:
        self.server, self.token = server, token
        self._door = socket.create_server((address, 0), backlog=1024)
        host, port = self._door.getsockname()[:2]
        self.address = f"{FAR}{host}:{port}/{token}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._door.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._door.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with sock, suppress(ChannelError, OSError):
            sock.settimeout(GREETING_S)
            if not hmac.compare_digest(bytes(_exactly(sock, TOKEN_BYTES)), self.token.encode()):
                return
            sock.settimeout(None)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            near = _Near(self.server)
            try:
                send_message(sock, Message(HELLO))
                while True:
                    message, data = read_message(sock)
                    if message.flags & PACKED:
                        message, data = unpacked(message, data)
                    send_message(sock, *near.ask(message, data))
            finally:
                near.close()


class _Near:
    """A connection to the server of this node that passes messages on without reading them."""

    def __init__(self, address: str) -> None:
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.connect(native(address))
        _, bells = greeting(self._sock)
        self._bells = None if bells is None else Bells(bells, self._sock)
        self._sock.setblocking(self._bells is None)
        self._inbox, self._outbox = Inbox(), Outbox()

    def ask(self, message: Message, data: bytes) -> tuple[Message, bytes]:
        message.sent = monotonic()  # the other node has a clock of its own
        self._outbox.copy(message, data)
        self._outbox.send(self._sock, message)
        reply = self._answer(message.number)
        if reply.flags & RETAINED:
            self._outbox.retire()
        return reply, self._inbox.memory[: reply.size].tobytes()

    def _answer(self, number: int) -> Message:
        while True:
            if self._bells is not None:
                self._bells.wait(0)
                posted = self._inbox.posted(number)
                if posted is not None:
                    return posted
            with suppress(BlockingIOError):
                reply, fd = receive(self._sock)
                if fd is not None:
                    self._inbox.attach(fd)
                return reply

    def close(self) -> None:
        if self._bells is not None:
            self._bells.close()
        self._sock.close()


def find_replica(directory: str, node: str, number: int) -> str:
    """The address of the replica for a worker on this node, as the driver's file has it now: one of the node first."""
    try:
        replicas = json.loads(Path(directory).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"{FAR}127.0.0.1:9/"  # nobody is there yet
    here = [replica["near"] for replica in replicas if replica["node"] == node]
    there = here or [replica["far"] for replica in replicas]
    return str(there[number % len(there)]) if there else f"{FAR}127.0.0.1:9/"
