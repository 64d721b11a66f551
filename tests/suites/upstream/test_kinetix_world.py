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
def test_an_episode_is_the_same_alone_and_in_a_batch_of_any_make_up(suite, env, partition):
    policy = RandomPolicy(env.action_space)
    keys = [suite.episode(TASK, partition, index) for index in range(6)]
    alone = [rollout(policy, env, key) for key in keys[:3]]
    one = side_by_side(suite, policy, env, keys, lambda: None)
    other = side_by_side(suite, policy, env, [*keys[4:], *reversed(keys[:3])], lambda: None)
    for result in alone:
        for batch in (one, other):
            same = batch[result.episode].result
            assert (same.digest, same.outcome, same.steps) == (result.digest, result.outcome, result.steps)


def test_without_noise_all_episodes_of_a_level_are_one_and_with_it_they_are_not(suite, env):
    policy = NoopPolicy(np.zeros(6, np.float32))
    steps = {}
    for partition in ("exact", "noisy"):
        played = side_by_side(suite, policy, env, [suite.episode(TASK, partition, i) for i in range(8)], lambda: None)
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
