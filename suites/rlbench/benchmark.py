"""RLBench as a suite: the 41 tasks and levels of our `agnostos`, in the simulator they come from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.suite import IsolatedSuite
from pytest_vla.suite import Requirement, SuiteError, Termination

from ..agnostos.benchmark import SPLITS, AgnostosSuite

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.isolate.process import Launch

IMAGE_PX = 256
KEYFRAMES = 25  # the published limit
REACH_M = 1.5  # from the robot's base, more than the arm has
COPPELIA, PYREP, RLBENCH = "CoppeliaSim", "PyRep", "RLBench"


class RLBenchSuite(IsolatedSuite):
    """41 tasks by keyframes, variation 0, as AGNOSTOS evaluates; needs CoppeliaSim 4.1.0, PyRep and RLBench."""

    name = "rlbench"
    version = "1"
    environment = "rlbench"
    termination = Termination.ON_SUCCESS
    cameras = ("front", "left_shoulder", "right_shoulder", "overhead", "wrist")
    state_keys = ("ee", "joints")
    data = (
        f"{COPPELIA}/libcoppeliaSim.so",
        f"{PYREP}/pyrep/__init__.py",
        f"{RLBENCH}/rlbench/task_design.ttt",
    )
    fetch = f"unpack CoppeliaSim 4.1.0 into DIR/{COPPELIA}, and clone PyRep (built in place) and RLBench into DIR"
    test_file = Path(__file__).parent / "test_rlbench.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        return [(task, level) for task, level in AgnostosSuite().cells() if level in SPLITS]

    def unseen_tasks(self) -> Sequence[str]:
        return AgnostosSuite().unseen_tasks()

    def step_limit(self, task: str) -> int:
        return KEYFRAMES

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        """A keyframe as in `agnostos`: place, quaternion x, y, z, w, gripper, and whether collisions are ignored."""
        import numpy as np
        from gymnasium.spaces import Box

        low = [-REACH_M, -REACH_M, 0.0] + [-1.0] * 4 + [0.0, 0.0]
        high = [REACH_M, REACH_M, 2 * REACH_M] + [1.0] * 6
        return Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)

    def options(self, task: str) -> Mapping[str, Any]:
        folder = self.data_folder()
        if folder is None:
            raise SuiteError(f"suite '{self.name}' needs its simulator: {self.fetch}, then --vla-data={self.name}=DIR")
        return {"paths": [str(folder / PYREP), str(folder / RLBENCH)], "image_px": IMAGE_PX}

    def launch(self, task: str = "") -> Launch:
        """The linker and Qt must find CoppeliaSim when the process starts."""
        launch, folder = super().launch(task), self.data_folder()
        root = str(folder / COPPELIA) if folder is not None else ""
        libraries = [root, *filter(None, [launch.variables.get("LD_LIBRARY_PATH")])]
        own = {"COPPELIASIM_ROOT": root, "LD_LIBRARY_PATH": ":".join(libraries), "QT_QPA_PLATFORM_PLUGIN_PATH": root}
        return replace(launch, variables={**launch.variables, **own})

    def missing_in(self, task: str) -> Requirement | None:
        """Three of the 41 tasks are in the fork of RLBench alone that PerAct and AGNOSTOS evaluate with."""
        folder, missing = self.data_folder(), self.missing()
        if missing is not None or folder is None or (folder / RLBENCH / "rlbench" / "tasks" / f"{task}.py").is_file():
            return missing
        return Requirement("tasks that only PerAct's fork has", f"clone that fork into {folder / RLBENCH}")

    def _missing_data(self) -> Requirement | None:
        missing = super()._missing_data()
        if missing is None and not os.environ.get("DISPLAY"):
            return Requirement("an X display to draw on", "xvfb-run -a pytest ...")
        return missing
