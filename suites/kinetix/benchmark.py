"""Kinetix as a suite: a task a level, in two partitions. What moves is in `world.py`, in another interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.suite import IsolatedSuite
from pytest_vla.suite import Termination

from .levels import LEVELS

if TYPE_CHECKING:
    import gymnasium

STEPS = 256
ACTIONS = 6  # four motors and two thrusters; small levels use some of them
NOISE = {"noisy": 0.1, "exact": 0.0}  # standard deviation of what is added to every action
TASKS = {f"{size}_{level}": f"{size}/{level}" for size, levels in LEVELS.items() for level in levels}
LANES = 64
WIDTHS = (8, 32, LANES)  # lanes a core simulates together: as few as hold its episodes, since empty ones cost the same


class KinetixSuite(IsolatedSuite):
    """74 levels; the green shape must touch the blue one, and not the red one. Episodes of a level run together."""

    name = "kinetix"
    version = "1"
    environment = "kinetix"
    termination = Termination.ON_SUCCESS
    control_hz = 30.0  # two steps of 1/60 s an action
    state_keys = ("symbols",)
    batch = LANES
    test_file = Path(__file__).parent / "test_kinetix.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        return [(task, partition) for task in TASKS for partition in NOISE]

    def default_partitions(self) -> Sequence[str]:
        """Without noise all episodes of a level are one and the same."""
        return ("noisy",)

    def step_limit(self, task: str) -> int:
        return STEPS

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        import numpy as np
        from gymnasium.spaces import Box

        return Box(-1.0, 1.0, (ACTIONS,), np.float32)

    def options(self, task: str) -> Mapping[str, Any]:
        instruction = "bring the green shape to the blue one, away from the red ones"
        return {
            "level": TASKS[task],
            "instruction": instruction,
            "noise": NOISE,
            "steps": STEPS,
            "widths": list(WIDTHS),
        }
