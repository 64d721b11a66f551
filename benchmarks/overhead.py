"""What the plugin costs: episodes against a bare loop, workers and collection against a plain parametrize."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

COLLECTED = 3
"""Readings of each collection: the fastest counts, as it does of episodes."""
TARGET = {"episodes_ratio": 0.95, "beside_plain_pytest": 0.98, "collection_ratio": 1.1, "worker_cpu_ms": 2.8}

LOOKING = """
import pytest_vla as vla

class Looking(vla.Policy):
    \"\"\"The oracle with open eyes: it does not need the pictures of both cameras, but a policy does.\"\"\"

    def __init__(self, policy):
        self.policy, self.spec = policy, policy.spec

    def reset(self, episode):
        return self.policy.reset(episode)

    def act(self, observations, states):
        for observation in observations:
            dict(observation["images"])
        return self.policy.act(observations, states)
"""

BARE_LOOP = """
import json, time
import pytest_vla as vla
from looking import Looking

suite = vla.get_suite("vima")
env = suite.make_env("rotate")  # one environment serves all tasks
policy = suite.oracle(env)
ends = []
for task, partition, index in json.load(open("keys.json")):
    assert vla.rollout(Looking(policy), env, suite.episode(task, partition, index))
    ends.append(time.process_time())
print(json.dumps(ends))
"""

ITEMS = """
import pytest_vla as vla
from looking import Looking

@vla.benchmark("vima")
def test_vima(policy, env, episode):
    assert vla.rollout(Looking(policy), env, episode)
"""

PLAIN_ITEMS = """
import json
import pytest
import pytest_vla as vla
from looking import Looking

suite = vla.get_suite("vima")
env = suite.make_env("rotate")
policy = suite.oracle(env)

@pytest.mark.parametrize("key", json.load(open("keys.json")))
def test_plain(key):
    assert vla.rollout(Looking(policy), env, suite.episode(*key))
"""

TIMED_ITEMS = """
import json, time
import pytest

ends = []

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    done = yield
    ends.append(time.process_time())
    return done

def pytest_collection_finish(session):
    keys = [item.callspec.params.get("episode") for item in session.items]
    if all(keys):  # what the other programs run, too
        with open("keys.json", "w") as file:
            json.dump([[key.task, key.partition, key.index] for key in keys], file)

def pytest_sessionfinish(session):
    with open("ends.json", "w") as file:
        json.dump(ends, file)
"""

PLAIN = """
import pytest

@pytest.mark.parametrize("episode", range({count}))
def test_plain(episode):
    pass
"""

EPISODES = """
import pytest_vla as vla

class Many(vla.Suite):
    name = "many"
    def cells(self): return [("task", "partition")]
    def make_env(self, task): raise AssertionError
    def step_limit(self, task): return 1

@vla.benchmark(Many(), episodes={count})
def test_many(policy, env, episode):
    pass
"""

NOTHING = """
import gymnasium
import pytest_vla as vla

class Nothing(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return {{"images": {{}}, "state": {{}}, "instruction": "Do nothing."}}, {{}}
    def step(self, action):
        return self.reset()[0], 0.0, True, False, {{"success": True}}

class NothingSuite(vla.Suite):
    name = "nothing"
    def cells(self): return [("task", "partition")]
    def make_env(self, task): return Nothing()
    def step_limit(self, task): return 1

@vla.benchmark(NothingSuite(), episodes={count})
def test_nothing(policy, env, episode):
    assert vla.rollout(policy, env, episode)
"""

COLLECT = """
import sys, time
import pytest

class Clock:
    def pytest_collection(self, session):
        self.start = time.process_time()
    def pytest_collection_finish(self, session):
        print("SECONDS", time.process_time() - self.start, len(session.items))

options = ["--collect-only", "-qq", "--vla-policy=noop", "-p", "no:cacheprovider"]
sys.exit(pytest.main([*sys.argv[1:], *options], [Clock()]))
"""


PLUGINS = ("-p", "pytest_vla.plugin", "-p", "xdist")
"""What is measured; whatever other plugins are installed here would be counted as ours."""


def run(folder: Path, *command: str) -> str:
    """What a program prints: to a file, since letters that someone waits for at a pipe cost the writer."""
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    output = folder / "output.txt"
    with output.open("w") as file:
        status = subprocess.run([sys.executable, *command], cwd=folder, env=alone, stdout=file, stderr=file).returncode
    if status not in (0, 1):
        raise SystemExit(f"{' '.join(command)} failed:\n{output.read_text()}")
    return output.read_text()


def episode_seconds(folder: Path, *selection: str) -> dict[str, list[float]]:
    """CPU seconds of each episode of VIMA: as an item with a run file, as a plain pytest item, in a bare loop.

    The first one makes the simulator, and is left out of all three.
    """
    programs = (("looking", LOOKING), ("timed", TIMED_ITEMS), ("test_items", ITEMS), ("test_plain", PLAIN_ITEMS))
    for name, text in programs:
        (folder / f"{name}.py").write_text(text)
    ours = run(folder, "-m", "pytest", *PLUGINS, "-p", "timed", "test_items.py", "--vla-policy=oracle", *selection)
    assert "passed" in ours, ours
    items = json.loads((folder / "ends.json").read_text())
    run(folder, "-m", "pytest", "-p", "timed", "test_plain.py")
    plain = json.loads((folder / "ends.json").read_text())
    *_, bare = run(folder, "-c", BARE_LOOP).splitlines()
    return {"bare": differences(json.loads(bare)), "plain": differences(plain), "items": differences(items)}


def fastest_milliseconds(folder: Path, repeats: int, *selection: str) -> dict[str, float]:
    """The mean of an episode in each program, every episode at its fastest: whatever else the machine does adds."""
    rounds = [episode_seconds(folder, *selection) for _ in range(repeats)]
    return {
        program: 1e3 * sum(map(min, zip(*(each[program] for each in rounds), strict=True))) / len(rounds[0][program])
        for program in rounds[0]
    }


def differences(ends: list[float]) -> list[float]:
    return [end - start for start, end in pairwise(ends)]


def collection_seconds(folder: Path, source: str, count: int) -> float:
    """CPU seconds that pytest takes to collect `count` items."""
    path = folder / "test_collected.py"
    path.write_text(source.format(count=count))
    output = run(folder, "-c", COLLECT, path.name, *PLUGINS)
    (line,) = [line for line in output.splitlines() if line.startswith("SECONDS")]
    _, seconds, collected = line.split()
    assert int(collected) == count, f"collected {collected} of {count}"
    return float(seconds)


def worker_milliseconds(folder: Path, source: str, count: int) -> float:
    """CPU milliseconds of all processes for an item that does nothing, with two workers."""
    path = folder / "test_worked.py"
    path.write_text(source.format(count=count))
    before = _children_seconds()
    run(folder, "-m", "pytest", *PLUGINS, path.name, "-n2", "-q", "--vla-policy=noop", "-p", "no:cacheprovider")
    return 1e3 * (_children_seconds() - before) / count


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer episodes and items, for a smoke test")
    quick = parser.parse_args().quick
    repeats, sizes, worked = (2, (2_000, 10_000), 1_000) if quick else (7, (10_000, 100_000), 8_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        episodes = {
            "all 42 cells": fastest_milliseconds(folder, repeats, f"--vla-episodes={1 if quick else 2}"),
            "rotate": fastest_milliseconds(
                folder, repeats, "--vla-task=rotate", f"--vla-episodes={2 if quick else 25}"
            ),
        }
        for what, ms in episodes.items():
            print(
                f"{what}, each episode at the fastest of {repeats}: bare {ms['bare']:.2f} ms, "
                f"plain pytest items {ms['plain']:.2f} ms, ours {ms['items']:.2f} ms"
            )
        ratio = episodes["all 42 cells"]["bare"] / episodes["all 42 cells"]["items"]
        beside_plain = episodes["rotate"]["plain"] / episodes["rotate"]["items"]
        plain_ms, ours_ms = (worker_milliseconds(folder, source, worked) for source in (PLAIN, NOTHING))
        print(
            f"-n 2, {worked:,} items that do nothing: parametrize {plain_ms:.2f} ms of CPU, episodes {ours_ms:.2f} ms"
        )
        collection = {}
        for size in sizes:
            readings = [
                [collection_seconds(folder, source, size) for source in (PLAIN, EPISODES)] for _ in range(COLLECTED)
            ]
            plain, ours = map(min, zip(*readings, strict=True))
            collection[size] = {"us_per_item": round(1e6 * ours / size, 1), "ratio": round(ours / plain, 3)}
            print(
                f"collect {size:7,} items: parametrize {1e6 * plain / size:5.1f} us/item, "
                f"episodes {1e6 * ours / size:5.1f} us/item, ratio {ours / plain:.2f}"
            )
    growth = collection[sizes[1]]["us_per_item"] / collection[sizes[0]]["us_per_item"]
    worst = max(cell["ratio"] for cell in collection.values())
    print(
        json.dumps(
            {
                "name": "overhead",
                "ratio": round(ratio, 3),
                "cheapest_task_beside_plain_pytest": round(beside_plain, 3),
                "episode_ms": {what: {k: round(v, 2) for k, v in ms.items()} for what, ms in episodes.items()},
                "worker_cpu_ms": {"plain": round(plain_ms, 2), "episodes": round(ours_ms, 2)},
                "collection": collection,
                "collection_growth_per_item": round(growth, 2),
                "target": TARGET,
                "ok": ratio >= TARGET["episodes_ratio"]
                and beside_plain >= TARGET["beside_plain_pytest"]
                and worst <= TARGET["collection_ratio"]
                and ours_ms <= TARGET["worker_cpu_ms"],
            }
        )
    )


if __name__ == "__main__":
    main()
