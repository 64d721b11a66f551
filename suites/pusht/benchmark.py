"""PushT as a suite: one task, a point that pushes a T onto its outline. What moves is in `world.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.suite import IsolatedSuite
from pytest_vla.suite import Termination

if TYPE_CHECKING:
    import gymnasium

TASK, PARTITION = "push_t", "random_start"
INSTRUCTION = "push the T onto the green outline"
IMAGE_PX = 96  # as policies are trained
STEPS = 300
FIELD = 512.0  # the side of the field; actions are places on it


class PushtSuite(IsolatedSuite):
    """One task; the episode ends as soon as the T covers 95% of its outline."""

    name = "pusht"
    version = "1"
    environment = "pusht"
    termination = Termination.ON_SUCCESS
    control_hz = 10.0
    cameras = ("top",)
    state_keys = ("agent_pos", "environment_state")
    test_file = Path(__file__).parent / "test_pusht.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        return [(TASK, PARTITION)]

    def step_limit(self, task: str) -> int:
        return STEPS

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        import numpy as np
        from gymnasium.spaces import Box

        return Box(0.0, FIELD, (2,), np.float32)

    def options(self, task: str) -> Mapping[str, Any]:
        return {"instruction": INSTRUCTION, "image_px": IMAGE_PX}

    def hold(self, env: gymnasium.Env[Any, Any], last: Any) -> Any:
        """An action is a place to go to: without a new one the point stays on its way."""
        return self.noop(env) if last is None else last
