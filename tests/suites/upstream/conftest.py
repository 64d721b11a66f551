"""Upstream's own simulators, where they are installed; a file whose environment is not there is one skip."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

SUITES = Path(__file__).parents[3] / "suites"


@pytest.fixture(scope="module")
def suite(request: pytest.FixtureRequest):
    """The suite that the test file names in NAME."""
    from pytest_vla.registry import typed_suite

    return typed_suite(request.module.NAME)


@pytest.fixture(scope="module")
def env(suite):
    env = suite.make_env(suite.tasks()[0])
    yield env
    env.close()


@pytest.fixture
def begin(suite, env):
    """The first observation of an episode."""

    def reset(task: str, partition: str, index: int = 0):
        key = suite.episode(task, partition, index)
        return env.reset(seed=key.seed(), options={"episode": key})[0]

    return reset


@pytest.fixture
def upstream(suite):
    """Runs code in the suite's interpreter, which prints one line of JSON; `World` is the class of its world.py."""
    from pytest_vla.isolate.rendering import VARIABLE, renderer_of

    def run(code: str):
        launch = suite.launch()
        prelude = (
            "import importlib.util, json, sys\n"
            f"spec = importlib.util.spec_from_file_location('world', {str(launch.world)!r})\n"
            "world = importlib.util.module_from_spec(spec); spec.loader.exec_module(world); World = world.World\n"
        )
        variables = dict(launch.variables)
        if suite.declared.renders:
            variables[VARIABLE] = renderer_of(suite.declared)
        done = subprocess.run(
            [str(launch.python), "-c", prelude + code], capture_output=True, text=True, env=variables, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
