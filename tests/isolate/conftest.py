"""An environments' folder of the test's own, in which `points` is installed: it is the interpreter of the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from points import PointsSuite, declare, pretend_installed  # noqa: E402


@pytest.fixture
def environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for environments, and none declared but `points`."""
    from pytest_vla.isolate import environment

    root = tmp_path / "envs"
    root.mkdir()
    monkeypatch.setenv(environment.FOLDER_VARIABLE, str(root))
    declared = {"points": declare(tmp_path / "declared" / "points")}
    monkeypatch.setattr(environment, "declarations", lambda: declared)
    return root


@pytest.fixture
def points(environments: Path, monkeypatch: pytest.MonkeyPatch):
    """The suite `points`, installed."""
    from pytest_vla.isolate.environment import environment
    from pytest_vla.registry import register
    from pytest_vla.suite import provide

    pretend_installed(environments, "points", environment("points").fingerprint)
    monkeypatch.setattr("pytest_vla.registry._registered", {})
    provide()
    return register(PointsSuite())
