"""A suite and a policy whose every outcome is written down, for what must be counted alike everywhere."""

import os

import gymnasium
import numpy as np

import pytest_vla as vla

EPISODES = 6
#: outcome by task, partition and index: . solved, u unsolved, E an error of the policy
OUTCOMES = {
    "old": {("push", "calm"): "..u..u", ("push", "windy"): ".uu.u.", ("stack", "calm"): "......"},
    "new": {("push", "calm"): "..uE.u", ("push", "windy"): "..u...", ("stack", "calm"): ".uu..."},
}
PERTURBED = "u"  # what a perturbed episode is that would be solved
WHICH = os.environ.get("COUNTED", "old")


class Env(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(3)
    observation_space = gymnasium.spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):
        self.key = options["episode"]
        return {"images": {}, "state": {}, "instruction": "Count."}, {}

    def step(self, action):
        letter = OUTCOMES[WHICH][(self.key.task, self.key.partition)][self.key.index]
        if self.key.perturbation and self.key.index % 2:
            letter = PERTURBED
        return self.reset(options={"episode": self.key})[0], 0.0, True, False, {"success": letter == "."}


class CountedSuite(vla.Suite):
    name = "counted"

    def cells(self):
        return list(OUTCOMES["old"])

    def make_env(self, task):
        return Env()

    def step_limit(self, task):
        return 1

    def digest(self, env):
        return f"{env.key.task} {env.key.partition} {env.key.index}"

    def provenance(self):
        return {"renderer": os.environ.get("RENDERER", "egl")}


class Policy(vla.Policy):
    def reset(self, episode):
        return episode

    def act(self, observations, states):
        (key,) = states
        if OUTCOMES[WHICH][(key.task, key.partition)][key.index] == "E":
            raise RuntimeError("planted")
        return [np.int64(0)]


@vla.benchmark(CountedSuite(), episodes=EPISODES)
def test_counted(policy, env, episode):
    assert vla.rollout(policy, env, episode)
