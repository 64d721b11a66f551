"""The worked example as a suite, with one environment for all tests: that sharing it is harmless is tested too."""

import importlib.util
from pathlib import Path

import pytest

WORKBENCH = Path(__file__).parents[2] / "docs" / "examples" / "workbench"


@pytest.fixture(scope="session")
def workbench():
    pytest.importorskip("mujoco")
    from pytest_vla.registry import register

    spec = importlib.util.spec_from_file_location("workbench", WORKBENCH / "workbench.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return register(module.WorkbenchSuite())


@pytest.fixture(scope="session")
def env(workbench):
    env = workbench.make_env("press_button")
    yield env
    env.close()
