"""A find comes with a picture: what the policy saw unperturbed, and perturbed."""

import io

import gymnasium
import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.hunt.frames import side_by_side

Image = pytest.importorskip("PIL.Image")


class FlatEnv(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return {"images": {"front": np.full((20, 30, 3), 100, np.uint8)}, "state": {}, "instruction": ""}, {}


class FlatSuite(vla.Suite):
    name = "flat"
    cameras = ("front",)

    def cells(self):
        return [("a", "b")]

    def make_env(self, task):
        return FlatEnv()

    def step_limit(self, task):
        return 1


def test_neutral_is_on_the_left_and_perturbed_on_the_right():
    suite = FlatSuite()
    pixels = np.asarray(
        Image.open(io.BytesIO(side_by_side(suite, FlatEnv(), suite.episode("a", "b", 0, "sensor.brightness=8"))))
    )
    assert pixels.shape[1] == 2 * 30 + 4
    assert (pixels[:20, :30] == 100).all()
    assert (pixels[:20, 34:] == 202).all()
