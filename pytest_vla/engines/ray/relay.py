"""Stands in for Python where xdist starts a worker: the worker is on another node, and this passes its bytes on.

Run as `python -I -S relay.py SOCKET SEAT ARGUMENTS...` with what xdist would give to Python as arguments. It imports
the standard library alone: one such process lives on the driver for each worker.
"""

import json
import os
import socket
import struct
import sys
import threading
import time
from contextlib import suppress

GREETING = 1  # bytes that a worker says by itself, when it has started; after them come messages of execnet
HEADER = struct.Struct("!bii")  # of a message: its kind, its channel, and the bytes that follow
FIRST_CHANNEL = 1
PAUSES_S = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 5.0)  # until the cluster knows that a node is lost, it may name it again


def main() -> None:
    door, seat, *arguments = sys.argv[1:]
    worker = Worker()
    for pause in PAUSES_S:
        with suppress(OSError):  # the node of that place was lost since it was given
            worker.seated(_connected(door, int(seat), arguments))
            if worker.listened():
                return
        time.sleep(pause)


class Worker:
    """The one that xdist thinks it has. Lost before it is set up, it is another one that is told the same.

    xdist ends the whole run when it cannot set a worker up, and copes with one that is lost after that. A worker
    greets, answers on execnet's first channel what it is, and is set up when it speaks on another channel.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said = b""  # by xdist, until the worker is set up
        self._passed_on = 0  # of the worker's greeting and messages, until then
        self._is_set_up = False
        self._there: socket.socket | None = None

    def seated(self, there: socket.socket) -> None:
        """Where it is; xdist is listened to from now on."""
        with self._lock:
            first, self._there = self._there is None, there
            self._send(self._said)
        if first:
            threading.Thread(target=self._upwards, daemon=True).start()

    def listened(self) -> bool:
        """Whether it was set up, once it has gone; what xdist has heard already is not passed on again."""
        assert self._there is not None
        known, rest, is_first = self._passed_on, b"", True
        while data := _received(self._there):
            rest += data
            while not self._is_set_up and (size := _first_of(rest, is_first)):
                part, rest = rest[:size], rest[size:]
                if not is_first and _channel(part) != FIRST_CHANNEL:
                    self._set_up()
                if known:
                    known -= 1
                else:
                    self._passed_on += 1
                    _write_all(1, part)
                is_first = False
            if self._is_set_up:
                _write_all(1, rest)
                rest = b""
        return self._is_set_up

    def _set_up(self) -> None:
        with self._lock:
            self._is_set_up, self._said = True, b""

    def _upwards(self) -> None:
        while data := os.read(0, 1 << 16):
            with self._lock:
                if not self._is_set_up:
                    self._said += data
                self._send(data)
        with self._lock, suppress(OSError):
            assert self._there is not None
            self._there.shutdown(socket.SHUT_WR)  # xdist is gone, or has said all

    def _send(self, data: bytes) -> None:
        assert self._there is not None
        with suppress(OSError):  # it is gone: who listens to it hears that
            self._there.sendall(data)


def _connected(door: str, seat: int, arguments: list[str]) -> socket.socket:
    """A worker that was started for these arguments, wherever the cluster has a place."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(door)
        asked.sendall(json.dumps({"seat": seat}).encode() + b"\n")
        answer = asked.makefile("r").readline()
    if not answer:
        raise SystemExit("the cluster gave no place for a worker")
    place = json.loads(answer)
    if "error" in place:
        raise SystemExit(place["error"])
    there = socket.create_connection((place["host"], place["port"]))
    there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    there.sendall(json.dumps({"token": place["token"], "arguments": arguments}).encode() + b"\n")
    return there


def _first_of(data: bytes, is_greeting: bool) -> int:
    """How many bytes the greeting or the message takes that comes first; 0 while it is not whole."""
    if is_greeting:
        return GREETING if len(data) >= GREETING else 0
    size = HEADER.size + HEADER.unpack_from(data)[2] if len(data) >= HEADER.size else 0
    return size if len(data) >= size else 0


def _channel(message: bytes) -> int:
    return int(HEADER.unpack_from(message)[1])


def _received(there: socket.socket) -> bytes:
    """What comes next; nothing from a peer that is gone, however it went."""
    try:
        return there.recv(1 << 16)
    except OSError:
        return b""


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main()
