"""A find comes with a picture: what the policy saw unperturbed, and perturbed."""

import io

import gymnasium
import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.hunt.frames import COLUMN_PX, GAP_PX, side_by_side
from pytest_vla.pictures import PAPER

Image = pytest.importorskip("PIL.Image")


GREY = np.full((20, 30, 3), 100, np.uint8)


class FlatEnv(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return {"images": {"front": GREY, "wrist": GREY}, "state": {}, "instruction": "put the cup away"}, {}


class FlatSuite(vla.Suite):
    name = "flat"
    cameras = ("front", "wrist")

    def cells(self):
        return [("a", "b")]

    def make_env(self, task):
        return FlatEnv()

    def step_limit(self, task):
        return 1


def halves(perturbation):
    """The unperturbed and the perturbed half of a find's picture."""
    suite = FlatSuite()
    png = side_by_side(suite, FlatEnv(), suite.episode("a", "b", 0, perturbation))
    pixels = np.asarray(Image.open(io.BytesIO(png)))
    return pixels[:, :COLUMN_PX], pixels[:, COLUMN_PX + GAP_PX :]


def cameras(half):
    """The rows of pixels that cameras filled, and where the words below them begin."""
    rows = np.flatnonzero(np.ptp(half[:, :30], axis=(1, 2)) == 0)
    grey = [row for row in rows if not (half[row, :30] == PAPER).all()]
    return half[grey, :30], grey[-1] + 1


def test_neutral_is_on_the_left_and_perturbed_on_the_right():
    neutral, failing = halves("sensor.brightness=8")
    assert neutral.shape == failing.shape
    assert (cameras(neutral)[0] == 100).all()
    assert (cameras(failing)[0] == 202).all()
    assert len(cameras(neutral)[0]) == len(cameras(failing)[0]) == 2 * 20


@pytest.mark.parametrize(("perturbation", "same"), [("sensor.brightness=8", True), ("language.empty=1", False)])
def test_what_was_said_stands_below(perturbation, same):
    neutral, failing = halves(perturbation)
    below = cameras(neutral)[1]
    assert (neutral[below:] != PAPER).any()
    assert (failing[below:] != PAPER).any()
    assert np.array_equal(neutral[below:], failing[below:]) is same
