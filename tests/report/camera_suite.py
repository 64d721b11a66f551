"""A suite with a camera and a picture prompt that needs no simulator: push the square to the right edge."""

from types import SimpleNamespace

import gymnasium
import numpy as np

import pytest_vla as vla

SIZE_PX = 64
STEPS = 8
MARKUP = "<script>document.title='broken'</script>"


class CameraEnv(gymnasium.Env):
    action_space = gymnasium.spaces.Dict(
        {"move": gymnasium.spaces.Box(-0.3, 0.3, (2,), np.float32), "grip": gymnasium.spaces.Discrete(2)}
    )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = self.np_random.uniform(0, 0.3, 2)
        self.wind = 0.06 if options["episode"].perturbation else 0.0
        return self.observe(), {}

    def step(self, action):
        if action["grip"] == 1:
            raise RuntimeError("the gripper is broken <b>& hot</b>")
        self.at = np.clip(self.at + action["move"] - [self.wind, 0], 0, 1)
        return self.observe(), 0.0, False, False, {"success": bool(self.at[0] > 0.95)}

    def observe(self):
        image = np.full((SIZE_PX, SIZE_PX, 3), 40, np.uint8)
        row, column = (self.at[::-1] * (SIZE_PX - 12)).astype(int)
        image[row : row + 12, column : column + 12] = (230, 90, 60)
        pieces = [SimpleNamespace(text="Push ", image=None), SimpleNamespace(text="square", image=self.picture())]
        prompt = SimpleNamespace(pieces=lambda: pieces)
        return {"images": {"top": image}, "state": {}, "instruction": "Push the <i>square</i>", "prompt": prompt}

    def picture(self):
        return SimpleNamespace(rgb={"top": np.full((16, 16, 3), (230, 90, 60), np.uint8)})


class Half(vla.Policy):
    """Solves every second episode; breaks in each sixth."""

    def reset(self, episode):
        return {"index": episode.index, "step": 0}

    def act(self, observations, states):
        return [self.one(state) for state in states]

    def one(self, state):
        state["step"] += 1
        return {"move": self.move(state["index"], state["step"]), "grip": int(state["index"] % 6 == 5)}

    def move(self, index, step):
        return np.array([0.02 if index % 2 else 0.15, 0.002 * step], np.float32)


class Other(Half):
    """Solves the second episode and not the third."""

    def move(self, index, step):
        return super().move({1: 2, 2: 1}.get(index, index), step)


class CameraSuite(vla.Suite):
    name, cameras = "camera", ("top",)

    def cells(self):
        return [(task, partition) for task in ("push", MARKUP) for partition in ("seen", "unseen_level")]

    def make_env(self, task):
        return CameraEnv()

    def step_limit(self, task):
        return STEPS

    def progress(self, env):
        return float(env.at[0])

    def digest(self, env):
        return env.at.tobytes().hex()


@vla.benchmark(CameraSuite(), episodes=6)
def test_camera(policy, env, episode):
    assert vla.rollout(policy, env, episode)
