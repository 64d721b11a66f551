"""Both simulators of the suite, each with one environment for all tests: that sharing it is harmless is tested too."""

from __future__ import annotations

import pytest

pytest.importorskip("mujoco")
pytest.importorskip("pybullet")

SUITES = ("bomb", "bomb_bullet")


@pytest.fixture(scope="session", params=SUITES)
def suite(request):
    from pytest_vla.registry import get_suite

    return get_suite(request.param)


@pytest.fixture(scope="session")
def env(suite):
    env = suite.make_env("place_stone")
    yield env
    env.close()


@pytest.fixture(scope="session")
def bomb():
    from pytest_vla.registry import get_suite

    return get_suite("bomb")


@pytest.fixture(scope="session")
def bomb_env(bomb):
    env = bomb.make_env("place_stone")
    yield env
    env.close()
