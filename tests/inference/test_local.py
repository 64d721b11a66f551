"""A policy in this process sees and gives the same as one behind a server."""

import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.episode import EpisodeError, EpisodeKey
from pytest_vla.inference.local import Declared, LocalPolicy


class Looks(vla.Policy):
    """Answers with what it sees."""

    def __init__(self, **spec):
        self.spec = vla.PolicySpec(**spec)

    def act(self, observations, states):
        return [dict(observation) for observation in observations]


class Prompt:
    drawn = 0

    def to_tree(self):
        self.drawn += 1
        return {"text": "put it there", "pictures": (np.ones(2),)}


def seen(policy, observation, steps=1):
    asked = Declared(LocalPolicy(policy))
    state = asked.reset(EpisodeKey("s", "t", "p", 0))
    return [asked.act([observation], [state])[0] for _ in range(steps)][-1]


IMAGES = {"front": np.zeros(1, np.uint8), "wrist": np.ones(1, np.uint8)}


def test_a_policy_that_names_no_camera_sees_all():
    assert set(seen(Looks(), {"images": IMAGES})["images"]) == {"front", "wrist"}


def test_a_policy_that_names_a_camera_sees_that_one():
    assert set(seen(Looks(cameras=("wrist",)), {"images": IMAGES})["images"]) == {"wrist"}


def test_the_prompt_is_drawn_only_for_policies_that_want_it():
    prompt = Prompt()
    assert "prompt" not in seen(Looks(), {"images": {}, "prompt": prompt})
    assert prompt.drawn == 0


def test_the_prompt_is_a_plain_tree_made_once_an_episode():
    prompt = Prompt()
    found = seen(Looks(prompt=True), {"images": {}, "prompt": prompt}, steps=3)["prompt"]
    assert found["text"] == "put it there"
    assert isinstance(found["pictures"], list)
    assert prompt.drawn == 1


def test_an_observation_that_is_no_dict_is_the_fault_of_the_environment():
    with pytest.raises(EpisodeError, match="must be a dict, got ndarray") as raised:
        seen(Looks(), np.zeros(3))
    assert raised.value.reason == "env_error"


def test_a_policy_error_is_raised_with_its_traceback():
    class Raises(vla.Policy):
        def act(self, observations, states):
            raise ValueError("no such robot")

    with pytest.raises(vla.PolicyError, match="ValueError: no such robot"):
        seen(Raises(), {"images": {}})
