"""An action of several parts as one vector: what is recorded is what a policy may answer."""

from dataclasses import replace

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import pytest_vla as vla
from pytest_vla.policies import PolicyError
from pytest_vla.policies.actions import bounds, flatten_action, unflatten_action
from pytest_vla.registry import get_suite
from pytest_vla.rollout import surroundings
from pytest_vla.train.demonstration import Take

SHAPES = st.lists(st.integers(1, 3), min_size=0, max_size=2).map(tuple)


@given(st.data(), st.dictionaries(st.text("abc", min_size=1), SHAPES, min_size=1))
def test_there_and_back(data, shapes):
    space = spaces.Dict({name: spaces.Box(-9, 9, shape, np.float32) for name, shape in shapes.items()})
    values = st.floats(-9, 9, width=32)
    action = {name: data.draw(arrays(np.float32, shape, elements=values)) for name, shape in shapes.items()}
    back = unflatten_action(flatten_action(action), space)
    assert back.keys() == action.keys()
    assert all((back[name] == action[name]).all() and back[name].shape == shapes[name] for name in shapes)


def test_the_vector_does_not_depend_on_the_order_of_the_parts():
    parts = {"b": np.ones(2), "a": np.zeros(1)}
    assert flatten_action(parts).tolist() == flatten_action(dict(reversed(parts.items()))).tolist() == [0, 1, 1]


@given(st.dictionaries(st.text("abc", min_size=1), SHAPES | st.integers(1, 5), min_size=1), st.integers(0, 100))
def test_bounds_are_in_the_order_of_the_vector_and_hold_every_action(shapes, seed):
    parts, least, most = {}, {}, {}
    for number, (name, shape) in enumerate(shapes.items()):
        if isinstance(shape, int):
            parts[name], least[name], most[name] = spaces.Discrete(shape, start=3), 3, 2 + shape
        else:
            parts[name] = spaces.Box(-9, number, shape)
            least[name], most[name] = np.full(shape, -9), np.full(shape, number)
    space = spaces.Dict(parts, seed=seed)
    low, high = bounds(space)
    assert (low.tolist(), high.tolist()) == (flatten_action(least).tolist(), flatten_action(most).tolist())
    vector = flatten_action(space.sample())
    assert ((low <= vector) & (vector <= high)).all()


@pytest.mark.parametrize("wrong", [np.zeros(11), np.zeros((1, 12)), "left", None, [["a"]]])
def test_another_vector_is_the_policys_error(wrong):
    space = spaces.Dict({"a": spaces.Box(-1, 1, (12,), np.float32)})
    with pytest.raises(PolicyError, match="or its 12 numbers in one vector"):
        unflatten_action(wrong, space)


class Flat(vla.Policy):
    """The oracle's moves as vectors."""

    def __init__(self, oracle):
        self.oracle = oracle

    def reset(self, episode):
        return self.oracle.reset(episode)

    def act(self, observations, states):
        return [flatten_action(action) for action in self.oracle.act(observations, states)]


def test_vima_takes_the_vectors_that_are_recorded_of_it():
    pytest.importorskip("pybullet")
    suite = get_suite("vima")
    env, key = suite.make_env("rotate"), suite.episode("rotate", "placement_generalization", 0)
    take = Take()
    token = surroundings.set(replace(surroundings.get(), on_step=take.add))
    try:
        plain, flat = vla.rollout(suite.oracle(env), env, key), vla.rollout(Flat(suite.oracle(env)), env, key)
        recorded = take.demonstration(flat)
    finally:
        surroundings.reset(token)
        env.close()
    assert flat
    assert flat.digest == plain.digest
    assert recorded.action.shape == (flat.steps, 12)
    assert recorded.action_names[:3] == ("pose0_position.0", "pose0_position.1", "pose0_rotation.0")
