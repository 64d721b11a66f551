"""What a large plan costs before its first episode: seconds, and the memory of a worker and of the controller."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUITE = """
import gymnasium, numpy as np
import pytest_vla as vla

class Still(gymnasium.Env):
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    observation_space = gymnasium.spaces.Dict({})

    def _seen(self):
        return {"images": {}, "state": {"place": np.zeros(2, np.float32)}, "instruction": "stay"}

    def reset(self, *, seed=None, options=None):
        return self._seen(), {}

    def step(self, action):
        return self._seen(), 0.0, True, False, {"success": True}

class StillSuite(vla.Suite):
    name, version, state_keys = "still", "1", ("place",)

    def cells(self):
        return [(f"stay{number}", "all") for number in range(10)]

    def make_env(self, task):
        return Still()

    def step_limit(self, task):
        return 1

@vla.benchmark(StillSuite())
def test_still(policy, env, episode):
    assert vla.rollout(policy, env, episode)
"""


def measure(episodes: int, workers: int = 8, options: tuple[str, ...] = (), limit_s: float = 300.0) -> dict[str, float]:
    """Seconds until the first episode of such a plan is written, and the largest memory until then, in MB."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_still.py").write_text(SUITE)
        command = [sys.executable, "-m", "pytest", "test_still.py", "--vla-policy=noop", f"-n{workers}", "-q"]
        command += [f"--vla-episodes={episodes // 10}", "--vla-run-dir=run", "-p", "no:cacheprovider", *options]
        began = time.monotonic()
        controller = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True)
        worker_mb = controller_mb = 0.0
        try:
            while not (first := _has_episode(Path(folder, "run", "run.jsonl"))) and time.monotonic() - began < limit_s:
                worker_mb = max([worker_mb, *map(memory_mb, children(controller.pid))])
                controller_mb = max(controller_mb, memory_mb(controller.pid))
                time.sleep(0.05)
            seconds = time.monotonic() - began
            for _ in range(20):  # what the first episodes add
                worker_mb = max([worker_mb, *map(memory_mb, children(controller.pid))])
                controller_mb = max(controller_mb, memory_mb(controller.pid))
                time.sleep(0.05)
        finally:
            os.killpg(controller.pid, signal.SIGKILL)
            controller.wait()
    return {
        "first_episode_s": round(seconds if first else float("inf"), 2),
        "worker_mb": round(worker_mb, 1),
        "controller_mb": round(controller_mb, 1),
    }


def memory_mb(process: int) -> float:
    """The largest memory that a process has had; 0 where there is none."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def children(process: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _has_episode(path: Path) -> bool:
    return path.exists() and b'"type": "episode"' in path.read_bytes()[-20000:]
