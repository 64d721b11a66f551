"""The worked example: a whole suite of parts in little code, which keeps the contract and stays solvable."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pytest_vla.perturb import AXES, CONTRADICTION
from pytest_vla.rollout import rollout
from pytest_vla.suite import SuiteError
from pytest_vla.testing import check_suite

WORKBENCH = Path(__file__).parents[2] / "docs" / "examples" / "workbench"
TASKS = ("press_button", "place_block", "open_drawer")


def first(suite, env, perturbation="", task="place_block", index=0):
    key = replace(suite.episode(task, "standard", index), perturbation=perturbation)
    observation, _ = env.reset(options={"episode": key})
    return suite.digest(env), observation["images"]["front"], observation["instruction"]


def test_the_worked_example_is_short():
    lines = [line for path in WORKBENCH.glob("*.py") for line in path.read_text().splitlines()]
    assert len(lines) < 250


def test_the_worked_example_keeps_the_contract(workbench):
    assert tuple(workbench.tasks()) == TASKS
    check_suite(workbench)


@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_solves_every_episode(workbench, env, task):
    for index in range(5):
        result = rollout(workbench.oracle(env), env, workbench.episode(task, "standard", index))
        assert result, result
        assert result.progress == 1


def scene_axes(suite):
    return [name for name in suite.axes() if AXES[name].stage == "scene"]


def test_every_scene_axis_has_its_effect_and_leaves_nothing_behind(workbench, env):
    digest, picture, words = first(workbench, env)
    for axis in scene_axes(workbench):
        if axis == "robot.rate":  # nobody sees how long an action will last
            continue
        state, other, told = first(workbench, env, f"{axis}=8")
        changed = state != digest or told != words or not np.array_equal(other, picture)
        assert changed, axis
        assert (told != words) == (axis == CONTRADICTION)
        if AXES[axis].group in ("camera", "light", "appearance"):
            assert state == digest, f"{axis} is to be seen, not felt"
    again, same, _ = first(workbench, env)
    assert again == digest
    assert np.array_equal(same, picture)


@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_solves_what_is_felt_at_its_most(workbench, env, task):
    for axis in scene_axes(workbench):
        if axis == "robot.rate":  # nobody sees how long an action will last
            continue
        if AXES[axis].group in ("layout", "object", "robot"):
            assert rollout(workbench.oracle(env), env, workbench.episode(task, "standard", 1), f"{axis}=8"), axis


def test_pressing_the_wrong_button_ends_the_episode(workbench, env):
    key = workbench.episode("press_button", "standard", 0)
    env.reset(options={"episode": key})
    _, wrong = env.instance.parts
    for z in (0.06, wrong.top_m - wrong.travel_m):
        for _ in range(12):
            _, _, over, _, info = env.step(np.array([*wrong.spot, z, 0.0], np.float32))
            if over:
                break
    assert (info["success"], info["failure"]) == (False, "constraint_violated")
    assert info["message"] == f"{wrong.label} was to be left alone"


def test_a_reset_without_a_key_says_what_to_give(env):
    with pytest.raises(ValueError, match="needs options="):
        env.reset()


def test_another_environment_is_refused(workbench):
    import gymnasium

    with pytest.raises(SuiteError, match="this suite needs a BenchEnv"):
        workbench.oracle(gymnasium.Env())
