"""CALVIN as a suite: one task, whose episodes are the official chains. What moves is in `world.py`, elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.suite import IsolatedSuite
from pytest_vla.policies.conventions import Camera, Conventions, Part
from pytest_vla.suite import Score, SuiteError, Termination

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.episode import EpisodeKey

TASK, PARTITION = "chain", "abc_d"
SUBTASK_STEPS = 360
ROOT_VARIABLE = "CALVIN_ROOT"
FETCH = f"git clone --recurse-submodules https://github.com/mees/calvin DIR && export {ROOT_VARIABLE}=DIR"


class CalvinSuite(IsolatedSuite):
    """The long-horizon protocol: an episode is solved when all five tasks of its chain are done, each in 360 steps."""

    name = "calvin"
    version = "1"
    environment = "calvin"
    termination = Termination.ON_SUCCESS
    control_hz = 30.0
    cameras = ("static", "gripper")
    state_keys = ("robot", "subtask")
    data = ("calvin_env/calvin_env", "calvin_env/data", "calvin_models/conf")
    conventions = Conventions(
        cameras={"static": Camera(role="main"), "gripper": Camera(role="wrist")},
        action=(
            Part("position", mode="delta", unit=0.02),
            Part("rotation", mode="delta", form="euler_xyz", unit=0.05),
            Part("gripper", closed=-1.0, open=1.0),
        ),
    )
    fetch = FETCH
    score = Score("average length", 5.0)
    test_file = Path(__file__).parent / "test_calvin.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        return [(TASK, PARTITION)]

    def step_limit(self, task: str) -> int:
        from .chains import LENGTH

        return LENGTH * SUBTASK_STEPS

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        import numpy as np
        from gymnasium.spaces import Box

        return Box(-1.0, 1.0, (7,), np.float32)

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        """The arm stays where it was told to be, and the gripper is open."""
        import numpy as np

        return np.array([0.0] * 6 + [1.0], dtype=np.float32)

    def data_folder(self) -> Path | None:
        """The checkout: what `--vla-data` gives, or `$CALVIN_ROOT`."""
        given, variable = super().data_folder(), os.environ.get(ROOT_VARIABLE)
        return given or (Path(variable).expanduser().absolute() if variable else None)

    def options(self, task: str) -> Mapping[str, Any]:
        folder = self.data_folder()
        if folder is None:
            raise SuiteError(f"suite '{self.name}' needs a checkout of mees/calvin: {FETCH}")
        return {"root": str(folder), "subtask_steps": SUBTASK_STEPS}

    def describe(self, key: EpisodeKey) -> Mapping[str, Any]:
        """The episode with its chain: what is to be done in a row, and the scene that it starts from."""
        from .chains import ROBOT, chain

        found = chain(key.index)
        drawn = {"tasks": list(found.tasks), "robot": list(ROBOT), "scene": list(found.scene)}
        return {**super().describe(key), "chain": drawn}

    def provenance(self) -> dict[str, str]:
        """Bullet's own renderer draws: pictures differ from those of the original's EGL."""
        return {**super().provenance(), "renderer": "bullet-tiny"}
