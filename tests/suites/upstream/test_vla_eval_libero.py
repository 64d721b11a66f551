"""A class of vla-eval's own package, unchanged, in LIBERO's environment, where that and the assets are given."""

import os

import numpy as np
import pytest
from installed import need

from pytest_vla.rollout import rollout

NAME = (
    "vla_eval+libero:vla_eval.benchmarks.libero.benchmark:LIBEROBenchmark"
    "?suite=libero_object&send_wrist_image=true&send_state=true&quat_no_antipodal=true&max_steps=8"
)
need(NAME)
if "LIBERO_ASSETS" not in os.environ:
    pytest.skip("LIBERO's assets are not given: LIBERO_ASSETS=DIR", allow_module_level=True)
TASK = "pick_up_the_ketchup_and_place_it_in_the_basket"


def test_its_tasks_limits_and_actions_are_those_of_the_class(suite):
    assert len(suite.tasks()) == 10
    assert TASK in suite.tasks()
    assert suite.step_limit(TASK) == 8
    assert suite.action_space(TASK).shape == (7,)


@pytest.mark.slow
def test_an_episode_is_the_same_whatever_came_before_and_in_another_process(suite, env):
    """The class seeds its environment once, when it is made: what a reset draws depends on how many came before."""

    class Still:
        def reset(self, episode):
            return None

        def act(self, observations, states):
            return [np.array([0, 0, 0, 0, 0, 0, -1], np.float32) for _ in observations]

    key = suite.episode(TASK, "default", 1)
    before = rollout(Still(), env, key)
    rollout(Still(), env, suite.episode(TASK, "default", 0))
    again = rollout(Still(), env, key)
    fresh = suite.make_env(TASK)
    elsewhere = rollout(Still(), fresh, key)
    fresh.close()
    assert (before.outcome, before.steps) == ("unsolved", 8), before.message
    assert before.digest == again.digest == elsewhere.digest != ""


@pytest.mark.slow
def test_what_it_shows_is_what_our_own_suite_of_it_shows(suite, env):
    """The same init state, the same pose of the hand, and pictures that differ by fixtures at most."""
    from pytest_vla.registry import get_suite

    ours = get_suite("libero")
    if ours.missing() is not None:
        pytest.skip("pytest-vla install libero")
    key, own = suite.episode(TASK, "default", 3), ours.episode(TASK, "libero_object", 3)
    theirs, _ = env.reset(seed=key.seed(), options={"episode": key})
    other = ours.make_env(TASK)
    seen, _ = other.reset(seed=own.seed(), options={"episode": own})
    assert np.allclose(theirs["state"]["states"][:3], seen["state"]["robot"][:3], atol=2e-3)
    assert theirs["instruction"] == seen["instruction"]
    difference = np.abs(theirs["images"]["wrist"].astype(int) - seen["images"]["wrist"].astype(int))
    other.close()
    assert difference.mean() < 12, "turned alike: else it is far above"
