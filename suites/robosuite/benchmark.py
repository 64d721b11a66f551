"""robosuite as a suite: its tasks and spaces as data. What moves is in `world.py`, in another interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.suite import IsolatedSuite
from pytest_vla.suite import Termination

from .tasks import PARTITIONS, TASKS

if TYPE_CHECKING:
    import gymnasium

IMAGE_PX = 256
STEPS = 500  # 25 s


class RobosuiteSuite(IsolatedSuite):
    """19 tasks; the first success ends an episode."""

    name = "robosuite"
    version = "1"
    environment = "robosuite"
    termination = Termination.ON_SUCCESS
    control_hz = 20.0
    cameras = ("agentview", "wrist")
    state_keys = ("robot", "object")
    test_file = Path(__file__).parent / "test_robosuite.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        return [(name, PARTITIONS[task.arms]) for name, task in TASKS.items()]

    def step_limit(self, task: str) -> int:
        return STEPS

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        import numpy as np
        from gymnasium.spaces import Box

        return Box(-1.0, 1.0, (TASKS[task].action_size,), np.float32)

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        """The arms stay, and hands that open are open: a zero would leave them as they are, half closed or not."""
        import numpy as np

        size = env.action_space.shape[0] if env.action_space.shape else 0
        action = np.zeros(size, np.float32)
        action[6 :: 7 if size % 7 == 0 else size + 1] = -1.0
        return action

    def options(self, task: str) -> Mapping[str, Any]:
        return {"instruction": TASKS[task].instruction, "arms": TASKS[task].arms, "image_px": IMAGE_PX}
