"""A suite of your own: one environment, two tasks, two partitions, an oracle. Run it with --vla-policy=oracle."""

import gymnasium
import numpy as np

import pytest_vla as vla

REACH = {"near": 0.3, "far": 1.0}  # m


class ReachEnv(gymnasium.Env):
    """Move a point to a goal in the plane."""

    action_space = gymnasium.spaces.Box(-0.2, 0.2, (2,), np.float32)
    observation_space = gymnasium.spaces.Dict({})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        episode = options["episode"]
        angle = self.np_random.uniform(0, 2 * np.pi)
        self.at = np.zeros(2)
        self.goal = REACH[episode.task] * np.array([np.cos(angle), np.sin(angle)])
        self.wind = 0.02 if episode.partition == "windy" else 0.0
        return self.observe(), {}

    def step(self, action):
        self.at += np.clip(action, -0.2, 0.2) + [self.wind, 0]
        return self.observe(), 0.0, False, False, {"success": bool(self.distance() < 0.05)}

    def observe(self):
        state = {"at": self.at.astype(np.float32), "goal": self.goal.astype(np.float32)}
        return {"images": {}, "state": state, "instruction": "go to the goal"}

    def distance(self):
        return float(np.linalg.norm(self.goal - self.at))


class GoStraight(vla.Policy):
    spec = vla.PolicySpec(state_keys=("at", "goal"))

    def act(self, observations, states):
        return [np.clip(o["state"]["goal"] - o["state"]["at"], -0.2, 0.2) for o in observations]


class ReachSuite(vla.Suite):
    name = "reach"
    state_keys = ("at", "goal")

    def cells(self):
        return [(task, partition) for task in REACH for partition in ("calm", "windy")]

    def make_env(self, task):
        return ReachEnv()

    def step_limit(self, task):
        return 10

    def oracle(self, env):
        return GoStraight()

    def progress(self, env):
        return float(np.exp(-env.distance()))

    def digest(self, env):
        return np.concatenate([env.at, env.goal]).tobytes().hex()


@vla.benchmark(ReachSuite())
def test_reach(policy, env, episode):
    assert vla.rollout(policy, env, episode)
