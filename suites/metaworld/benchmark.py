"""MetaWorld as a suite: its tasks, splits and spaces as data. What moves is in `world.py`, in another interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.suite import IsolatedSuite
from pytest_vla.policies.conventions import Camera, Conventions, Part
from pytest_vla.suite import Termination

from .tasks import INSTRUCTIONS, PARTITIONS

if TYPE_CHECKING:
    import gymnasium

IMAGE_PX = 256
STEPS = 500  # upstream's own limit


class MetaworldSuite(IsolatedSuite):
    """50 tasks; success at any step counts, as upstream's evaluation has it."""

    name = "metaworld"
    version = "1"
    environment = "metaworld"
    termination = Termination.ON_SUCCESS
    control_hz = 80.0  # 5 steps of 2.5 ms a control step
    cameras = ("corner2",)
    state_keys = ("hand", "observation")
    conventions = Conventions(
        cameras={"corner2": Camera(role="main")},
        state=(Part("position", "hand"), Part("gripper", "hand")),
        action=(Part("position", mode="delta", unit=0.01), Part("gripper", closed=1.0, open=-1.0)),
    )
    has_oracle = True
    test_file = Path(__file__).parent / "test_metaworld.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        return [(task, name) for task in INSTRUCTIONS for name, tasks in PARTITIONS.items() if task in tasks]

    def default_partitions(self) -> Sequence[str]:
        """Every task once: the other splits are parts of it."""
        return ("mt50",)

    def step_limit(self, task: str) -> int:
        return STEPS

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        import numpy as np
        from gymnasium.spaces import Box

        return Box(-1.0, 1.0, (4,), np.float32)

    def options(self, task: str) -> Mapping[str, Any]:
        return {"instruction": INSTRUCTIONS[task], "image_px": IMAGE_PX}
