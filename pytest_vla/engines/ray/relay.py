"""Stands in for Python where xdist starts a worker: the worker is on another node, and this passes its bytes on.

Run as `python -I -S relay.py SOCKET SEAT ARGUMENTS...` with what xdist would give to Python as arguments. It imports
the standard library alone: one such process lives on the driver for each worker.
"""

import json
import os
import socket
import sys
import threading


def main() -> None:
    door, seat, *arguments = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(door)
        asked.sendall(json.dumps({"seat": int(seat)}).encode() + b"\n")
        answer = asked.makefile("r").readline()
    if not answer:
        raise SystemExit("the cluster gave no place for a worker")
    place = json.loads(answer)
    if "error" in place:
        raise SystemExit(place["error"])
    there = socket.create_connection((place["host"], place["port"]))
    there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    there.sendall(json.dumps({"token": place["token"], "arguments": arguments}).encode() + b"\n")
    threading.Thread(target=_upwards, args=(there,), daemon=True).start()
    while data := there.recv(1 << 16):
        _write_all(1, data)


def _upwards(there: socket.socket) -> None:
    while data := os.read(0, 1 << 16):
        there.sendall(data)
    there.shutdown(socket.SHUT_WR)  # xdist is gone, or has said all


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main()
