"""Where the design ends: a discrete-event simulation of workers, replicas and the driver, from costs measured here.

A worker steps its simulator, asks its replica, waits for the batch that answers it, and at the end of an episode sends
the result to the driver, which takes one after the other. It holds a block of episodes, so that it waits for the driver
only when the driver is a block behind.
"""

from __future__ import annotations

import heapq
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.cluster_kills import SUITE, episodes_of
from pytest_vla.scheduling import BLOCK

STEPS, STEP_S = 5, 0.05
WORKERS = (1, 2, 4, 8, 16, 32, 64, 125, 250, 500, 1000)
CALL_S, ROW_S = 0.02, 0.002

POLICY = f"""
import time
import numpy as np
import pytest_vla as vla

class Slow(vla.Policy):
    spec = vla.PolicySpec(cameras=("front",))

    def reset(self, episode):
        return None

    def act(self, observations, states):
        time.sleep({CALL_S} + {ROW_S} * len(observations))
        return [np.zeros(2, np.float32) for _ in observations]

def make():
    return Slow()
"""


@dataclass(frozen=True)
class Costs:
    """Seconds, but for `requests` (per episode) and `batch` (the largest)."""

    step: float
    spread: float
    """The standard deviation of a step, as a part of it."""
    requests: int
    call: float
    row: float
    transport: float
    episode: float
    """What an episode takes besides: reset, pytest, messages."""
    driver: float
    batch: int = 32


def simulate(costs: Costs, workers: int, replicas: int, seconds: float = 60.0, seed: int = 0) -> dict[str, Any]:
    """Episodes a second after a start of a quarter of the time, and how busy the driver and the replicas were."""
    rng = random.Random(seed)
    events: list[tuple[float, int, str, int]] = []
    count = 0

    def at(time: float, what: str, who: int) -> None:
        nonlocal count
        count += 1
        heapq.heappush(events, (time, count, what, who))

    left, credit, parked = [costs.requests] * workers, [BLOCK] * workers, [False] * workers
    waiting: list[deque[int]] = [deque() for _ in range(replicas)]
    computing: list[list[int]] = [[] for _ in range(replicas)]
    results: deque[int] = deque()
    driving = done = 0
    busy_model = busy_driver = 0.0
    start, now = seconds / 4, 0.0

    def step_s() -> float:
        return max(0.0, rng.gauss(costs.step, costs.spread * costs.step))

    def compute(replica: int, now: float) -> None:
        nonlocal busy_model
        queue = waiting[replica]
        if computing[replica] or not queue:
            return
        computing[replica] = [queue.popleft() for _ in range(min(len(queue), costs.batch))]
        took = costs.call + costs.row * len(computing[replica])
        busy_model += took
        at(now + took, "answered", replica)

    for worker in range(workers):
        at(rng.random() * (costs.step * costs.requests), "asks", worker)
    while events and now < seconds:
        now, _, what, who = heapq.heappop(events)
        if what == "asks":
            waiting[who % replicas].append(who)
            compute(who % replicas, now)
        elif what == "answered":
            batch, computing[who] = computing[who], []
            for worker in batch:
                left[worker] -= 1
                after = now + costs.transport + step_s()
                at(after, "asks" if left[worker] else "ended", worker)
            compute(who, now)
        elif what == "ended":
            results.append(who)
            credit[who] -= 1
            if not driving:
                driving = 1
                at(now + costs.driver, "written", 0)
            if credit[who] > 0:
                left[who] = costs.requests
                at(now + costs.episode, "asks", who)
            else:
                parked[who] = True
        else:
            worker = results.popleft()
            busy_driver += costs.driver
            done += now >= start
            credit[worker] += 1
            if parked[worker]:
                parked[worker], left[worker] = False, costs.requests
                at(now + costs.episode, "asks", worker)
            driving = int(bool(results))
            if results:
                at(now + costs.driver, "written", 0)
    return {
        "episodes_s": done / max(now - start, 1e-9),
        "driver_busy": busy_driver / max(now, 1e-9),
        "model_busy": busy_model / max(now * replicas, 1e-9),
    }


def real(workers: int, episodes: int) -> tuple[float, list[dict[str, Any]]]:
    """Episodes a second of a real run of so many workers with one replica, between its first and last tenth."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_painted.py").write_text(SUITE)
        Path(folder, "slow_policy.py").write_text(POLICY)
        command = [sys.executable, "-m", "pytest", "test_painted.py", "--vla-policy=slow_policy:make", "-q"]
        command += [f"-n{workers}", f"--vla-episodes={episodes // 4}", "--vla-run-dir=run", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTEST_VLA_STEP_S": str(STEP_S)}
        subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment)
        file = Path(folder, "run", "run.jsonl")
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        end = next(line for line in lines if line.get("type") == "end")
        return float(end["episodes_per_second"]), episodes_of(file)


def measured_costs(driver_s: float, lines: list[dict[str, Any]], rate: float) -> Costs:
    """From a run of one worker: how long its steps took, and what was left of each episode."""
    times = [line["timings"] for line in lines[2:]]
    step = sum(time["step"] for time in times) / len(times) / STEPS
    transport = sum(time.get("transport", 0.0) for time in times) / len(times) / STEPS
    each = CALL_S + ROW_S + step + transport
    return Costs(step, 0.05, STEPS, CALL_S, ROW_S, transport, max(1 / rate - STEPS * each, 0.0), driver_s)


def check(driver_s: float, quick: bool) -> tuple[Costs, dict[int, dict[str, float]]]:
    """The simulation beside real runs of 1 to 8 workers."""
    rate, lines = real(1, 40)
    costs = measured_costs(driver_s, lines, rate)
    found = {}
    for workers in (1, 2, 4) if quick else (1, 2, 4, 8):
        seen = rate if workers == 1 else real(workers, 40 * workers)[0]
        said = simulate(costs, workers, 1)["episodes_s"]
        found[workers] = {"real": round(seen, 2), "simulated": round(said, 2), "error": round(said / seen - 1, 3)}
    return costs, found


def curves(costs: Costs) -> dict[int, dict[int, dict[str, Any]]]:
    """By replicas and workers, to a thousand of these and 64 of those."""
    return {
        replicas: {n: simulate(costs, n, replicas, _long_enough(n, replicas)) for n in WORKERS if n >= replicas}
        for replicas in (1, 4, 16, 64)
    }


def _long_enough(workers: int, replicas: int) -> float:
    """Seconds: where a replica is full, all its workers take turns many times."""
    return 20.0 + 0.3 * workers / replicas


def ends(costs: Costs) -> dict[str, Any]:
    """Where it ends: with episodes that cost nothing but the driver, and with one replica."""
    free = replace(costs, step=1e-4, call=1e-4, row=1e-6, transport=1e-4, episode=2e-3)
    flat_out = simulate(free, 1000, 64, 4.0)
    return {"driver_results_s": round(flat_out["episodes_s"], 1), "driver_busy": round(flat_out["driver_busy"], 2)}


def draw(found: dict[int, dict[int, dict[str, Any]]], checked: dict[int, dict[str, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), dpi=130)
    for replicas, curve in found.items():
        label = f"{replicas} replica{'s' * (replicas > 1)}"
        axes.plot(list(curve), [point["episodes_s"] for point in curve.values()], marker="o", ms=3, label=label)
    axes.plot(list(checked), [each["real"] for each in checked.values()], "kx", ms=7, label="real runs, 1 replica")
    axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="episodes a second")
    axes.grid(True, which="both", alpha=0.25)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    costs, checked = check(0.0005, quick="--quick" in sys.argv)
    found = curves(costs)
    draw(found, checked, Path("docs/cluster.png"))
    print(costs)
    print(json.dumps({"checked": checked, "ends": ends(costs)}, indent=1))
    print({r: {n: round(p["episodes_s"], 1) for n, p in c.items()} for r, c in found.items()})
