"""RLBench: our half, and, where RLBENCH_ROOT names a checkout, that what the world uses of it is there."""

import ast
import os
import re
from pathlib import Path

import pytest
from pytest_vla.suites.rlbench.benchmark import COPPELIA, RLBenchSuite

from pytest_vla.registry import get_suite
from pytest_vla.suite import provide

WORLD = Path(__file__).parents[3] / "suites" / "rlbench" / "world.py"
FORKED = {"place_wine_at_rack_location", "slide_block_to_color_target", "sweep_to_dustpan_of_size"}
CHECKOUT = os.environ.get("RLBENCH_ROOT")


@pytest.fixture
def suite(monkeypatch, tmp_path):
    monkeypatch.setattr(RLBenchSuite, "_missing_environment", lambda self, name: None)
    monkeypatch.delenv("DISPLAY", raising=False)
    provide([f"rlbench={tmp_path}"])
    yield RLBenchSuite()
    provide()


def test_the_tasks_and_levels_are_those_of_agnostos():
    cells = get_suite("rlbench").cells()
    levels = [level for _, level in cells]
    assert (len(cells), levels.count("seen"), levels.count("unseen_level1"), levels.count("unseen_level2")) == (
        41,
        18,
        13,
        10,
    )
    assert set(get_suite("rlbench").unseen_tasks()) == {task for task, level in cells if level != "seen"}


def test_what_is_absent_is_said_one_after_the_other(suite, tmp_path, monkeypatch):
    for name in suite.data:
        assert suite.missing().module == f"'{tmp_path / name}'"
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    assert suite.missing().install == "xvfb-run -a pytest ..."
    monkeypatch.setenv("DISPLAY", ":9")
    assert suite.missing() is None
    assert "PerAct's fork" in suite.missing_in("close_jar").module
    (tmp_path / "RLBench" / "rlbench" / "tasks").mkdir()
    (tmp_path / "RLBench" / "rlbench" / "tasks" / "close_jar.py").touch()
    assert suite.missing_in("close_jar") is None


def test_without_it_a_run_is_one_skip_with_the_reason(numpy_stays, pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_VLA_ENVS", str(pytester.path / "empty"))
    result = pytester.runpytest_subprocess("--vla-suite=rlbench", "--vla-policy=random", "--vla-episodes=1", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*suite 'rlbench' needs the environment 'rlbench': pytest-vla install rlbench*"])


def test_the_child_is_told_where_the_simulator_is_before_it_starts(suite, tmp_path, monkeypatch):
    from pytest_vla.isolate.process import Launch
    from pytest_vla.isolate.suite import IsolatedSuite

    plain = Launch(Path("python"), WORLD, {"LD_LIBRARY_PATH": "/usr/lib"})
    monkeypatch.setattr(IsolatedSuite, "launch", lambda self, task="": plain)
    variables = suite.launch("close_jar").variables
    root = str(tmp_path / COPPELIA)
    assert variables["COPPELIASIM_ROOT"] == variables["QT_QPA_PLATFORM_PLUGIN_PATH"] == root
    assert variables["LD_LIBRARY_PATH"] == f"{root}:/usr/lib"


@pytest.mark.skipif(CHECKOUT is None, reason="RLBENCH_ROOT names no checkout of RLBench")
def test_what_the_world_uses_is_in_the_source():
    root = Path(str(CHECKOUT))
    for node in ast.walk(ast.parse(WORLD.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rlbench"):
            source = (root / node.module.replace(".", "/")).with_suffix(".py").read_text()
            for name in node.names:
                assert re.search(rf"^(class|def) {name.name}\b", source, re.M), f"{node.module} has no {name.name}"
    parts = {
        "environment.py": ["def launch", "def get_task", "def shutdown", "headless", "obs_config"],
        "task_environment.py": ["def set_variation", "def reset", "def step", "def get_observation"],
        "observation_config.py": [
            "task_low_dim_state",
            "image_size",
            *(f"{name}_camera" for name in ("front", "wrist")),
        ],
        "backend/observation.py": ["gripper_pose", "gripper_open", "joint_positions", "overhead_rgb"],
    }
    for file, words in parts.items():
        source = (root / "rlbench" / file).read_text()
        assert all(word in source for word in words), file
    tasks = {path.stem for path in (root / "rlbench" / "tasks").glob("*.py")}
    assert set(get_suite("rlbench").tasks()) - tasks <= FORKED
