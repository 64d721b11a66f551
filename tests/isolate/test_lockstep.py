"""Episodes that are played side by side come out as they do alone."""

from dataclasses import replace

import numpy as np
import pytest
from points import ManyPointsSuite

from pytest_vla.lockstep import played_along
from pytest_vla.policies.builtin import RandomPolicy
from pytest_vla.rollout import Surroundings, rollout, surroundings
from pytest_vla.suite import register


@pytest.fixture
def many(points):
    return register(ManyPointsSuite())


@pytest.fixture
def env(many):
    env = many.make_env("steady")
    yield env
    env.close()


def facts(result):
    return replace(result, seconds=0.0, timings={})


def keys_of(suite, task, count):
    return [suite.episode(task, "plain", index) for index in range(1, count + 1)]


def play(suite, policy, env, keys):
    """Every key in turn, with those behind it announced, as the items of a worker are."""
    heard, steps, played = [], [], {}
    results = []
    for place, key in enumerate(keys):
        upcoming = keys[place + 1 : place + suite.batch]
        around = Surroundings(30.0, heard.append, steps.append, upcoming, played)
        token = surroundings.set(around)
        try:
            results.append(rollout(policy, env, key))
        finally:
            surroundings.reset(token)
    assert [result.episode for result in heard] == keys
    return results, steps


def test_results_do_not_depend_on_the_batch(many, env):
    policy = RandomPolicy(env.action_space)
    keys = keys_of(many, "steady", 6)
    together, steps = play(many, policy, env, keys)
    assert env.call("how_many_batches") == 2
    alone = [rollout(policy, env, key) for key in keys]
    assert list(map(facts, together)) == list(map(facts, alone))
    assert len(steps) == sum(result.steps + 1 for result in together), "whoever listens hears of every step"
    assert sum(result.timings["step"] for result in together) > 0


def test_what_broke_a_batch_breaks_its_own_episode_only(many, env):
    """Episode 0 of `raises` is the broken one: its batch is lost, and every episode of it runs alone."""
    policy = RandomPolicy(env.action_space)
    keys = [many.episode("raises", "plain", index) for index in range(4)]
    results, _ = play(many, policy, env, keys)
    assert [result.outcome == "error" for result in results] == [True, False, False, False]
    assert "a broken joint" in results[0].message


def test_another_policy_is_not_given_the_results_of_the_first(many, env):
    keys = keys_of(many, "steady", 4)
    first = RandomPolicy(env.action_space)
    played = {}
    around = Surroundings(30.0, upcoming=keys[1:], played=played)
    assert played_along(many, first, env, keys[0], around, 30.0) is not None
    assert keys[1] in played
    assert played_along(many, RandomPolicy(env.action_space), env, keys[1], around, 30.0) is None


def test_perturbed_episodes_and_those_of_other_tasks_run_alone(many, env):
    policy = RandomPolicy(env.action_space)
    keys = [many.episode("steady", "plain", 1), many.episode("prints", "plain", 2)]
    keys.append(many.episode("steady", "plain", 2, "robot.action_noise=3"))
    play(many, policy, env, keys)
    key = many.episode("steady", "plain", 5)
    env.reset(seed=0, options={"episode": key})
    assert env.call("how_many_batches") == 0


def test_lanes_of_a_batch_have_each_their_own_scene(many, env):
    lanes = env.reset_batch(keys_of(many, "steady", 3))
    assert len({lane.digest for lane in lanes}) == 3
    assert all(np.isfinite(lane.progress) for lane in lanes)
