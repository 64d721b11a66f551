"""LeRobot's own interpreter; tests that ask it run where `pytest-vla install lerobot` was done."""

import os
import subprocess

import pytest

from pytest_vla.isolate.environment import environment, python_of
from pytest_vla.isolate.family import has_environment

if not has_environment("lerobot"):
    pytest.skip("LeRobot is not installed: pytest-vla install lerobot", allow_module_level=True)


def lerobots_python(*arguments: object) -> str:
    """What a script of its says."""
    command = [str(python_of(environment("lerobot").folder)), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
    return done.stdout
