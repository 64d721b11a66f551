"""A suite whose observations are images; copied into test projects."""

import gymnasium
import numpy as np

import pytest_vla as vla

SIZE = 32  # pixels


class CameraEnv(gymnasium.Env):
    """A bright square moves as it is told; the goal is another one."""

    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    observation_space = gymnasium.spaces.Dict({})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.goal = self.np_random.uniform(4, SIZE - 4, (2, 2))
        return self.observe(), {}

    def step(self, action):
        self.at = np.clip(self.at + action, 2, SIZE - 3)
        near = bool(np.linalg.norm(self.at - self.goal) < 2)
        return self.observe(), 0.0, False, False, {"success": near}

    def observe(self):
        images = {name: np.zeros((SIZE, SIZE, 3), np.uint8) for name in ("front", "side")}
        for channel, (row, column) in enumerate((self.at, self.goal)):
            images["front"][int(row) - 2 : int(row) + 2, int(column) - 2 : int(column) + 2, channel] = 255
        images["side"][:] = self.np_random.integers(0, 255)
        return {"images": images, "state": {"at": self.at.astype(np.float32)}, "instruction": "go to the goal"}


class CameraSuite(vla.Suite):
    name = "camera"
    cameras = ("front", "side")
    state_keys = ("at",)

    def cells(self):
        return [("go", "plain")]

    def make_env(self, task):
        return CameraEnv()

    def step_limit(self, task):
        return 12

    def digest(self, env):
        return np.concatenate([env.at, env.goal]).tobytes().hex()


@vla.benchmark(CameraSuite())
def test_camera(policy, env, episode):
    assert vla.rollout(policy, env, episode)
