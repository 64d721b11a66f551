"""Every perturbation axis of the suite changes what it says, and none ends in an error."""

import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.perturb import AXES
from pytest_vla.registry import get_suite

KEY = ("stack_blocks", "seen", 0)
NAMES = get_suite("agnostos_floating").axes()
STACKING = pytest.param("stack_blocks", "seen", marks=pytest.mark.proof)
WATERING = pytest.param("water_plants", "unseen_level2", marks=pytest.mark.proof)


@pytest.fixture(scope="module")
def floating():
    suite = get_suite("agnostos_floating")
    env = suite.make_env("stack_blocks")
    yield suite, env
    env.close()


def seen(suite, env, perturbation=""):
    observation, _ = env.reset(options={"episode": suite.episode(*KEY, perturbation)})
    return observation["images"]["front"], suite.digest(env)


def test_every_group_has_an_axis_here():
    assert {AXES[name].group for name in NAMES} == {axis.group for axis in AXES.values()}


@pytest.mark.parametrize("name", [name for name in NAMES if AXES[name].stage == "scene"])
def test_a_scene_axis_changes_the_picture_or_the_physics(floating, name):
    picture, digest = seen(*floating)
    other_picture, other_digest = seen(*floating, f"{name}=6")
    said = name.startswith("language")
    assert said or not np.array_equal(picture, other_picture) or digest != other_digest
    again, digest_again = seen(*floating)
    assert digest_again == digest
    assert np.array_equal(again, picture)


@pytest.mark.parametrize(("task", "split"), [("close_fridge", "unseen_level1"), STACKING, WATERING])
@pytest.mark.parametrize("level", [pytest.param(3, marks=pytest.mark.proof), 8])
def test_all_axes_at_once_end_in_no_error(floating, task, split, level):
    suite, env = floating
    everything = ",".join(f"{name}={level}" for name in NAMES)
    result = vla.rollout(suite.oracle(env), env, suite.episode(task, split, 0, everything))
    assert result.outcome != "error", result


@pytest.mark.parametrize("name", ["camera.yaw", "light.brightness", "appearance.table_texture", "object.mass"])
def test_the_oracle_is_not_put_off_by_what_is_only_seen_or_a_little_heavier(floating, name):
    suite, env = floating
    assert vla.rollout(suite.oracle(env), env, suite.episode(*KEY, f"{name}=4"))
