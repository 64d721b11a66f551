"""LIBERO as a suite: its tasks, limits and spaces as data. What moves is in `world.py`, in another interpreter."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.suite import IsolatedSuite
from pytest_vla.policies.conventions import Camera, Conventions, Part
from pytest_vla.suite import Requirement, SuiteError, Termination

from .assets import Check, check, instruction, lacking, tasks

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.episode import EpisodeKey

IMAGE_PX = 256
INIT_STATES = 50
STEP_LIMITS = {"libero_spatial": 220, "libero_object": 280, "libero_goal": 300, "libero_10": 520, "libero_90": 400}
DEFAULT_PARTITIONS = ("libero_spatial", "libero_object", "libero_goal", "libero_10")
ASSETS_VARIABLE = "LIBERO_ASSETS"
FETCH = "huggingface-cli download --repo-type=dataset lerobot/libero-assets --local-dir=DIR"
#: two views upright, the hand with its two fingers, and robosuite's OSC_POSE: 1 is 5 cm or half a radian, +1 closes
LIBERO_CONVENTIONS = Conventions(
    cameras={"agentview": Camera(role="main"), "wrist": Camera(role="wrist")},
    state=(
        Part("position", "robot"),
        Part("rotation", "robot", form="axis_angle"),
        Part("joints", "robot", size=2),
    ),
    action=(
        Part("position", mode="delta", unit=0.05),
        Part("rotation", mode="delta", form="axis_angle", unit=0.5),
        Part("gripper", closed=1.0, open=-1.0),
    ),
)
FOLDERS = ("articulated_objects", "scenes", "stable_scanned_objects", "turbosquid_objects", "textures")


class LiberoSuite(IsolatedSuite):
    """130 tasks in five partitions; the first success ends an episode, as in every published evaluation."""

    name = "libero"
    version = "1"
    environment = "libero"
    termination = Termination.ON_SUCCESS
    control_hz = 20.0
    cameras = ("agentview", "wrist")
    state_keys = ("robot",)
    conventions = LIBERO_CONVENTIONS
    has_oracle = True
    data = FOLDERS
    fetch = FETCH
    test_file = Path(__file__).parent / "test_libero.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        return [(task, partition) for partition, found in tasks().items() for task in found]

    def default_partitions(self) -> Sequence[str]:
        return DEFAULT_PARTITIONS

    def step_limit(self, task: str) -> int:
        return STEP_LIMITS[self.partition_of(task)]

    def partition_of(self, task: str) -> str:
        """No task is in two partitions."""
        for partition, found in tasks().items():
            if task in found:
                return partition
        raise SuiteError(f"suite '{self.name}' has no task '{task}'")

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        import numpy as np
        from gymnasium.spaces import Box

        return Box(-1.0, 1.0, (7,), np.float32)

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        """The arm stays, and the gripper is open: a zero would leave it half closed wherever it is."""
        import numpy as np

        return np.array([0.0] * 6 + [-1.0], dtype=np.float32)

    def data_folder(self) -> Path | None:
        """The assets: what `--vla-data` gives, or `$LIBERO_ASSETS`."""
        given, variable = super().data_folder(), os.environ.get(ASSETS_VARIABLE)
        return given or (Path(variable).expanduser().absolute() if variable else None)

    def missing_in(self, task: str) -> Requirement | None:
        """Also an asset of the task's partition: the simulator would fail in every episode that shows it."""
        folder, missing = self.data_folder(), super().missing_in(task)
        if missing is not None or folder is None:
            return missing
        absent = lacking(folder, self.partition_of(task))
        return None if absent is None else Requirement(f"'{folder / absent}'", FETCH)

    def options(self, task: str) -> Mapping[str, Any]:
        folder = self.data_folder()
        if folder is None:
            raise SuiteError(f"suite '{self.name}' needs its assets: {FETCH}, then add --vla-data={self.name}=DIR")
        partition = self.partition_of(task)
        return {
            "partition": partition,
            "assets": str(folder),
            "instruction": instruction(task),
            "image_px": IMAGE_PX,
        }

    def describe(self, key: EpisodeKey) -> Mapping[str, Any]:
        from .axes import changes

        return {**super().describe(key), "edits": dict(changes(key))}

    def axes(self) -> Sequence[str]:
        from pytest_vla.perturb import CONTRADICTION

        from .axes import TABLE

        return [*TABLE, *super().axes(), CONTRADICTION]

    def provenance(self) -> dict[str, str]:
        """Runs with other assets than the published ones pair with none that has those."""
        found = self.check_assets()
        made = super().provenance()
        if found is None or not (found.absent or found.different):
            return {**made, "assets": "published"}
        off = len(found.absent) + len(found.different)
        name = (found.different or found.absent)[0]
        remark = f"{off} of {found.count} asset files are not the published ones, such as {name}"
        return {**made, "assets": found.digest, "not comparable": remark}

    def check_assets(self) -> Check | None:
        """How the folder of assets compares with the published files, over all partitions."""
        folder = self.data_folder()
        return None if folder is None else check(folder, tuple(tasks()))
