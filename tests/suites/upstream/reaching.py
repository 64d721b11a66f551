"""A benchmark written against vla-eval 0.8.0, as its documentation asks for: nothing of ours is in it."""

import numpy as np
from vla_eval.benchmarks.base import StepBenchmark, StepResult
from vla_eval.specs import GRIPPER_CLOSE_POS, IMAGE_RGB, LANGUAGE, POSITION_DELTA, DimSpec


class ReachingBenchmark(StepBenchmark):
    """Move a point to the middle; it must be there when the episode ends."""

    def __init__(self, seed: int = 7, reach: float = 1.0, size: int = 32) -> None:
        super().__init__()
        self.seed, self.reach, self.size = seed, reach, size
        self.cleaned = False

    def get_tasks(self):
        return [{"name": "reach the middle", "suite": "reaching"}, {"name": "stay away", "suite": "reaching"}]

    def reset(self, task):
        rng = np.random.default_rng([self.seed, task["episode_idx"]])
        self.at, self.steps, self.task = rng.uniform(-self.reach, self.reach, 3), 0, task
        return self.at

    def step(self, action):
        vector = np.asarray(action["actions"])
        assert vector.shape == (4,)
        self.at = self.at + 0.2 * vector[:3]
        self.steps += 1
        return StepResult(self.at, 0.0, self.steps >= 12, {"near": bool(np.abs(self.at).max() < 0.1)})

    def make_obs(self, raw_obs, task):
        image = np.full((self.size, self.size, 3), self.steps, np.uint8)
        return {"images": {"front": image}, "task_description": task["name"], "states": raw_obs.astype(np.float64)}

    def get_step_result(self, step_result):
        near = bool(step_result.info.get("near", False))
        return {"success": near if self.task["name"] == "reach the middle" else not near}

    def get_action_spec(self):
        return {"position": POSITION_DELTA, "gripper": GRIPPER_CLOSE_POS}

    def get_observation_spec(self):
        return {"image": IMAGE_RGB, "language": LANGUAGE, "state": DimSpec("state", 3, "absolute_xyz")}

    def get_metadata(self):
        return {"max_steps": 20}


class UnseededBenchmark(ReachingBenchmark):
    """The same without a seed, like six of the classes in the package."""

    def __init__(self) -> None:
        super().__init__(seed=int.from_bytes(__import__("os").urandom(4), "little"))


class RawBenchmark(ReachingBenchmark):
    def get_action_spec(self):
        return {"action": DimSpec("raw", 0, "raw")}
