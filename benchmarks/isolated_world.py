"""The world of the benchmark: two cameras of 256 pixels that show something new at each step."""

import numpy as np

SIZE_PX = 256


class World:
    def __init__(self, task: str) -> None:
        rng = np.random.default_rng(0)
        self.frames = rng.integers(0, 256, (8, 2, SIZE_PX, SIZE_PX, 3), dtype=np.uint8)
        self.steps = 0

    def reset(self, seed, episode):
        self.steps = 0
        return self._observe()

    def step(self, action):
        self.steps += 1
        return self._observe(), False, {"success": False}

    def digest(self) -> str:
        return str(self.steps)

    def progress(self) -> float:
        return 0.5

    def _observe(self):
        front, wrist = (frame.copy() for frame in self.frames[self.steps % 8])
        state = {"joints": np.zeros(7, np.float32), "hand": np.zeros(8, np.float32)}
        return {"images": {"front": front, "wrist": wrist}, "state": state, "instruction": "stay where you are"}
