"""Kinetix itself: the contract, its levels, and episodes that are played together. The first use compiles a minute."""

import numpy as np
import pytest
from installed import need

from pytest_vla.lockstep import side_by_side
from pytest_vla.policies.builtin import NoopPolicy, RandomPolicy
from pytest_vla.rollout import rollout
from pytest_vla.testing import check_suite

NAME = "kinetix"
need(NAME)
pytestmark = pytest.mark.slow
TASK = "s_h0_weak_thrust"


def test_the_levels_are_those_of_the_wheel(upstream, suite):
    theirs = upstream(
        "import glob, os\n"
        "files = glob.glob(os.path.join(world.LEVELS, '*', '*.json'))\n"
        "print(json.dumps(sorted('_'.join(file[:-5].split(os.sep)[-2:]) for file in files)))"
    )
    assert theirs == sorted(suite.tasks())
    assert len(theirs) == 74


def test_it_keeps_the_contract(suite):
    check_suite(suite, tasks=[TASK])


@pytest.mark.parametrize("partition", ["noisy", "exact"])
def test_an_episode_is_the_same_alone_and_in_lanes_with_any_others(suite, env, partition):
    """20 lanes are simulated 64 wide, 6 of them 16 wide, and both in as many parts as there are cores."""
    policy = RandomPolicy(env.action_space)
    keys = [suite.episode(TASK, partition, index) for index in range(20)]
    alone = [rollout(policy, env, key) for key in keys[:3]]
    one = side_by_side(suite, policy, env, keys)
    other = side_by_side(suite, policy, env, [*keys[4:7], *reversed(keys[:3])])
    for result in alone:
        for batch in (one, other):
            same = batch[result.episode].result
            assert (same.digest, same.outcome, same.steps) == (result.digest, result.outcome, result.steps)


def test_an_episode_that_takes_a_lane_later_is_the_same(suite, env, monkeypatch):
    """More episodes than lanes: the 17th begins when the first has ended, at another moment of the simulator."""
    monkeypatch.setattr(type(suite), "batch", 16)
    policy, keys = RandomPolicy(env.action_space), [suite.episode(TASK, "noisy", index) for index in range(22)]
    together = side_by_side(suite, policy, env, keys)
    for key in keys[-3:]:
        alone, same = rollout(policy, env, key), together[key].result
        assert (same.digest, same.outcome, same.steps) == (alone.digest, alone.outcome, alone.steps)


def test_one_core_simulates_all_lanes_where_there_are_as_many_workers_as_cores(suite, env, monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "1024")
    policy, keys = RandomPolicy(env.action_space), [suite.episode(TASK, "noisy", index) for index in range(40)]
    other = suite.make_env(TASK)
    together = side_by_side(suite, policy, other, keys)
    other.close()
    alone = rollout(policy, env, keys[39])
    assert together[keys[39]].result.digest == alone.digest


def test_without_noise_all_episodes_of_a_level_are_one_and_with_it_they_are_not(suite, env):
    policy = NoopPolicy(np.zeros(6, np.float32))
    steps = {}
    for partition in ("exact", "noisy"):
        played = side_by_side(suite, policy, env, [suite.episode(TASK, partition, i) for i in range(8)])
        last = [one.steps[-1].observation["state"]["symbols"] for one in played.values()]
        steps[partition] = len({row.tobytes() for row in last})
    assert steps["exact"] == 1
    assert steps["noisy"] > 1


def test_coming_nearer_is_rewarded_but_is_no_success(upstream):
    """Upstream's reward is above 0 whenever the goal comes nearer: whoever counts that counts far too much."""
    scale = upstream(
        "from kinetix.environment.env_state import EnvParams\nprint(json.dumps(EnvParams().dense_reward_scale))"
    )
    assert scale > 0
