"""How fast the VIMA suite is: CPU-seconds per oracle episode, the raw limit of PyBullet, reset, and two workers.

The raw limit replays what an episode asked of PyBullet (the same bodies, velocities, simulator steps, poses, contacts
and camera images) without our Python around it, when the policy looks at both cameras at every step. The oracle
looks at none, so nothing is drawn for it. Where `VIMA_BENCH_ROOT` names a checkout of the original (and
`pytest-vla install vima_upstream` was run), its own expert plays there in the same run; elsewhere the figure is one
that was measured before.
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest_vla as vla

TARGET = {
    "cpu_s_per_episode": 0.03,
    "times_faster_than_the_original": 100.0,
    "raw_ratio": 0.85,
    "reset_ms": 20.0,
    "speedup_two_workers": 1.8,
}
ORIGINAL_CPU_S = 2.49  # per oracle episode, measured on the original
RECORDED = (
    "stepSimulation", "resetBaseVelocity", "getCameraImage", "createMultiBody", "createCollisionShape",
    "changeDynamics", "resetSimulation", "setGravity", "setPhysicsEngineParameter", "createConstraint",
    "removeConstraint", "setCollisionFilterPair", "removeBody", "changeVisualShape", "resetBasePositionAndOrientation",
    "getBasePositionAndOrientation", "getBaseVelocity", "getContactPoints", "getAABB",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer episodes")
    count = 4 if parser.parse_args().quick else 12
    load = os.getloadavg()[0]
    figures = {**measure_episodes(count), **measure_two_workers(8 if count == 4 else 25)}
    original = measure_original(1 if count == 4 else 2)
    figures["original_cpu_s"] = round(original or ORIGINAL_CPU_S, 3)
    figures["times_faster_than_the_original"] = round((original or ORIGINAL_CPU_S) / figures["cpu_s_per_episode"], 1)
    ok = (
        figures["cpu_s_per_episode"] <= TARGET["cpu_s_per_episode"]
        and figures["times_faster_than_the_original"] >= TARGET["times_faster_than_the_original"]
        and figures["raw_ratio"] >= TARGET["raw_ratio"]
        and figures["reset_ms"] <= TARGET["reset_ms"]
        and figures["speedup_two_workers"] >= TARGET["speedup_two_workers"]
    )
    measured = {"original_measured_here": original is not None, "load_before": round(load, 1)}
    print(json.dumps({"name": "vima", **figures, **measured, "target": TARGET, "ok": ok}))


def measure_episodes(count: int) -> dict[str, float]:
    """Averages over the 17 tasks, each on a table that has been used before."""
    suite: Any = vla.get_suite("vima")
    env: Any = suite.make_env("rotate")
    oracle = suite.oracle(env)
    looking = Looking(oracle)
    seconds, looked, raw, resets = [], [], [], []
    for task in suite.tasks():
        partitions = [partition for name, partition in suite.cells() if name == task]
        keys = [suite.episode(task, partitions[i % len(partitions)], i) for i in range(count)]
        play(looking, env, keys)  # meshes and textures are made once
        blind = fastest(lambda keys=keys: play(oracle, env, keys)) / count
        cpu = fastest(lambda keys=keys: play(looking, env, keys)) / count
        calls = record(env, lambda keys=keys: play(looking, env, keys))
        limit = fastest(lambda calls=calls: replay(calls)) / count
        reset = fastest(lambda keys=keys: [env.reset(options={"episode": key}) for key in keys]) / count
        print(
            f"{task:28s} {blind * 1e3:6.1f} ms an episode, {cpu * 1e3:6.1f} with pictures, "
            f"raw {limit * 1e3:6.1f}, reset {reset * 1e3:5.1f}"
        )
        seconds.append(blind)
        looked.append(cpu)
        raw.append(limit)
        resets.append(reset)
    env.close()
    return {
        "cpu_s_per_episode": round(statistics.mean(seconds), 4),
        "cpu_s_with_pictures": round(statistics.mean(looked), 4),
        "raw_ratio": round(statistics.mean(raw) / statistics.mean(looked), 3),
        "reset_ms": round(statistics.mean(resets) * 1e3, 2),
    }


class Looking(vla.Policy):
    """Another policy that looks at both cameras before it acts."""

    def __init__(self, policy: vla.Policy) -> None:
        self.policy = policy

    def act(self, observations: Sequence[Any], states: Sequence[Any]) -> Sequence[Any]:
        for seen in observations:
            for part in ("images", "segmentation"):
                dict(seen[part])
        return self.policy.act(observations, states)


def measure_original(episodes: int) -> float | None:
    """CPU-seconds of an episode of the original's expert, over the 17 tasks; None where the original is not here."""
    suite: Any = vla.get_suite("vima_upstream")
    missing = suite.missing()
    if missing is not None:
        print(f"the original is not here: it needs {missing.module}: {missing.install}")
        return None
    env: Any = suite.make_env("rotate")
    oracle, seconds = suite.oracle(env), []
    for task in suite.tasks():
        partition = next(partition for name, partition in suite.cells() if name == task and partition != "train")
        for index in range(episodes):
            key = suite.episode(task, partition, index)
            env.reset(options={"episode": key})  # a world that is open already, as ours is
            start = child_cpu_s(env.pid)
            vla.rollout(oracle, env, key)
            seconds.append(child_cpu_s(env.pid) - start)
        print(f"{task:28s} {statistics.mean(seconds[-episodes:]) * 1e3:7.0f} ms an episode of the original")
    env.close()
    return statistics.mean(seconds)


def child_cpu_s(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def play(oracle: vla.Policy, env: Any, keys: list[vla.EpisodeKey]) -> None:
    for key in keys:
        assert vla.rollout(oracle, env, key), key


def fastest(run: Callable[[], Any], times: int = 3) -> float:
    """CPU-seconds of the fastest of some runs."""

    def once() -> float:
        start = time.process_time()
        run()
        return time.process_time() - start

    return min(once() for _ in range(times))


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
