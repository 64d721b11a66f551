"""A WebSocket connection that is read by who waits for an answer: no second thread is woken for every message."""

from __future__ import annotations

import secrets
import socket
import ssl
import struct
import threading
import time
import urllib.request
import weakref
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from time import monotonic
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_vla.policies.base import PolicyError

try:
    from websockets.client import ClientProtocol
    from websockets.exceptions import ConnectionClosed
    from websockets.frames import Frame, Opcode
    from websockets.protocol import State
    from websockets.sync.client import connect as connect_by_thread
    from websockets.uri import WebSocketURI, parse_uri
except ImportError:
    raise PolicyError('remote policies need msgpack and websockets: pip install "pytest-vla[remote]"') from None

CONNECT_LIMIT_S = 10.0
CLOSE_LIMIT_S = 1.0
ROUND_S = 0.1  # a server that asks whether we live, or says goodbye, waits so long for an answer
CHUNK = 1 << 16  # bytes


class Conversation(Protocol):
    """What is needed of a connection, whoever made it."""

    def send(self, message: bytes | memoryview) -> None: ...

    def recv(self, timeout: float | None = None) -> bytes | str: ...


def connect(url: str, headers: Mapping[str, str], max_size: int) -> AbstractContextManager[Conversation]:
    """A connection to a server; behind a proxy that of the websockets package, which knows how to talk to one."""
    uri = parse_uri(url)
    if urllib.request.getproxies() and not urllib.request.proxy_bypass(f"{uri.host}:{uri.port}"):
        return connect_by_thread(
            url,
            compression=None,
            max_size=max_size,
            additional_headers=dict(headers),
            open_timeout=CONNECT_LIMIT_S,
            ping_interval=None,
        )
    return Connection(uri, headers, max_size)


class Connection:
    """One connection. A server that asks whether we are alive is answered while we read, and by the keeper else."""

    def __init__(self, uri: WebSocketURI, headers: Mapping[str, str], max_size: int) -> None:
        self._protocol = ClientProtocol(uri, max_size=max_size)
        self._lock = threading.Lock()  # held by who reads: us, or the keeper
        self._messages: deque[bytes | str] = deque()
        self._parts: list[Frame] = []
        self._masked = Masked()
        deadline = monotonic() + CONNECT_LIMIT_S
        self._socket = socket.create_connection((uri.host, uri.port), CONNECT_LIMIT_S)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if uri.secure:
                context = ssl.create_default_context()
                self._socket = context.wrap_socket(self._socket, server_hostname=uri.host)
            self._shake_hands(headers, deadline)
        except BaseException:
            self._socket.close()
            raise
        keeper.keep(self)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, message: bytes | memoryview) -> None:
        """Send a message; raises ConnectionClosed when the server has gone, also when it went unnoticed before."""
        with self._lock:
            self._hear()
            if self._protocol.state is not State.OPEN:
                raise self._closed()
            self._socket.settimeout(None)
            self._socket.sendall(self._masked.frame(message))

    def recv(self, timeout: float | None = None) -> bytes | str:
        """The next message; raises TimeoutError when none is complete in time."""
        with self._lock:
            deadline = None if timeout is None else monotonic() + timeout
            while not self._messages:
                if self._is_over():
                    raise self._closed()
                self._wait(deadline)
                self._take(self._socket.recv(CHUNK))
            return self._messages.popleft()

    def hear(self) -> None:
        """Answer what the server asked meanwhile, unless somebody reads already."""
        if self._lock.acquire(blocking=False):
            try:
                self._hear()
            except OSError:
                self._lose()
            finally:
                self._lock.release()

    def close(self) -> None:
        """Say goodbye, and hear that of the server if it comes soon."""
        keeper.forget(self)
        with self._lock, suppress(OSError):
            if self._protocol.state is State.OPEN:
                self._protocol.send_close(1000)
                deadline = monotonic() + CLOSE_LIMIT_S
                self._wait(deadline)
                self._flush()
                while not self._is_over():
                    self._wait(deadline)
                    self._take(self._socket.recv(CHUNK))
        self._socket.close()

    # --- with the lock held ------------------------------------------------------------------------------------------

    def _shake_hands(self, headers: Mapping[str, str], deadline: float) -> None:
        request = self._protocol.connect()
        for name, value in headers.items():
            request.headers[name] = value
        self._protocol.send_request(request)
        self._flush()
        while self._protocol.state is State.CONNECTING and self._protocol.handshake_exc is None:
            self._wait(deadline)
            self._take(self._socket.recv(CHUNK))
        if self._protocol.handshake_exc is not None:
            raise self._protocol.handshake_exc

    def _wait(self, deadline: float | None) -> None:
        """Let the next read take no longer than this."""
        left = None if deadline is None else deadline - monotonic()
        if left is not None and left <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left)

    def _hear(self) -> None:
        """Take what has come already, and then answer it: half an answer would be worse than none."""
        self._socket.settimeout(0)
        with suppress(BlockingIOError, ssl.SSLWantReadError):
            while self._protocol.state in (State.OPEN, State.CLOSING):
                self._feed(self._socket.recv(CHUNK))
        self._socket.settimeout(CONNECT_LIMIT_S)
        self._flush()

    def _take(self, data: bytes) -> None:
        self._feed(data)
        self._flush()

    def _feed(self, data: bytes) -> None:
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._take_frame(event)

    def _take_frame(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            return  # the protocol has answered it
        self._parts.append(frame)
        if frame.fin:
            data = b"".join(bytes(part.data) for part in self._parts)
            is_text = self._parts[0].opcode is Opcode.TEXT
            self._messages.append(data.decode(errors="replace") if is_text else data)
            self._parts.clear()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._socket.sendall(data)
            else:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_WR)

    def _is_over(self) -> bool:
        return self._protocol.state is State.CLOSED

    def _lose(self) -> None:
        """The socket failed: nothing more will come."""
        self._protocol.receive_eof()
        self._protocol.data_to_send()

    def _closed(self) -> ConnectionClosed:
        if not self._is_over():
            self._lose()
        return self._protocol.close_exc


class Masked:
    """Messages as frames of a client, masked as RFC 6455 wants it, all at the same place.

    A new block of memory for every picture that is sent costs several times what masking it does.
    """

    BEGIN = 16  # where a message begins, behind a header of at most 14 bytes

    def __init__(self) -> None:
        self._buffer = bytearray(1 << 12)

    def frame(self, message: bytes | memoryview) -> memoryview:
        """The bytes to send; they are those of the next message after the next call."""
        size, key = len(message), secrets.token_bytes(4)
        words = -(-size // 8)
        if self.BEGIN + 8 * words > len(self._buffer):
            self._buffer = bytearray(2 * (self.BEGIN + 8 * words))
        head = header(size, masked=True) + key
        begin = self.BEGIN - len(head)
        self._buffer[begin : self.BEGIN] = head
        mask(message, key, np.frombuffer(self._buffer, np.uint8, size, self.BEGIN))
        return memoryview(self._buffer)[begin : self.BEGIN + size]


def mask(data: bytes | memoryview, key: bytes, place: NDArray[np.uint8]) -> None:
    """Write data to a place, masked with a key or, which is the same, unmasked."""
    source, words = np.frombuffer(data, np.uint8), len(data) // 8 * 8
    keys = np.frombuffer(2 * key, np.uint64)
    np.bitwise_xor(source[:words].view(np.uint64), keys, out=place[:words].view(np.uint64))
    np.bitwise_xor(source[words:], keys.view(np.uint8)[: len(data) - words], out=place[words:])


def header(size: int, masked: bool) -> bytes:
    """Of one whole binary message."""
    bit = 0x80 if masked else 0
    if size < 126:
        return struct.pack("!BB", 0x82, bit | size)
    return struct.pack("!BBH", 0x82, bit | 126, size) if size < 1 << 16 else struct.pack("!BBQ", 0x82, bit | 127, size)


class Keeper:
    """Reads now and then what servers send to connections that nobody uses, so that they are not taken for dead."""

    def __init__(self) -> None:
        self._kept: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def keep(self, connection: Connection) -> None:
        with self._lock:
            self._kept.add(connection)
            if self._thread is None or not self._thread.is_alive():  # not after a fork either
                self._thread = threading.Thread(target=self._go_round, name="websocket-keeper", daemon=True)
                self._thread.start()

    def forget(self, connection: Connection) -> None:
        with self._lock:
            self._kept.discard(connection)

    def _go_round(self) -> None:
        while True:
            time.sleep(ROUND_S)
            with self._lock:
                connections = list(self._kept)
                if not connections:
                    self._thread = None
                    return
            for connection in connections:
                connection.hear()
            del connections


keeper = Keeper()
