"""The contract checker finds what it is there to find."""

import importlib.util
import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.testing import check_suite

PATH = Path(__file__).parents[2] / "docs" / "examples" / "test_reach.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("reach_example", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_suite_keeps_the_contract(example):
    check_suite(example.ReachSuite())


BREAKS = {
    "lists no cells": {"cells": lambda self: []},
    "twice": {"cells": lambda self: [("near", "calm"), ("near", "calm")]},
    "cannot be part of a node id": {"cells": lambda self: [("ne ar", "calm")]},
    "must be positive": {"step_limit": lambda self, task: 0},
    "camera 'top' is declared": {"cameras": ("top",)},
    "state key 'speed' is declared": {"state_keys": ("speed",)},
    "start from the same state": {"digest": lambda self, env: "constant"},
    "progress() must be": {"progress": lambda self, env: 2.0},
    "default_partitions() names": {"default_partitions": lambda self: ["stormy"]},
    "the oracle does not solve": {"oracle": lambda self, env: Lazy()},
    "features() must map names": {"features": lambda self, env: {"goal": env.goal}},
    "features() must be those of the scene as drawn": {
        "axes": lambda self: ["object.scale"],
        "make_env": lambda self, task: ReachFar(),
        "features": lambda self, env: {"x_m": float(env.goal[0])},
    },
    "axes() names ['camera.yow']": {"axes": lambda self: ["camera.yow"]},
    "axes() names an axis twice": {"axes": lambda self: ["robot.delay", "robot.delay"]},
    "perturbations that change nothing: object.mass=-8, object.mass=-1, object.mass=1, object.mass=8": {
        "axes": lambda self: ["object.mass"],
    },
}


class ReachFar(gymnasium.Wrapper):
    """The goal is farther off when things are larger: that is what is done with the scene, not how it was drawn."""

    def __init__(self):
        spec = importlib.util.spec_from_file_location("reach_example", PATH)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        super().__init__(module.ReachEnv())

    def reset(self, *, seed=None, options=None):
        observation, info = self.env.reset(seed=seed, options=options)
        self.unwrapped.goal = self.unwrapped.goal * (1.1 if options["episode"].perturbation else 1.0)
        return observation, info

    @property
    def goal(self):
        return self.unwrapped.goal

    @property
    def at(self):
        return self.unwrapped.at

    def distance(self):
        return self.unwrapped.distance()


class Lazy(vla.Policy):
    def act(self, observations, states):
        return [np.zeros(2) for _ in observations]


@pytest.mark.parametrize("message", BREAKS)
def test_a_broken_clause_is_named(example, message):
    broken = type("Broken", (example.ReachSuite,), BREAKS[message])
    with pytest.raises(AssertionError, match=re.escape(message)):
        check_suite(broken())


def test_an_environment_with_a_memory_is_found_out(example):
    class Remembers(example.ReachEnv):
        visits = 0

        def reset(self, *, seed=None, options=None):
            observation, info = super().reset(seed=seed, options=options)
            self.visits += 1
            self.at = self.at + 0.001 * self.visits
            return observation, info

    class Leaky(example.ReachSuite):
        def make_env(self, task):
            return Remembers()

    with pytest.raises(AssertionError, match="starts from another state after another episode"):
        check_suite(Leaky())


def test_a_suite_without_an_oracle_is_fine(example):
    class Bare(vla.Suite):
        name = "bare"

        def cells(self):
            return [("near", "calm")]

        def make_env(self, task) -> gymnasium.Env:
            return example.ReachEnv()

        def step_limit(self, task):
            return 2

    check_suite(Bare())
