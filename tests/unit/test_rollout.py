"""The loop: when it ends, and what it calls the end."""

import time
from dataclasses import dataclass, field

import gymnasium
import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.deadline import DeadlineExceeded, deadline


class ScriptedEnv(gymnasium.Env):
    """Answers each step with the next of the given infos."""

    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, infos, terminated_at=None):
        self.infos, self.terminated_at = infos, terminated_at

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return {"instruction": "do it"}, {}

    def step(self, action):
        info = self.infos[self.count]
        self.count += 1
        return {}, 0.0, self.count == self.terminated_at, False, info


@dataclass
class Scripted(vla.Suite):
    termination: vla.Termination = vla.Termination.ON_SUCCESS
    limit: int = 3
    name: str = "scripted"
    requires: tuple = field(default=())

    def cells(self):
        return [("t", "p")]

    def make_env(self, task):
        raise AssertionError("the test makes its own")

    def step_limit(self, task):
        return self.limit

    def digest(self, env):
        return str(env.count)


class Zero(vla.Policy):
    def act(self, observations, states):
        return [[0.0] for _ in observations]


YES, NO = {"success": True}, {"success": False}


@pytest.mark.parametrize(
    ("infos", "terminated_at", "on_success", "at_horizon"),
    [
        ([NO, YES, NO], None, ("solved", None, 2), ("unsolved", "step_limit", 3)),
        ([NO, NO, YES], None, ("solved", None, 3), ("solved", None, 3)),
        ([NO, NO, NO], None, ("unsolved", "step_limit", 3), ("unsolved", "step_limit", 3)),
        ([NO, NO], 2, ("unsolved", "terminated", 2), ("unsolved", "terminated", 2)),
        ([NO, YES], 2, ("solved", None, 2), ("solved", None, 2)),
        ([{"failure": "constraint_violated"}], None, *[("unsolved", "constraint_violated", 1)] * 2),
        ([{"success": True, "failure": "invalid_action"}], None, *[("unsolved", "invalid_action", 1)] * 2),
    ],
)
def test_the_termination_protocol_decides_what_counts(infos, terminated_at, on_success, at_horizon):
    for termination, expected in (
        (vla.Termination.ON_SUCCESS, on_success),
        (vla.Termination.AT_HORIZON, at_horizon),
    ):
        suite = vla.register(Scripted(termination))
        result = vla.rollout(Zero(), ScriptedEnv(infos, terminated_at), suite.episode("t", "p", 0))
        assert (result.outcome, result.reason, result.steps) == expected


def test_a_suite_without_steps_is_a_step_limit():
    suite = vla.register(Scripted(limit=0))
    result = vla.rollout(Zero(), ScriptedEnv([]), suite.episode("t", "p", 0))
    assert (result.outcome, result.reason) == ("unsolved", "step_limit")


def test_the_digest_covers_every_state_of_the_episode():
    suite = vla.register(Scripted())
    one = vla.rollout(Zero(), ScriptedEnv([NO, NO, NO]), suite.episode("t", "p", 0))
    same = vla.rollout(Zero(), ScriptedEnv([NO, NO, NO]), suite.episode("t", "p", 1))
    shorter = vla.rollout(Zero(), ScriptedEnv([NO, YES]), suite.episode("t", "p", 0))
    assert one.digest == same.digest
    assert one.initial_digest == shorter.initial_digest
    assert one.digest != shorter.digest


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([0.0, 0.0], "must have shape (1,), got shape (2,)"),
        ([np.inf], "must be finite"),
        ("north", "must be numbers of shape (1,)"),
        (None, "must have shape (1,), got shape ()"),
    ],
)
def test_a_malformed_action_is_the_policys_error(action, message):
    class Odd(vla.Policy):
        def act(self, observations, states):
            return [action]

    suite = vla.register(Scripted())
    result = vla.rollout(Odd(), ScriptedEnv([NO] * 3), suite.episode("t", "p", 0))
    assert (result.outcome, result.reason) == ("error", "policy_error")
    assert message in result.message


def test_a_result_that_is_no_list_is_the_policys_error():
    class Odd(vla.Policy):
        def act(self, observations, states):
            return 3

    suite = vla.register(Scripted())
    result = vla.rollout(Odd(), ScriptedEnv([NO] * 3), suite.episode("t", "p", 0))
    assert result.reason == "policy_error"
    assert "must return a list of actions, got int" in result.message


def test_the_deadline_interrupts_a_sleep_and_leaves_no_timer_behind():
    start = time.monotonic()
    with pytest.raises(DeadlineExceeded), deadline(0.05):
        time.sleep(5)
    assert time.monotonic() - start < 2
    with deadline(0.05):
        pass
    time.sleep(0.1)


def test_an_inner_deadline_does_not_cancel_the_outer_one():
    def nested():
        with deadline(0.2):
            with deadline(5):
                pass
            time.sleep(5)

    with pytest.raises(DeadlineExceeded):
        nested()


def test_a_sign_of_life_begins_the_deadline_anew():
    with deadline(0.2) as alive:
        for _ in range(5):
            time.sleep(0.08)
            alive()


def test_steps_limit_an_episode_and_the_clock_does_not():
    class Slow(vla.Policy):
        def act(self, observations, states):
            time.sleep(0.08)
            return [np.zeros(1, np.float32)]

    suite = vla.register(Scripted())
    result = vla.rollout(Slow(), ScriptedEnv([NO] * 5), suite.episode("t", "p", 0), timeout=0.2)
    assert (result.outcome, result.reason) == ("unsolved", "step_limit")
    assert result.seconds > 0.2


def test_zero_means_no_deadline():
    with deadline(0):
        time.sleep(0.01)
