"""The suite as the plugin sees it: cells, limits, robot, rules, oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_vla.kit.suite import MUJOCO, TaskSuite, own
from pytest_vla.policies.conventions import Camera, Conventions, Part
from pytest_vla.suite import Published, Requirement, Termination

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.episode import EpisodeKey
    from pytest_vla.kit.hand_task import HandTask
    from pytest_vla.policies import Policy

Rules = Literal["faithful", "strict"]
Mode = Literal["arm", "floating", "delta"]

ARM = tuple(Requirement(module, 'pip install "pytest-vla[agnostos]"') for module in ("mujoco", "mink", "ompl"))
HAND = {
    "state.ee": "x, y, z (m) and quaternion x, y, z, w of the tip, and how far the gripper is open (0 to 1)",
    "state.euler": "the same with the rotation as Euler angles about the room's x, y and z (rad)",
}
KEYFRAMES = {
    "action": "x, y, z (m) and quaternion x, y, z, w to go to, the gripper (1: open), whether to ignore collisions (1)"
}
STEPS = {"action": "metres along x, y, z, a rotation vector (rad) in the room's axes, and the gripper (1: open)"}
CAMERAS = {"front": Camera(role="main"), "wrist": Camera(role="wrist")}
EE = (Part("position", "ee"), Part("rotation", "ee", form="quaternion_xyzw"), Part("gripper", "ee"))
KEYFRAME = (Part("position"), Part("rotation", form="quaternion_xyzw"), Part("gripper"), Part("flag", default=1.0))
STEP = (Part("position", mode="delta"), Part("rotation", form="axis_angle", mode="delta"), Part("gripper"))
SPLITS = ("seen", "unseen_level1", "unseen_level2")
VARIATIONS = "variations"  # the partition in which an episode's number says which variation it is
ONE_VARIATION = "variation_"  # the partitions of one variation each


class AgnostosSuite(TaskSuite):
    """AGNOSTOS: 18 seen tasks, 13 unseen ones that share objects or motions with them, and 10 that share nothing.

    Args:
        name: what the suite is called on the command line.
        mode: what carries out an action; tasks, scenes and rules are the same in all.
        rules: `faithful` judges as the original does, quirks included; `strict` asks for what the words say.
        image_px: width and height of the pictures.
        tasks: other tasks than the 41.
    """

    version = "1"
    termination = Termination.ON_SUCCESS
    cameras = ("front", "left_shoulder", "right_shoulder", "overhead", "wrist")
    state_keys = ("ee", "euler")

    def __init__(
        self,
        name: str = "agnostos",
        *,
        mode: Mode = "arm",
        rules: Rules = "faithful",
        image_px: int = 256,
        tasks: Sequence[HandTask] | None = None,
        test_file: Path | None = None,
    ) -> None:
        self.name, self.mode, self.strict, self.image_px = name, mode, rules == "strict", image_px
        self.only_by_name = mode != "arm" or self.strict
        self.requires = ARM if mode == "arm" else (MUJOCO,)
        self.rotations = () if mode == "delta" else ("euler",)
        self.control_hz = 20.0 if mode == "delta" else 1.0
        self.image_sizes = dict.fromkeys(self.cameras, (image_px, image_px))
        self.meanings = HAND | (STEPS if mode == "delta" else KEYFRAMES)
        self.conventions = Conventions(CAMERAS, EE, STEP if mode == "delta" else KEYFRAME)
        self._tasks = tasks
        self.test_file = test_file or Path(__file__).parent / "test_agnostos.py"

    @cached_property
    def templates(self) -> Mapping[str, HandTask]:
        from .tasks import TASKS

        return TASKS if self._tasks is None else {task.name: task for task in self._tasks}

    def cells(self) -> Sequence[tuple[str, str]]:
        tasks = self.templates.values()
        most = max(task.variations for task in tasks)
        return [
            *((task.name, split) for split in SPLITS for task in tasks if task.split == split),
            *((task.name, VARIATIONS) for task in tasks if task.variations > 1),
            *((task.name, f"{ONE_VARIATION}{v}") for v in range(1, most) for task in tasks if v < task.variations),
        ]

    def default_partitions(self) -> Sequence[str]:
        return SPLITS

    def unseen_tasks(self) -> Sequence[str]:
        return [task.name for task in self.templates.values() if task.split != SPLITS[0]]

    def variation(self, episode: EpisodeKey) -> int:
        """Which variation an episode is: 0 as published, unless its partition says otherwise."""
        if episode.partition == VARIATIONS:
            return episode.index % self.templates[episode.task].variations
        return int(episode.partition.removeprefix(ONE_VARIATION)) if episode.partition not in SPLITS else 0

    def step_limit(self, task: str) -> int:
        from .protocol import SMALL_STEPS

        return SMALL_STEPS if self.mode == "delta" else self.templates[task].step_limit

    def make_env(self, task: str) -> gymnasium.Env[Any, Any]:
        from pytest_vla.kit.arm import Arm
        from pytest_vla.kit.delta import DeltaEnv
        from pytest_vla.kit.hand import Floating
        from pytest_vla.kit.hand_env import HandEnv

        from .protocol import ROOM, SCAN_PX

        robot = Arm() if self.mode == "arm" else Floating()
        kind = DeltaEnv if self.mode == "delta" else HandEnv
        return kind(
            *(ROOM, self.templates, robot),
            variation_of=self.variation,
            strict=self.strict,
            image_px=self.image_px,
            scan_px=SCAN_PX,
        )

    def oracle(self, env: gymnasium.Env[Any, Any]) -> Policy:
        from pytest_vla.kit.delta import DeltaOracle
        from pytest_vla.kit.hand_env import HandEnv
        from pytest_vla.kit.keyframe_oracle import KeyframeOracle

        return (DeltaOracle if self.mode == "delta" else KeyframeOracle)(own(env, HandEnv))

    def features(self, env: gymnasium.Env[Any, Any]) -> Mapping[str, str | float]:
        from pytest_vla.kit.hand_env import HandEnv

        from .features import features

        mine = own(env, HandEnv)
        return features(mine.instance, mine.variation)

    def action(self, given: Any, rotation: str) -> Any:
        """A keyframe from x, y, z, Euler angles about the room's x, y and z (rad) and the gripper: seven numbers."""
        from pytest_vla.kit.keyframe_actions import keyframe_from_euler

        return keyframe_from_euler(given) if rotation in self.rotations else super().action(given, rotation)

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        """Stay at home with the hand open."""
        import numpy as np

        from pytest_vla.kit.hand import HOME
        from pytest_vla.kit.keyframe_actions import action_of

        from .protocol import ROOM

        still = np.array([0, 0, 0, 0, 0, 0, 1], np.float32)
        return still if self.mode == "delta" else action_of(ROOM, HOME, 1.0)

    def hold(self, env: gymnasium.Env[Any, Any], last: Any) -> Any:
        """Stay where the last action led, the gripper as it asked."""
        action = self.noop(env)
        if last is not None and self.mode == "delta":
            action[6] = last[6]
        return action if last is None or self.mode == "delta" else last

    def random_action(self, space: gymnasium.Space[Any]) -> Any:
        """A keyframe anywhere in the workspace, the hand pointing down: nearly no four numbers are a rotation."""
        import math

        from pytest_vla.kit.hand import aim

        action = space.sample()
        if self.mode != "delta":
            action[3:7] = aim(math.pi * float(action[3]))
        return action

    def published(self) -> Published:
        from .published import published_cells

        return published_cells({task.name: task.split for task in self.templates.values()})

    def axes(self) -> Sequence[str]:
        from pytest_vla.kit.axes import supported
        from pytest_vla.kit.hand_edits import scene_axes

        from .protocol import ROOM

        return supported(scene_axes(ROOM))

    def provenance(self) -> dict[str, str]:
        from pytest_vla.sim.mujoco import made_with

        return made_with()
