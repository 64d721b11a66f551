"""What only Linux has is switched off: runs are the same without it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
POLICY = """
import numpy as np
import pytest_vla as vla


class Straight(vla.Policy):
    def act(self, observations, states):
        return [np.clip(o["state"]["goal"] - o["state"]["at"], -1, 1) for o in observations]


class Sleeps(vla.Policy):
    def act(self, observations, states):
        import time
        time.sleep(60)
"""


@pytest.fixture
def folder(reach):
    (reach.path / "mine.py").write_text(POLICY)
    return reach.path


def run(folder, name, *options, elsewhere=True, without=""):
    path = os.pathsep.join([str(HERE)] * elsewhere + [os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "test_reach.py", "-p", "no:syrupy", "--vla-episodes=2"]
    command += [f"--vla-run-dir={name}", *options]
    environment = {**os.environ, "PYTHONPATH": path, "WITHOUT": without}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    lines = [json.loads(line) for line in (folder / name / "run.jsonl").read_text().splitlines()]
    return done, {(e["task"], e["partition"], e["index"]): e for e in lines if e["type"] == "episode"}, lines


def test_the_parts_are_off(folder):
    code = "import os, signal, multiprocessing as m; print(hasattr(os, 'memfd_create'), hasattr(os, 'eventfd'),"
    code += " hasattr(signal, 'setitimer'), m.get_start_method())"
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False", "False", "spawn"]


@pytest.mark.parametrize(
    ("workers", "without"),
    [((), ""), (("-n2",), ""), (("-n2",), "AF_UNIX")],
    ids=["alone", "served", "no-unix-sockets"],
)
def test_a_run_without_the_parts_of_linux_has_the_same_bits(folder, workers, without):
    options = ["--vla-policy=mine:Straight", "--vla-deterministic", *workers]
    _, here, _ = run(folder, "here", *options, elsewhere=False)
    done, there, lines = run(folder, "there", *options, without=without)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(here) == 8
    assert {key: e["digest"] for key, e in there.items()} == {key: e["digest"] for key, e in here.items()}
    served = any(line["type"] == "inference" and line["requests"] for line in lines)
    assert served == (bool(workers) and not without)


def test_a_served_policy_that_hangs_is_a_time_out_without_interval_timers(folder):
    options = ["--vla-policy=mine:Sleeps", "--vla-task=near", "--vla-partition=calm", "--vla-episodes=1"]
    _, episodes, _ = run(folder, "there", *options, "-n1", "--vla-timeout=2")
    assert [(e["outcome"], e["reason"]) for e in episodes.values()] == [("error", "timeout")]
