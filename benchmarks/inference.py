"""One model, many simulators: cost of a step and throughput of our server against vla-eval 0.8.0, in one run.

The peer runs in an environment of its own: PYTEST_VLA_PEER_PYTHON names its Python, or one is made with pip. Without
either, the figures are ours alone and "ok" is null.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

FOLDER = Path(__file__).parent / "peer"
PEER = "vla-eval==0.8.0"
SHAPES = ("2x224", "1x256")
SUITES = ("bomb", "vima")
CLIENTS = 8
SLICE_S = 1.0
TARGET = {
    "overhead_vs_default": 0.125,
    "overhead_vs_raw": 0.5,
    "throughput_vs_best": 1.5,
    "throughput_vs_offline": 0.8,
    "server_cpu_vs_offline": 0.95,
    "network_our_client": 1.5,
    "network_their_client": 1.0,
}
MORE = ("server_cpu_vs_best", "server_cpu_vs_moved", "serving_us", "moving_us")  # the last two an action, of CPU
LARGEST = ("overhead_vs_default", "overhead_vs_raw", "serving_us", "moving_us")  # their worst is their largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 4 if parser.parse_args().quick else 9
    with peer_python() as python, real_frames():
        figures = measure(python, rounds)
    print(json.dumps({"name": "inference", **figures, "target": TARGET, "ok": verdict(figures)}))


def measure(python: str | None, rounds: int) -> dict[str, float]:
    """The worst ratio over all kinds of observation.

    All sides are started first and then take turns, a slice of a second each: other load on the machine meets them
    all.
    """
    figures: dict[str, list[float]] = {name: [] for name in (*TARGET, *MORE)}
    with ExitStack() as stack:
        alone = lone_clients(stack, python)
        for shape in (*SHAPES, *SUITES):
            steps = pick(take_turns(alone, shape, rounds), "step")
            print(f"{shape}, 1 client, ms a step: " + ", ".join(f"{n} {1e3 * median(v):.2f}" for n, v in steps.items()))
            if python is not None:
                figures["overhead_vs_default"].append(ratio(steps["ours"], steps["default"]))
                figures["overhead_vs_raw"].append(ratio(steps["ours"], steps["raw"]))
    if python is not None:
        figures |= network(python, rounds)
    with ExitStack() as stack:
        full = full_houses(stack, python)
        for shape in SHAPES:
            slices = take_turns(full, shape, rounds)
            rates, per_cpu = pick(slices, "rate"), pick(slices, "per_cpu")
            shown = ", ".join(f"{n} {median(v):.0f} ({median(per_cpu[n]):.0f})" for n, v in rates.items())
            print(f"{shape}, {CLIENTS} clients, actions/s (and per CPU second of the server): {shown}")
            figures["throughput_vs_offline"].append(ratio(rates["ours"], rates["offline"]))
            figures["server_cpu_vs_offline"].append(ratio(per_cpu["ours"], per_cpu["offline"]))
            figures["server_cpu_vs_moved"].append(ratio(per_cpu["ours"], per_cpu["moved"]))
            for figure, side in (("serving_us", "ours"), ("moving_us", "moved")):
                figures[figure].append(1e6 / median(per_cpu[side]) - 1e6 / median(per_cpu["offline"]))
            if python is not None:
                best = min(ratio(rates["ours"], rates["batch 1"]), ratio(rates["ours"], rates["batch 8"]))
                figures["throughput_vs_best"].append(best)
                best = min(ratio(per_cpu["ours"], per_cpu["batch 1"]), ratio(per_cpu["ours"], per_cpu["batch 8"]))
                figures["server_cpu_vs_best"].append(best)
    worst = {name: (max if name in LARGEST else min)(values) for name, values in figures.items() if values}
    return {name: round(value, 3) for name, value in worst.items()}


def network(python: str, rounds: int) -> dict[str, list[float]]:
    """One client of `pytest-vla serve` against one of vla-eval's server: our client, and theirs with raw images."""
    found: dict[str, list[float]] = {"network_our_client": [], "network_their_client": [], "network_cpu": []}
    with ExitStack() as stack:
        fleets = network_clients(stack, python)
        for kind in (*SHAPES, *SUITES):
            slices = take_turns(fleets, kind, rounds)
            steps, costs = pick(slices, "step"), pick(slices, "cost")
            shown = ", ".join(f"{n} {1e3 * median(v):.2f} ({1e3 * median(costs[n]):.2f})" for n, v in steps.items())
            print(f"{kind}, network, 1 client, ms a step (and of CPU, both ends): {shown}")
            found["network_our_client"].append(ratio(steps["theirs, their client"], steps["ours, our client"]))
            found["network_their_client"].append(ratio(steps["theirs, their client"], steps["ours, their client"]))
            found["network_cpu"].append(ratio(costs["theirs, their client"], costs["ours, our client"]))
    return found


def ratio(ours: list[float], theirs: list[float]) -> float:
    return median(ours) / median(theirs)


def verdict(figures: dict[str, float]) -> bool | None:
    if any(name not in figures for name in TARGET):
        return None
    return all((figures[n] <= t) if n in LARGEST else (figures[n] >= t) for n, t in TARGET.items())


def take_turns(fleets: dict[str, Fleet], shape: str, rounds: int) -> dict[str, list[dict[str, float]]]:
    for fleet in fleets.values():
        fleet.run(shape)  # once for nothing: caches, first allocations
    found: dict[str, list[dict[str, float]]] = {name: [] for name in fleets}
    for _ in range(rounds):
        for name, fleet in fleets.items():
            found[name].append(fleet.run(shape))
    return found


def pick(slices: dict[str, list[dict[str, float]]], what: str) -> dict[str, list[float]]:
    return {name: [one[what] for one in found] for name, found in slices.items()}


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far: what its work costs, however busy the machine is with other things."""
    return time.clock_gettime((~pid << 3) | 2)  # how Linux names the clock of another process


# --- the sides --------------------------------------------------------------------------------------------------------


def lone_clients(stack: ExitStack, python: str | None) -> dict[str, Fleet]:
    """One client each, of a model that answers at once."""
    fleets: dict[str, Fleet] = {"ours": stack.enter_context(ours("ours:Served", 1))}
    if python is not None:
        url, pid = stack.enter_context(peer_server(python, "none", 1))
        fleets["default"] = stack.enter_context(Fleet(peer_client(python, url, "png"), 1, pid))
        fleets["raw"] = stack.enter_context(Fleet(peer_client(python, url, "raw"), 1, pid))
    return fleets


def network_clients(stack: ExitStack, python: str) -> dict[str, Fleet]:
    """One client each, of a model that answers at once, over the network."""
    our_url, our_pid = stack.enter_context(our_network_server())
    their_url, their_pid = stack.enter_context(peer_server(python, "none", 1))
    ours = [sys.executable, str(FOLDER / "ours.py"), our_url]
    fleets = {
        "ours, our client": Fleet(ours, 1, our_pid),
        "ours, their client": Fleet(peer_client(python, our_url, "raw"), 1, our_pid),
        "theirs, their client": Fleet(peer_client(python, their_url, "raw"), 1, their_pid),
    }
    return {name: stack.enter_context(fleet) for name, fleet in fleets.items()}


def full_houses(stack: ExitStack, python: str | None) -> dict[str, Fleet]:
    """Eight clients each, of a small convolutional network; and the network alone, at our batch sizes.

    Alone it is once given images of its own, and once such as another process has just written, which says so over a
    pipe: the least that can be called a server.
    """
    fleet = stack.enter_context(ours("ours:ServedCnn", CLIENTS))
    workload = [sys.executable, str(FOLDER / "workload.py")]
    alone, moved = Offline(workload, 1, like=fleet), Offline([*workload, "moved"], 1, like=fleet)
    fleets: dict[str, Fleet] = {"ours": fleet}
    fleets |= {"offline": stack.enter_context(alone), "moved": stack.enter_context(moved)}
    for batch in (1, 8) if python is not None else ():
        assert python is not None
        url, pid = stack.enter_context(peer_server(python, "cnn", batch))
        fleets[f"batch {batch}"] = stack.enter_context(Fleet(peer_client(python, url, "raw"), CLIENTS, pid))
    return fleets


@contextmanager
def ours(policy: str, clients: int) -> Iterator[OurFleet]:
    from pytest_vla.inference.service import Service, ServiceOptions

    sys.path.insert(0, str(FOLDER))
    service = Service.start(ServiceOptions(policy, batch=clients))
    try:
        command = [sys.executable, str(FOLDER / "ours.py"), service.addresses[0]]
        with OurFleet(command, clients, service.pids[0]) as fleet:
            fleet.service = service
            yield fleet
    finally:
        service.close()
        sys.path.remove(str(FOLDER))


@contextmanager
def peer_server(python: str, kind: str, batch: int) -> Iterator[tuple[str, int]]:
    command = [python, str(FOLDER / "vlaeval.py"), "serve", kind, str(batch)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip(), server.pid
    finally:
        server.kill()
        server.communicate()


@contextmanager
def our_network_server() -> Iterator[tuple[str, int]]:
    """`pytest-vla serve`, as a person starts it."""
    command = [str(Path(sys.executable).with_name("pytest-vla")), "serve", "ours:Served", "--port=0"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        yield next(word for word in server.stdout.readline().split() if word.startswith("ws://")), server.pid
    finally:
        server.kill()
        server.communicate()


def peer_client(python: str, url: str, image_format: str) -> list[str]:
    return [python, str(FOLDER / "vlaeval.py"), "client", url, image_format]


class Fleet:
    """Client processes that rest until they are told to go together; `server` is the process that answers them."""

    def __init__(self, command: Sequence[str], count: int, server: int | None = None) -> None:
        self.command, self.count, self.server = command, count, server

    def __enter__(self) -> Fleet:
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.clients: list[Any] = [subprocess.Popen(self.command, text=True, **pipes) for _ in range(self.count)]
        for client in self.clients:
            if client.stdout.readline() != "ready\n":
                raise SystemExit(f"a client did not start: {' '.join(self.command)}")
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.clients:
            client.kill()
            client.communicate()

    def run(self, shape: str, more: str = "") -> dict[str, float]:
        """One slice: the median step of a client, the actions a second of all, and what they cost."""
        server = self.server or self.clients[0].pid
        processes = {server, *(client.pid for client in self.clients)}
        before, all_before = cpu_seconds(server), sum(map(cpu_seconds, processes))
        for client in self.clients:
            client.stdin.write(f"{SLICE_S} {shape} {more}\n")
            client.stdin.flush()
        results = [list(map(float, client.stdout.readline().split())) for client in self.clients]
        rate = sum(actions / seconds for actions, _, seconds in results)
        actions = sum(actions for actions, _, _ in results)
        per_cpu = actions / max(cpu_seconds(server) - before, 1e-6)
        cost = (sum(map(cpu_seconds, processes)) - all_before) / max(actions, 1)
        return {"step": median(step for _, step, _ in results), "rate": rate, "per_cpu": per_cpu, "cost": cost}


class OurFleet(Fleet):
    """Remembers the batch sizes of its last slice."""

    service: Any
    batches: tuple[str, ...] = ("1",)

    def run(self, shape: str, more: str = "") -> dict[str, float]:
        before = Counter(self.service.statistics()["batch_sizes"])
        result = super().run(shape, more)
        sizes = Counter(self.service.statistics()["batch_sizes"]) - before
        self.batches = tuple(
            random.Random(0).sample(list(sizes), k=min(100, sizes.total()), counts=list(sizes.values()))
        )
        return result


class Offline(Fleet):
    """The model alone, called with the batch sizes another fleet had."""

    def __init__(self, command: Sequence[str], count: int, like: OurFleet) -> None:
        super().__init__(command, count)
        self.like = like

    def run(self, shape: str, more: str = "") -> dict[str, float]:
        return super().run(shape, ",".join(self.like.batches))


@contextmanager
def real_frames() -> Iterator[None]:
    """What the cameras of the suites show at the begin of an episode, for every process that is started meanwhile."""
    import numpy as np

    import pytest_vla as vla

    found: dict[str, Any] = {}
    for name in SUITES:
        suite = vla.get_suite(name)
        task, partition = suite.cells()[0]
        key, env = suite.episode(task, partition, 0), suite.make_env(task)
        observation, _ = env.reset(seed=key.seed(), options={"episode": key})
        found |= {f"{name}/{camera}": np.asarray(image) for camera, image in observation["images"].items()}
        env.close()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames.npz"
        np.savez(path, **found)
        os.environ["INFERENCE_FRAMES"] = str(path)
        try:
            yield
        finally:
            del os.environ["INFERENCE_FRAMES"]


@contextmanager
def peer_python() -> Iterator[str | None]:
    """The Python of an environment with the peer in it, made for this run where none is named."""
    named = os.environ.get("PYTEST_VLA_PEER_PYTHON")
    if named:
        yield named
        return
    import torch

    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder) / "bin" / "python")
        release = torch.__version__.partition("+")[0]
        commands = (
            [sys.executable, "-m", "venv", folder],
            [python, "-m", "pip", "install", "-q", f"torch=={release}"],
            [python, "-m", "pip", "install", "-q", PEER],
        )
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(f"{PEER} cannot be installed here, so there is nothing to compare with: {done.stderr[-300:]}")
                yield None
                return
        yield python


if __name__ == "__main__":
    main()
