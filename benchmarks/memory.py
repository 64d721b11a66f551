"""How memory grows with episodes: what controller and worker keep of each, and what a native suite leaks.

python -m benchmarks.memory           100,000 episodes that do nothing with -n 2, then 5,000 of each native suite
python -m benchmarks.memory --quick   6,000 and 300
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NOTHING = """
import gymnasium, numpy as np
import pytest_vla as vla


class Env(gymnasium.Env):
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        return {"images": {}, "state": {}, "instruction": ""}, {}

    def step(self, action):
        return {"images": {}, "state": {}, "instruction": ""}, 0.0, True, False, {"success": True}


class Nothing(vla.Suite):
    name = "nothing"

    def cells(self):
        return [("nothing", "all")]

    def make_env(self, task):
        return Env()

    def step_limit(self, task):
        return 1


@vla.benchmark(Nothing())
def test_nothing(policy, env, episode):
    assert vla.rollout(policy, env, episode)
"""
CONTROLLER_BYTES, WORKER_BYTES = 2048, 512
GROWTH = 0.10
WARM = 0.3  # of the episodes: what is allocated once comes before
CELLS = {"vima": 42, "bomb": 10, "bomb_bullet": 10, "agnostos_floating": 41}
PERIOD_S = 0.2
PLAIN = ("-q", "-p", "no:cacheprovider", "-p", "no:syrupy", "--vla-run-dir=run")

Sample = tuple[int, int, int]  # episodes that had ended, and the bytes of the controller and of its largest child


def rss(process: int) -> int:
    try:
        fields = Path(f"/proc/{process}/statm").read_text().split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGESIZE")


def children(process: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def watched(folder: Path, *options: str) -> list[Sample]:
    """Run pytest and look at its memory while it runs."""
    command = [sys.executable, "-m", "pytest", *PLAIN, *options]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    samples, ended, place = [], 0, 0
    while process.poll() is None:
        time.sleep(PERIOD_S)
        try:
            with (folder / "run" / "run.jsonl").open("rb") as file:
                file.seek(place)
                ended += file.read().count(b'"type": "episode"')
                place = file.tell()
        except OSError:
            continue
        own, workers = rss(process.pid), [rss(child) for child in children(process.pid)]
        if own and workers:
            samples.append((ended, own, max(workers)))
    return samples


def slope(samples: list[Sample], column: int) -> float:
    """Bytes an episode after the warm-up: the line through all samples, by least squares."""
    import numpy as np

    last = samples[-1][0]
    points = np.array([(sample[0], sample[column]) for sample in samples if WARM * last <= sample[0] < last], float)
    return float(np.polyfit(points[:, 0], points[:, 1], 1)[0])


def growth(samples: list[Sample], column: int) -> float:
    """By how much the largest memory of the last tenth is above that right after the warm-up."""
    last = samples[-1][0]
    early = [sample[column] for sample in samples if WARM * last <= sample[0] <= (WARM + 0.1) * last]
    late = [sample[column] for sample in samples if sample[0] >= 0.9 * last]
    return max(late) / max(early) - 1


def kept_of_episodes(folder: Path, count: int) -> dict[str, float]:
    """Bytes that the controller and a worker keep of an episode that does nothing."""
    (folder / "test_nothing.py").write_text(NOTHING)
    samples = watched(folder, "--vla-policy=noop", f"--vla-episodes={count}", "-n", "2")
    worker = 2 * slope(samples, 2)  # each of the two has half of the episodes
    return {"controller_bytes": round(slope(samples, 1)), "worker_bytes": round(worker)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--suites", default=",".join(CELLS), help="(default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = kept_of_episodes(Path(folder), 6_000 if options.quick else 100_000)
    print(f"an episode: {kept}")
    grown = {}
    for suite in filter(None, options.suites.split(",")):
        count = (300 if options.quick else 5_000) // CELLS[suite]
        with tempfile.TemporaryDirectory() as folder:
            asked = ("--vla-policy=oracle", f"--vla-suite={suite}", f"--vla-episodes={count}", "-n", "1")
            grown[f"{suite}_growth"] = round(growth(watched(Path(folder), *asked), 2), 3)
        print(f"{suite}: a worker grows by {100 * grown[f'{suite}_growth']:.1f}% after the warm-up")
    ok = kept["controller_bytes"] <= CONTROLLER_BYTES and kept["worker_bytes"] <= WORKER_BYTES
    ok = ok and all(value <= GROWTH for value in grown.values())
    target = {"controller_bytes": CONTROLLER_BYTES, "worker_bytes": WORKER_BYTES, "growth": GROWTH}
    print(json.dumps({"name": "memory", **kept, **grown, "target": target, "ok": ok}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
