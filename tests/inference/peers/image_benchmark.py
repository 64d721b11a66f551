"""A benchmark for the real vla-eval: every step shows a new image and wants its checksum back."""

import zlib

import numpy as np
from vla_eval.benchmarks.base import StepBenchmark, StepResult


class ImageBenchmark(StepBenchmark):
    """Solved when every action was the checksum of the image it answered, in order."""

    def get_tasks(self):
        return [{"name": "echo", "suite": "images"}, {"name": "echo_again", "suite": "images"}]

    def reset(self, task):
        self.rng = np.random.default_rng(task.get("episode_idx", 0))
        self.steps, self.wrong = 0, 0
        return self._draw()

    def _draw(self):
        self.image = self.rng.integers(0, 256, (32, 24, 3), dtype=np.uint8)
        return self.image

    def step(self, action):
        self.steps += 1
        expected = [zlib.crc32(self.image.tobytes()) % 2**20, 32, self.steps]
        self.wrong += not np.array_equal(action["actions"], np.array(expected, np.float32))
        return StepResult(obs=self._draw(), reward=0.0, done=self.steps == 8, info={})

    def make_obs(self, raw_obs, task):
        return {"images": {"front": raw_obs}, "task_description": "say what you see"}

    def get_step_result(self, step_result):
        return {"success": self.steps == 8 and self.wrong == 0}

    def get_action_spec(self):
        return {}

    def get_observation_spec(self):
        return {}
