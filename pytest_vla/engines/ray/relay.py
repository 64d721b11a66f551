"""Stands in for Python where xdist starts a worker: the worker is on another node, and this passes its bytes on.

Run as `python -I -S relay.py SOCKET SEAT ARGUMENTS...` with what xdist would give to Python as arguments. It imports
the standard library alone: one such process lives on the driver for each worker.
"""

import json
import os
import socket
import sys
import threading
from contextlib import suppress

GREETING = 1  # bytes that a worker says by itself, when it has started; what comes after them answers xdist
TRIES = 3


def main() -> None:
    door, seat, *arguments = sys.argv[1:]
    worker = Worker()
    for _ in range(TRIES):
        with suppress(OSError):  # the node of that place was lost since it was given
            worker.seated(_connected(door, int(seat), arguments))
            if worker.listened():
                return


class Worker:
    """The one that xdist thinks it has. Lost before it answered anything, it is another one that is told the same."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said = b""  # by xdist, until there is an answer
        self._heard = 0
        self._there: socket.socket | None = None

    def seated(self, there: socket.socket) -> None:
        """Where it is; xdist is listened to from now on."""
        with self._lock:
            first, self._there = self._there is None, there
            self._send(self._said)
        if first:
            threading.Thread(target=self._upwards, daemon=True).start()

    def listened(self) -> bool:
        """Whether it answered, once it has gone; a greeting that xdist has heard already is not passed on again."""
        assert self._there is not None
        known = self._heard
        while data := _received(self._there):
            data, known = data[known:], max(known - len(data), 0)
            with self._lock:
                self._heard += len(data)
                if self._heard > GREETING:
                    self._said = b""
            _write_all(1, data)
        return self._heard > GREETING

    def _upwards(self) -> None:
        while data := os.read(0, 1 << 16):
            with self._lock:
                if self._heard <= GREETING:
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
