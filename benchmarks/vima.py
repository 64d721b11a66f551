"""How fast the VIMA suite is: CPU-seconds per oracle episode, the raw limit of PyBullet, reset, and two workers.

The raw limit replays what an episode asked of PyBullet (the same bodies, velocities, simulator steps and camera images)
without our Python around it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pytest_vla as vla

TARGET = {"cpu_s_per_episode": 0.35, "raw_ratio": 0.7, "reset_ms": 60.0, "speedup_two_workers": 1.8}
ORIGINAL_CPU_S = 2.49  # per oracle episode, measured on the original
RECORDED = (
    "stepSimulation", "resetBaseVelocity", "getCameraImage", "createMultiBody", "createCollisionShape",
    "changeDynamics", "resetSimulation", "setGravity", "setPhysicsEngineParameter", "createConstraint",
    "removeConstraint", "setCollisionFilterPair", "removeBody", "changeVisualShape", "resetBasePositionAndOrientation",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer episodes")
    count = 4 if parser.parse_args().quick else 12
    load = os.getloadavg()[0]
    figures = {**measure_episodes(count), **measure_two_workers(8 if count == 4 else 25)}
    ok = (
        figures["cpu_s_per_episode"] <= TARGET["cpu_s_per_episode"]
        and figures["raw_ratio"] >= TARGET["raw_ratio"]
        and figures["reset_ms"] <= TARGET["reset_ms"]
        and figures["speedup_two_workers"] >= TARGET["speedup_two_workers"]
    )
    print(json.dumps({"name": "vima", **figures, "load_before": round(load, 1), "target": TARGET, "ok": ok}))


def measure_episodes(count: int) -> dict[str, float]:
    """Averages over the 17 tasks, each on a table that has been used before."""
    suite: Any = vla.get_suite("vima")
    env: Any = suite.make_env("rotate")
    oracle = suite.oracle(env)
    seconds, raw, resets = [], [], []
    for task in suite.tasks():
        partitions = [partition for name, partition in suite.cells() if name == task]
        keys = [suite.episode(task, partitions[i % len(partitions)], i) for i in range(count)]
        play(oracle, env, keys)  # meshes and textures are made once
        cpu = cpu_seconds(lambda keys=keys: play(oracle, env, keys)) / count
        calls = record(env, lambda keys=keys: play(oracle, env, keys))
        limit = cpu_seconds(lambda calls=calls: replay(calls)) / count
        reset = cpu_seconds(lambda keys=keys: [env.reset(options={"episode": key}) for key in keys]) / count
        print(f"{task:28s} {cpu * 1e3:7.1f} ms an episode, raw {limit * 1e3:7.1f} ms, reset {reset * 1e3:6.1f} ms")
        seconds.append(cpu)
        raw.append(limit)
        resets.append(reset)
    env.close()
    mean = statistics.mean(seconds)
    return {
        "cpu_s_per_episode": round(mean, 4),
        "times_faster_than_the_original": round(ORIGINAL_CPU_S / mean, 1),
        "raw_ratio": round(statistics.mean(raw) / mean, 3),
        "reset_ms": round(statistics.mean(resets) * 1e3, 2),
    }


def play(oracle: vla.Policy, env: Any, keys: list[vla.EpisodeKey]) -> None:
    for key in keys:
        assert vla.rollout(oracle, env, key), key


def cpu_seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def record(env: Any, run: Callable[[], Any]) -> list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]:
    """Every call of PyBullet that does work, in order, while something runs."""
    import pybullet

    calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
    originals = {name: getattr(pybullet, name) for name in RECORDED}

    def watched(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            calls.append((original, args, kwargs))
            return original(*args, **kwargs)

        return call

    for name, original in originals.items():
        setattr(pybullet, name, watched(original))
    try:
        run()
    finally:
        for name, original in originals.items():
            setattr(pybullet, name, original)
    return calls


def replay(calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]) -> None:
    for call, args, kwargs in calls:
        call(*args, **kwargs)


def measure_two_workers(episodes: int) -> dict[str, float]:
    """Wall-clock of one worker over two for the same episodes, without the start of pytest; needs two idle cores."""
    seconds = {}
    for workers in (1, 2):
        full, empty = (_pytest(workers, count) for count in (episodes, 1))
        seconds[workers] = full - empty
    return {"speedup_two_workers": round(seconds[1] / max(seconds[2], 1e-9), 2)}


def _pytest(workers: int, episodes: int) -> float:
    arguments = ["--vla-suite=vima", "--vla-policy=oracle", f"--vla-episodes={episodes}", "-n", str(workers), "-q"]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start


if __name__ == "__main__":
    main()
