"""A suite whose policy is as good as the environment variable SKILL says: a gate's tests plant what they look for.

An episode is solved when its own luck (drawn from its key) is below the skill, so a worse policy solves a subset
of what a better one does, as with real policies on the same scenes.
"""

import os
import time

import gymnasium
import numpy as np

import pytest_vla as vla

DEFAULT_SKILL = 0.9


def skill(task):
    """SKILL=0.9 for all tasks, SKILL=push:0.4 for one of them."""
    planted = dict(part.split(":") for part in os.environ.get("SKILL", "").split(",") if ":" in part)
    return float(planted.get(task, DEFAULT_SKILL))


class DiceEnv(gymnasium.Env):
    action_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    observation_space = gymnasium.spaces.Dict({})

    def reset(self, *, seed=None, options=None):
        self.episode = options["episode"]
        if f"{self.episode.task}:{self.episode.index}" in os.environ.get("CRASH", "").split(","):
            raise RuntimeError("the simulator fell over")
        moody = float(os.environ.get("NOISE", "0")) > np.random.default_rng().random()
        rng = np.random.default_rng() if moody else self.episode.rng("luck")
        self.luck = rng.random()
        return {"images": {}, "state": {}, "instruction": "be lucky"}, {}

    def step(self, action):
        success = bool(self.luck < action[0])
        if not success:
            time.sleep(float(os.environ.get("SLOW", "0")))
        return {"images": {}, "state": {}, "instruction": ""}, 0.0, False, False, {"success": success}


class Skilled(vla.Policy):
    def __init__(self, env):
        self.env = env

    def act(self, observations, states):
        return [np.array([skill(self.env.episode.task)], np.float32) for _ in observations]


class DiceSuite(vla.Suite):
    name = "dice"
    version = os.environ.get("SUITE_VERSION", "1")

    def cells(self):
        return [(task, level) for task in ("push", "stack") for level in ("L1", "L2")]

    def make_env(self, task):
        return DiceEnv()

    def step_limit(self, task):
        return 3

    def oracle(self, env):
        return Skilled(env)

    def digest(self, env):
        return f"{env.episode} {env.luck} {os.environ.get('SCENE', '')}"


@vla.benchmark(DiceSuite())
def test_dice(policy, env, episode):
    assert vla.rollout(policy, env, episode)
