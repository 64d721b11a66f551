"""Policies that act in every native suite: they look at all they are given and answer with one flat vector."""

import numpy as np

import pytest_vla as vla

SIZES = {1: 12, 4: 4, 15: 9}
"""How many numbers an action has, by how many the state has: in `vima`, `bomb` and `agnostos`."""


def answer(observation):
    pixels = [np.asarray(image) for image in observation["images"].values()]
    assert pixels
    assert all(image.dtype == np.uint8 for image in pixels)
    numbers = sum(np.size(value) for value in observation["state"].values())
    return np.full(SIZES[numbers], 0.5, np.float32)


class Looks(vla.Policy):
    def act(self, observations, states):
        return [answer(observation) for observation in observations]


class Chunks(Looks):
    """The same for the next three steps."""

    spec = vla.PolicySpec(chunk=3)

    def act(self, observations, states):
        return [np.stack([action] * 3) for action in super().act(observations, states)]


class Wrist(Looks):
    """Needs a camera that `vima` has not."""

    spec = vla.PolicySpec(cameras=("front", "wrist"))
