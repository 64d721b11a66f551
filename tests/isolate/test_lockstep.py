"""Episodes that are played side by side come out as they do alone."""

from dataclasses import replace

import numpy as np
import pytest
from points import ManyPointsSuite

from pytest_vla.lockstep import Together
from pytest_vla.policies.builtin import NoopPolicy, RandomPolicy
from pytest_vla.registry import register
from pytest_vla.rollout import Surroundings, rollout, surroundings


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
    heard, steps, together = [], [], Together()
    results = []
    for place, key in enumerate(keys):
        upcoming = keys[place + 1 : place + 2 * suite.batch]
        around = Surroundings(30.0, heard.append, steps.append, upcoming, together)
        token = surroundings.set(around)
        try:
            results.append(rollout(policy, env, key))
        finally:
            surroundings.reset(token)
    assert [result.episode for result in heard] == keys
    return results, steps


def test_results_do_not_depend_on_what_shares_the_lanes(many, env):
    policy = RandomPolicy(env.action_space)
    keys = keys_of(many, "steady", 11)
    together, steps = play(many, policy, env, keys)
    assert env.call("how_often_begun") > 0
    alone = [rollout(policy, env, key) for key in keys]
    shuffled, _ = play(many, policy, env, [*keys[5:], *reversed(keys[:5])])
    assert list(map(facts, together)) == list(map(facts, alone))
    assert {result.digest for result in shuffled} == {result.digest for result in alone}
    assert len(steps) == sum(result.steps + 1 for result in together), "whoever listens hears of every step"
    assert sum(result.timings["step"] for result in together) > 0


class Pace(RandomPolicy):
    """Stands in the middle at once in every third episode, and never in the others: lengths of 1 and 20."""

    def act(self, observations, states):
        return [
            -np.clip(o["state"]["at"], -0.5, 0.5) if key.index % 3 == 0 else np.zeros(3, np.float32)
            for o, key in zip(observations, states, strict=True)
        ]

    def reset(self, episode):
        return episode


def test_a_lane_whose_episode_has_ended_takes_the_next_one(many, env):
    """With 4 lanes, 12 episodes of which every third is short take about 8 * 20 / 4 turns, not 3 * 20."""
    turns = []
    step = env.step_batch
    env.step_batch = lambda actions: turns.append(sum(a is not None for a in actions)) or step(actions)
    results, _ = play(many, Pace(env.action_space), env, keys_of(many, "steady", 12))
    assert {result.steps <= 3 for result in results if result.episode.index % 3 == 0} == {True}
    assert sum(turns) == sum(result.steps for result in results)
    assert len(turns) <= 48 < 60
    assert turns[:20] == [4] * 20, "while there are episodes no lane is empty"


def test_an_episode_alone_does_not_disturb_the_lanes(many, env):
    policy, keys = RandomPolicy(env.action_space), keys_of(many, "steady", 6)
    mixed = [keys[0], many.episode("steady", "plain", 1, "robot.action_noise=3"), *keys[1:]]
    results, _ = play(many, policy, env, mixed)
    plain, _ = play(many, policy, env, keys)
    assert [r.digest for r in results if not r.episode.perturbation] == [r.digest for r in plain]


def test_tasks_in_any_order_are_played_once_each(many, env):
    """Before another task begins, what is in the lanes is played to its end: nothing is played twice."""
    policy = RandomPolicy(env.action_space)
    keys = [many.episode(task, "plain", index) for index in range(1, 4) for task in ("steady", "prints")]
    results, _ = play(many, policy, env, keys)
    alone = [rollout(policy, env, key) for key in keys]
    assert list(map(facts, results)) == list(map(facts, alone))


def test_lanes_that_were_lost_with_their_process_are_begun_again(many, env):
    policy, keys = RandomPolicy(env.action_space), keys_of(many, "steady", 6)
    together = Together()
    first = together.played(many, policy, env, keys[0], keys[1:], 30.0)
    env.close()
    second = together.played(many, policy, env, keys[1], keys[2:], 30.0)
    assert [first.result.digest, second.result.digest] == [rollout(policy, env, key).digest for key in keys[:2]]


def test_what_broke_a_batch_breaks_its_own_episode_only(many, env):
    """Episode 0 of `raises` is the broken one: its batch is lost, and every episode of it runs alone."""
    policy = RandomPolicy(env.action_space)
    keys = [many.episode("raises", "plain", index) for index in range(9)]
    results, _ = play(many, policy, env, keys)
    assert [result.outcome == "error" for result in results] == [True] + [False] * 8
    assert "a broken joint" in results[0].message
    last, _ = play(many, policy, env, [*keys[1:], keys[0]])
    assert [result.outcome == "error" for result in last] == [False] * 8 + [True]


def test_another_policy_is_not_given_the_results_of_the_first(many, env):
    keys = keys_of(many, "steady", 4)
    together = Together()
    first, second = RandomPolicy(env.action_space), NoopPolicy(np.zeros(3, np.float32))
    assert together.played(many, first, env, keys[0], keys[1:], 30.0) is not None
    other = together.played(many, second, env, keys[1], keys[2:], 30.0)
    assert facts(other.result) == facts(rollout(second, env, keys[1]))


def test_perturbed_episodes_and_those_of_other_tasks_run_alone(many, env):
    policy = RandomPolicy(env.action_space)
    keys = [many.episode("steady", "plain", 1), many.episode("prints", "plain", 2)]
    keys.append(many.episode("steady", "plain", 2, "robot.action_noise=3"))
    play(many, policy, env, keys)
    key = many.episode("steady", "plain", 5)
    env.reset(seed=0, options={"episode": key})
    assert env.call("how_often_begun") == 0


def test_lanes_of_a_batch_have_each_their_own_scene(many, env):
    lanes = env.reset_batch([*keys_of(many, "steady", 3), None])
    assert len({lane.digest for lane in lanes[:3]}) == 3
    assert all(np.isfinite(lane.progress) for lane in lanes[:3])
    assert lanes[3] is None
