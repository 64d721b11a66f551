"""A suite of a person's own brings axes of its own, in the vocabulary there is."""

import pytest

from pytest_vla.perturb import AXES, Axis, Perturbation, PerturbationError, add_axes, resolve, steps

SLIPPERY = """
from dataclasses import replace

import numpy as np
import pytest_vla as vla
from pytest_vla.perturb import Axis, Perturbation, steps
from pytest_vla.testing import check_suite
from test_reach import ReachEnv, ReachSuite


class SlipperyEnv(ReachEnv):
    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        level = Perturbation.parse(options["episode"].perturbation).level("robot.slip")
        self.slip = {EFFECT} * level
        return observation, info

    def step(self, action):
        return super().step(np.asarray(action) * (1 - self.slip))


class SlipperySuite(ReachSuite):
    name = "slippery"
    own_axes = (Axis("robot.slip", "wheels turn without moving", "of the way", steps(0.125)),)

    def make_env(self, task):
        return SlipperyEnv()


@vla.benchmark(SlipperySuite())
def test_slippery(policy, env, episode):
    assert vla.rollout(policy, env, episode)


def test_the_contract():
    check_suite(SlipperySuite())
"""


@pytest.fixture
def slippery(reach):
    (reach.path / "test_slippery.py").write_text(SLIPPERY.replace("{EFFECT}", "0.125"))
    return reach


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "workers"])
def test_an_axis_of_a_suite_can_be_typed_and_swept(slippery, workers):
    options = ["test_slippery.py::test_slippery", "--vla-policy=oracle", "--vla-episodes=1", *workers]
    result = slippery.runpytest_subprocess(*options, "--vla-perturb=robot.slip=8", "--vla-task=near")
    result.stdout.fnmatch_lines(["*robot.slip=8*0.0%*control 100.0%*"])
    swept = slippery.runpytest_subprocess(*options, "--vla-sweep=robot.slip", "--vla-task=near")
    swept.stdout.fnmatch_lines(["*sweep of robot.slip: *"])


def test_a_name_that_no_suite_brings_is_still_one_line(slippery):
    result = slippery.runpytest_subprocess("test_slippery.py", "--vla-policy=oracle", "--vla-perturb=robot.slop=8")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "unknown axis 'robot.slop'" in result.stdout.str() + result.stderr.str()


def test_the_check_of_a_suite_notices_an_axis_that_does_nothing(slippery):
    good = slippery.runpytest_subprocess("test_slippery.py", "-k", "contract")
    assert good.ret == 0
    (slippery.path / "test_slippery.py").write_text(SLIPPERY.replace("{EFFECT}", "0.0"))
    result = slippery.runpytest_subprocess("test_slippery.py", "-k", "contract")
    result.stdout.fnmatch_lines(["*perturbations that change nothing: robot.slip=1, robot.slip=8*"])


def test_one_name_means_one_thing(monkeypatch):
    monkeypatch.setattr("pytest_vla.perturb.axes.AXES", AXES)
    with pytest.raises(PerturbationError, match="means something else"):
        add_axes([Axis("camera.yaw", "another", "deg", steps(3))])


def test_the_order_of_axes_does_not_depend_on_who_came_first():
    own = [Axis(f"robot.{name}", "", "", steps(1)) for name in ("zeal", "ache")]
    for order in (own, own[::-1]):
        add_axes(order)
        text = str(Perturbation.parse("robot.zeal=1,robot.ache=2,camera.yaw=3"))
        assert text == "camera.yaw=3,robot.ache=2,robot.zeal=1"
        assert resolve(["robot.zeal", "robot.ache"]) == ["robot.ache", "robot.zeal"]
        for axis in own:
            del AXES[axis.name]
