"""The suite with the arm and one environment for all tests of this folder; the other modes make their own."""

from __future__ import annotations

import pytest

pytest.importorskip("mujoco")
pytest.importorskip("mink")
pytest.importorskip("ompl")


@pytest.fixture(scope="session")
def suite():
    from pytest_vla.registry import get_suite

    return get_suite("agnostos")


@pytest.fixture(scope="session")
def env(suite):
    env = suite.make_env("close_jar")
    yield env
    env.close()


@pytest.fixture(scope="session")
def split_of(suite):
    """The partition of each task."""
    return {task: partition for task, partition in suite.cells() if partition in suite.default_partitions()}
