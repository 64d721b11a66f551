"""Fifty hostile clients beside eight honest ones, who keep the rate that they have beside an attack elsewhere."""

from __future__ import annotations

import io
import multiprocessing
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HONEST, HOSTILE, HOSTILE_PROCESSES = 8, 50, 5
POLICY = """
import numpy as np
import pytest_vla as vla


class Small(vla.Policy):
    def act(self, observations, states):
        return [np.asarray(next(iter(o["images"].values()))).mean(axis=(0, 1)) for o in observations]
"""


def attack_server(folder: Path, seconds: float) -> dict[str, Any]:
    """The honest rate on the attacked server, as a share of the rate while the same clients attack another one."""
    (folder / "small.py").write_text(POLICY)
    ours, other = _serve(folder), _serve(folder)
    rates: dict[str, list[float]] = {"elsewhere": [], "here": []}
    try:
        for _ in range(3):
            for where, target in (("elsewhere", other[1]), ("here", ours[1])):
                rates[where].append(_measured(ours[1], target, seconds))
    finally:
        for process, _ in (ours, other):
            process.kill()
            process.wait()
    best = {where: max(found) for where, found in rates.items()}
    return {
        "hostile": HOSTILE,
        "honest": HONEST,
        "requests_a_second": round(best["here"], 1),
        "beside_an_attack_elsewhere": round(best["elsewhere"], 1),
        "share": round(best["here"] / best["elsewhere"], 3),
    }


def _serve(folder: Path) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-m", "pytest_vla.cli", "serve", "small:Small", "--port=0", "--protocol=vla-eval"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline().split("ws://127.0.0.1:")[1].split()[0])


def _measured(server: int, target: int, seconds: float) -> float:
    """Requests a second of all honest clients of a server while the hostile ones are at a target."""
    context = multiprocessing.get_context("spawn")
    stop, answers = context.Event(), context.Queue()
    attackers = [context.Process(target=attack, args=(target, stop, number)) for number in range(HOSTILE_PROCESSES)]
    clients = [context.Process(target=ask, args=(server, seconds, answers)) for _ in range(HONEST // 4)]
    for process in attackers:
        process.start()
    time.sleep(2.0)
    for process in clients:
        process.start()
    total = sum(answers.get(timeout=300) for _ in clients)
    stop.set()
    for process in (*clients, *attackers):
        process.join(10)
        if process.is_alive():
            process.kill()
    return total / seconds


def ask(port: int, seconds: float, answers: Any) -> None:
    """Four honest clients in one process: a picture a request, as fast as replies come."""
    import threading

    import numpy as np
    from websockets.sync.client import connect

    from pytest_vla.policies.wire import pack_message

    payload = {"images": {"front": np.zeros((128, 128, 3), np.uint8)}, "state": {"x": np.zeros(4)}}
    counts = []

    def talk() -> None:
        done = 0
        with connect(f"ws://127.0.0.1:{port}", compression=None) as connection:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                connection.send(pack_message("observation", payload, done + 1))
                connection.recv(60)
                done += 1
        counts.append(done)

    threads = [threading.Thread(target=talk) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers.put(sum(counts))


def attack(port: int, stop: Any, number: int) -> None:
    """Ten hostile clients in one process, each doing one thing again and again."""
    import threading

    from PIL import Image
    from websockets.sync.client import connect

    from pytest_vla.policies.trees import TreeWriter
    from pytest_vla.policies.wire import pack_message

    buffer = io.BytesIO()
    Image.new("RGB", (2000, 2000)).save(buffer, "PNG")
    large = {"__image__": True, "format": "png", "data": buffer.getvalue(), "shape": [2000, 2000, 3]}
    bomb = pack_message("observation", {"images": {str(i): large for i in range(2)}, "state": {}}, 1)
    wrong = [
        b"\xff" * 1000,
        bomb,
        pack_message("observation", {"images": {"a": "x"}, "state": 1}, 1),
        b"\x93" * 100_000,
        bytes(
            TreeWriter().packed({"images": {}, "state": {str(i): 0.0 for i in range(2_000)}}, 1)
        ),  # as many as it takes
        b"\xc1" + bytes(7) + (1 << 20).to_bytes(8, "little") + b"[" * (1 << 20),
    ]
    held: list[Any] = []

    def behave_badly(turn: int) -> None:
        while not stop.is_set():
            try:
                kind = (number + turn) % (len(wrong) + 1)
                if kind == len(wrong):  # half a message, and then nothing
                    raw = socket.create_connection(("127.0.0.1", port), 5)
                    start = b"\x82\xff" + (60 << 20).to_bytes(8, "big") + bytes(4)
                    raw.sendall(_upgrade() + start + b"x" * 1_000_000)
                    held.append(raw)
                    del held[:-20]
                else:
                    with connect(f"ws://127.0.0.1:{port}", compression=None, open_timeout=5) as connection:
                        connection.send(wrong[kind])
                        connection.recv(0.05)
            except Exception:  # refused, closed or timed out: what it wants
                pass
            stop.wait(0.05)

    threads = [threading.Thread(target=behave_badly, args=(turn,), daemon=True) for turn in range(10)]
    for thread in threads:
        thread.start()
    stop.wait()


def _upgrade() -> bytes:
    return (
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
