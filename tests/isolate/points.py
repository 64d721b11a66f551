"""The suite of the tests' world, in an environment that is this very interpreter."""

import json
import os
import sys
from pathlib import Path

import gymnasium
import numpy as np

from pytest_vla.isolate.suite import IsolatedSuite

TASKS = ("steady", "crashes", "exits", "hangs", "raises", "eats", "prints", "never_opens", "draws")


class PointsSuite(IsolatedSuite):
    name = "points"
    environment = "points"
    cameras = ("camera0", "camera1")
    state_keys = ("at",)
    has_oracle = True

    def cells(self):
        return [(task, "plain") for task in TASKS]

    def step_limit(self, task):
        return 20

    def action_space(self, task):
        return gymnasium.spaces.Box(-0.5, 0.5, (3,), np.float32)

    def options(self, task):
        return {"size": 32}

    @property
    def world(self):
        return Path(__file__).parent / "world.py"


class ManyPointsSuite(PointsSuite):
    """The same, several episodes at once."""

    name = "many"
    test_file = Path(__file__).parent / "test_many.py"
    cameras = ()
    batch = 4


class PartsSuite(PointsSuite):
    """The same, with one task in an environment of its own."""

    name = "parts"
    test_file = Path(__file__).parent / "test_parts.py"

    def cells(self):
        return [("steady", "plain"), ("prints", "plain"), ("draws", "plain")]

    def environment_of(self, task):
        return "others" if task == "prints" else self.environment


DECLARATION = 'python = ["3.11", "3.12", "3.13"]\nrequirements = ["numpy"]\n'


def declare(folder: Path, text: str = DECLARATION, lock: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "environment.toml").write_text(text)
    if lock:
        (folder / "requirements.lock").write_text(lock)
    return folder


def pretend_installed(root: Path, name: str, fingerprint: str) -> None:
    """A folder like that of an installed environment, with our own interpreter."""
    binaries = root / name / "venv" / "bin"
    binaries.mkdir(parents=True)
    script = binaries / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    receipt = {"fingerprint": fingerprint, "python": "3", "packages": ["numpy==2"], "bytes": 7, "seconds": 1.0}
    (root / name / "installed.json").write_text(json.dumps(receipt))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
