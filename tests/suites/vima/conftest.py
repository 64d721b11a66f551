"""One suite and one environment for all tests of this folder: what is tested includes that sharing them is harmless."""

from __future__ import annotations

import pytest

pytest.importorskip("pybullet")


@pytest.fixture(scope="session")
def suite():
    from pytest_vla.suites.vima.benchmark import VimaSuite

    return VimaSuite()


@pytest.fixture(scope="session")
def env(suite):
    env = suite.make_env("rotate")
    yield env
    env.close()


@pytest.fixture(scope="session")
def strict_suite():
    from pytest_vla.suites.vima.benchmark import VimaSuite

    return VimaSuite("vima_strict", rules="strict")
