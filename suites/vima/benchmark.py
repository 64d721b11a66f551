"""The suite as the plugin sees it: cells, limits, oracle, progress and digest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_vla.kit.suite import BULLET, TaskSuite, own
from pytest_vla.policies.conventions import Camera, Conventions, Part
from pytest_vla.suite import Termination

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.policies import Policy
    from pytest_vla.suite import Published

    from .kit.task import Task

Rules = Literal["faithful", "strict"]
POSE = (Part("position", size=2), Part("rotation", form="quaternion_xyzw"))


class VimaSuite(TaskSuite):
    """VIMABench: 17 tasks, 42 test cells over four levels, plus the training distribution.

    Args:
        name: what the suite is called on the command line.
        rules: `faithful` judges as the original does; `strict` also checks what the prompts show.
        tasks: other tasks than the 17.
    """

    version = "2"
    termination = Termination.ON_SUCCESS
    requires = (BULLET,)
    cameras = ("top", "front")
    state_keys = ("ee",)
    image_sizes: Mapping[str, tuple[int, int]] = {"top": (128, 256), "front": (128, 256)}
    meanings: Mapping[str, str] = {
        "state.ee": "the tool: 0 suction, 1 spatula",
        "action.pose0_position": "x, y (m) where the move begins",
        "action.pose0_rotation": "quaternion x, y, z, w of the tool there",
        "action.pose1_position": "x, y (m) where it ends",
        "action.pose1_rotation": "quaternion x, y, z, w of the tool there",
    }

    conventions = Conventions(
        cameras={"top": Camera(role="main"), "front": Camera(role="front")},
        state=(Part("flag", "ee"),),
        action=(*POSE, *POSE),
    )

    def __init__(
        self,
        name: str = "vima",
        *,
        rules: Rules = "faithful",
        tasks: Sequence[Task] | None = None,
        test_file: Path | None = None,
    ) -> None:
        from .tasks import TASKS

        self.name, self.strict = name, rules == "strict"
        self.all_tasks: Mapping[str, Task] = TASKS if tasks is None else {task.name: task for task in tasks}
        self.only_by_name = self.strict
        self.test_file = test_file or Path(__file__).parent / "test_vima.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        from .kit.partitions import PARTITIONS

        tasks = self.all_tasks.values()
        named = [*PARTITIONS, *(p for task in tasks for p in task.partitions if p not in PARTITIONS)]
        return [(task.name, partition) for partition in named for task in tasks if partition in task.partitions]

    def default_partitions(self) -> Sequence[str]:
        return [partition for partition in self.partitions() if partition != "train"]

    def groups(self) -> Mapping[str, Sequence[str]]:
        from .published import GROUPS

        return GROUPS

    def published(self) -> Published:
        from .published import published

        return published()

    def step_limit(self, task: str) -> int:
        return self.all_tasks[task].step_limit

    def make_env(self, task: str) -> gymnasium.Env[Any, Any]:
        from .env import VimaEnv

        return VimaEnv(self.all_tasks, strict=self.strict)

    def oracle(self, env: gymnasium.Env[Any, Any]) -> Policy:
        from .env import VimaEnv
        from .oracle import Oracle

        return Oracle(own(env, VimaEnv))

    def random_action(self, space: gymnasium.Space[Any]) -> Any:
        """An upright tool: nearly every quaternion drawn from the space tilts it further than an arm can."""
        import numpy as np

        action = space.sample()
        for name in ("pose0_rotation", "pose1_rotation"):
            yaw = np.pi * float(action[name][0])
            action[name] = np.array([0, 0, np.sin(yaw / 2), np.cos(yaw / 2)], np.float32)
        return action

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        from .env import VimaEnv
        from .oracle import idle_action

        return idle_action(own(env, VimaEnv))

    def features(self, env: gymnasium.Env[Any, Any]) -> Mapping[str, str | float]:
        from .env import VimaEnv

        return own(env, VimaEnv).features

    def segment(self, env: gymnasium.Env[Any, Any], camera: str) -> tuple[Any, Mapping[int, str]]:
        from .env import VimaEnv
        from .segments import segments

        return segments(own(env, VimaEnv), camera)

    def axes(self) -> Sequence[str]:
        from pytest_vla.kit.axes import supported

        from .axes import LEFT_OUT, TABLE

        return supported(TABLE, LEFT_OUT)
