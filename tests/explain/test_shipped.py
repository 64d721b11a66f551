"""What the shipped policies and suites give to explanations: masks of words, likelihoods, what each pixel shows."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from pytest_vla.inference.local import kept
from pytest_vla.policies.kinds import load_shared
from pytest_vla.registry import get_suite

EPISODES = {
    "bomb_visuomotor": ("bomb", "place_stone", "unperturbed"),
    "vima_cross": ("vima", "visual_manipulation", "placement_generalization"),
}


@pytest.fixture(scope="module", params=EPISODES)
def met(request):
    """A shipped policy, two of its episodes as it sees them, and what the first one's pixels show."""
    name, task, partition = EPISODES[request.param]
    suite = get_suite(name)
    if suite.missing() is not None:
        pytest.skip(suite.missing().install)
    policy = load_shared(f"fixtures/policies/{request.param}.pt").policy
    env = suite.make_env(task)
    views, segments = [], []
    for index in range(2):
        key = suite.episode(task, partition, index)
        observation, _ = env.reset(seed=key.seed(), options={"episode": key})
        views.append(kept(observation, policy.spec, policy.spec.cameras))
        segments.append(suite.segment(env, policy.spec.cameras[0]))
    env.close()
    return policy, suite.episode(task, partition, 0), views, segments


def test_a_policys_own_action_is_likelier_than_another_episodes(met):
    policy, key, (one, other), _ = met
    action, foreign = policy.act([one, other], [policy.reset(key), policy.reset(key)])
    own, wrong = policy.log_prob([one, one], [policy.reset(key), policy.reset(key)], [action, foreign])
    assert own > wrong + 1


def test_words_that_are_hidden_change_what_the_policy_makes_of_a_moment_and_none_change_nothing(met):
    policy, key, (one, _), _ = met
    (action,) = policy.act([one], [policy.reset(key)])
    words = len(one["instruction"])
    rows = [one, {**one, "instruction_mask": []}, {**one, "instruction_mask": [[0, words]]}]
    as_it_is, nothing, everything = policy.log_prob(rows, [policy.reset(key) for _ in rows], [action] * 3)
    assert nothing == pytest.approx(as_it_is, abs=1e-3)
    assert abs(everything - as_it_is) > 0.05


def test_every_pixel_has_a_name_and_what_the_task_is_about_is_among_them(met):
    _, _, (one, _), (segment, _) = met
    ids, names = segment
    assert ids.shape == next(iter(one["images"].values())).shape[:2]
    there = {names[int(number)] for number in np.unique(ids)}
    assert "target" in there
    assert there & {"stone", "object to move"}
