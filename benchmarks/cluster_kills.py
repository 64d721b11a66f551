"""Kill -9 of an actor, a replica, a raylet, the driver at random times: nothing finished is lost, redone or doubled."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.cluster_hosts import Hosts

SUITE = """
import hashlib, os, time
import gymnasium, numpy as np
import pytest_vla as vla

class Painted(gymnasium.Env):
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    observation_space = gymnasium.spaces.Dict({})

    def _seen(self):
        self.picture = self.rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)
        state = {"step": np.full(1, self.steps, np.float32)}
        return {"images": {"front": self.picture}, "state": state, "instruction": "look"}

    def reset(self, *, seed=None, options=None):
        self.rng, self.steps, self.states = np.random.default_rng(seed), 0, hashlib.sha256()
        return self._seen(), {}

    def step(self, action):
        time.sleep(float(os.environ.get("PYTEST_VLA_STEP_S", 0)))
        self.steps += 1
        self.states.update(np.asarray(action, np.float32).tobytes() + self.picture.tobytes())
        return self._seen(), 0.0, self.steps >= 5, False, {"success": self.steps >= 5}

class PaintedSuite(vla.Suite):
    name, version, cameras, state_keys = "painted", "1", ("front",), ("step",)

    def cells(self):
        return [(f"look{number}", "all") for number in range(4)]

    def make_env(self, task):
        return Painted()

    def step_limit(self, task):
        return 6

    def digest(self, env):
        return env.states.hexdigest()[:16]

@vla.benchmark(PaintedSuite())
def test_painted(policy, env, episode):
    assert vla.rollout(policy, env, episode)
"""

POLICY = """
import numpy as np
import pytest_vla as vla

class Mean(vla.Policy):
    spec = vla.PolicySpec(cameras=("front",))

    def reset(self, episode):
        return None

    def act(self, observations, states):
        return [np.full(2, np.asarray(each["images"]["front"]).mean() / 255, np.float32) for each in observations]

def make():
    return Mean()
"""


def prepare(folder: Path) -> None:
    (folder / "test_painted.py").write_text(SUITE)
    (folder / "mean_policy.py").write_text(POLICY)


def command(run: str, *options: str, episodes: int = 10) -> list[str]:
    base = [sys.executable, "-m", "pytest", "test_painted.py", "--vla-policy=mean_policy:make", "-q"]
    return [*base, f"--vla-episodes={episodes}", f"--vla-run-dir={run}", "-p", "no:cacheprovider", *options]


def episodes_of(path: Path) -> list[dict[str, Any]]:
    """The lines of episodes that are complete."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")[:-1]
    return [line for line in map(json.loads, lines) if line.get("type") == "episode"]


def answers(lines: list[dict[str, Any]]) -> dict[tuple[str, int], tuple[str, str]]:
    return {(line["task"], line["index"]): (line["outcome"], line["digest"]) for line in lines}


def faults(path: Path, reference: dict[tuple[str, int], tuple[str, str]], finished: list[dict[str, Any]]) -> list[str]:
    """What is wrong with a run after a kill: `finished` is what its file had before."""
    lines = episodes_of(path)
    keys = [(line["task"], line["index"]) for line in lines]
    found = [f"{key} twice" for key in {*keys} if keys.count(key) > 1]
    found += [f"{key} missing" for key in {*reference} - {*keys}]
    found += [f"{key} is {value}" for key, value in answers(lines).items() if value != reference.get(key, value)]
    if lines[: len(finished)] != finished:
        found.append("what was finished has changed")
    return found


class Kill:
    """One run on two hosts, during which one process is killed."""

    def __init__(self, hosts: Hosts, what: str, name: str, step_s: float, rng: random.Random, episodes: int) -> None:
        self.hosts, self.what, self.rng, self.episodes = hosts, what, rng, episodes
        self.run = f"runs/{name}"
        self.file = hosts.work / self.run / "run.jsonl"
        self.environment = {**hosts.environment, "PYTEST_VLA_STEP_S": str(step_s)}

    def go(self, reference: dict[tuple[str, int], tuple[str, str]]) -> list[str]:
        driver = self._start()
        planned = len(reference)
        wanted = self.rng.randrange(1, max(planned // 2, 2))
        until = time.monotonic() + 120
        while len(episodes_of(self.file)) < wanted and driver.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(self.rng.random() * 0.2)
        if driver.poll() is not None:
            return [f"the run ended with {driver.returncode} before anything was killed: {self._said()}"]
        finished = episodes_of(self.file)
        victims = self._victims(driver)
        if not victims:
            return [f"there is no {self.what} to kill"]
        victim = self.rng.choice(victims)
        os.kill(victim, signal.SIGKILL)
        if self.what == "driver":
            driver.wait()
            finished = episodes_of(self.file)
            time.sleep(1.0)
            driver = self._start("--vla-resume")
        if self.what == "raylet":
            time.sleep(1.0)
            self.hosts.stop(1)
            self.hosts.start(1)
        try:
            code = driver.wait(180)
        except subprocess.TimeoutExpired:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
            return [f"the run did not end: {self._said()}"]
        wrong = faults(self.file, reference, finished)
        return wrong + ([f"exit {code}: {self._said()}"] if code or wrong else [])

    def _start(self, *options: str) -> subprocess.Popen[bytes]:
        typed = command(self.run, self.hosts.engine, "-n4", *options, episodes=self.episodes)
        log = (self.hosts.work / f"{self.run.replace('/', '-')}.log").open("ab")
        with log:
            return subprocess.Popen(
                self.hosts.on(0, typed),
                stdout=log,
                stderr=log,
                env=self.environment,
                start_new_session=True,
            )

    def _victims(self, driver: subprocess.Popen[bytes]) -> list[int]:
        if self.what == "driver":
            return [driver.pid]
        if self.what == "raylet":
            return self.hosts.find(1, "raylet/raylet")
        name = {"actor": "ray::Seat", "replica": "ray::Replica"}[self.what]
        return [process for number in (0, 1) for process in self.hosts.find(number, name)]

    def _said(self) -> str:
        text = (self.hosts.work / f"{self.run.replace('/', '-')}.log").read_text(errors="replace")
        return text[-1500:]


def reference_of(folder: Path, episodes: int) -> dict[tuple[str, int], tuple[str, str]]:
    """The answers of a run on this machine alone."""
    subprocess.run(command("runs/local", "-n2", episodes=episodes), cwd=folder, check=True, capture_output=True)
    return answers(episodes_of(folder / "runs/local/run.jsonl"))


def measure(
    folder: Path, kinds: tuple[str, ...], times: int, episodes: int = 25, seed: int = 0, net: int = 77
) -> dict[str, Any]:
    """Kills of each kind, and what went wrong."""
    prepare(folder)
    reference = reference_of(folder, episodes)
    rng, wrong, done = random.Random(seed), list[str](), dict[str, int]()
    with Hosts(folder, net=net) as hosts:
        for what in kinds:
            for number in range(times):
                with suppress(ProcessLookupError):
                    found = Kill(hosts, what, f"{what}{number}", 0.05, rng, episodes).go(reference)
                    done[what] = done.get(what, 0) + 1
                    wrong += [f"{what} {number}: {each}" for each in found]
                    print(
                        f"kill -9 of {what} {number + 1} of {times}: {'ok' if not found else found[0][:300]}",
                        flush=True,
                    )
    return {"kills": done, "wrong": wrong}


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        print(json.dumps(measure(Path(made), tuple(sys.argv[1].split(",")), int(sys.argv[2]))))
