"""The suite as the plugin sees it: cells, limits, oracle, progress and digest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_vla.kit.suite import BULLET, MUJOCO, GantrySuite, own
from pytest_vla.suite import Termination

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.policies import Policy

Simulator = Literal["mujoco", "bullet"]


class BombSuite(GantrySuite):
    """BOMB: five tasks with small stones on a board, unperturbed, under six groups of perturbations, and all of them.

    Args:
        name: what the suite is called on the command line.
        simulator: the physics and the renderer; tasks, scenes, goals and oracle are the same in both.
    """

    version = "1"
    termination = Termination.AT_HORIZON
    image_sizes: Mapping[str, tuple[int, int]] = {"front": (256, 256), "wrist": (256, 256)}

    def __init__(self, name: str = "bomb", *, simulator: Simulator = "mujoco", test_file: Path | None = None) -> None:
        self.name, self.simulator = name, simulator
        self.requires = (BULLET if simulator == "bullet" else MUJOCO,)
        self.only_by_name = simulator == "bullet"
        self.test_file = test_file or Path(__file__).parent / "test_bomb.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        from .partitions import PARTITIONS
        from .tasks import TASKS

        return [(task, partition) for partition in PARTITIONS for task in TASKS]

    def default_partitions(self) -> Sequence[str]:
        return ["unperturbed", "perturbed"]

    def step_limit(self, task: str) -> int:
        from .tasks import TASKS

        return TASKS[task].step_limit

    def make_env(self, task: str) -> gymnasium.Env[Any, Any]:
        from .env import BombEnv

        if self.simulator == "bullet":
            from .world_bullet import BulletBoard

            return BombEnv(BulletBoard)
        from .world_mujoco import MujocoBoard

        return BombEnv(MujocoBoard)

    def oracle(self, env: gymnasium.Env[Any, Any]) -> Policy:
        from .env import BombEnv
        from .oracle import Oracle

        return Oracle(own(env, BombEnv))

    def features(self, env: gymnasium.Env[Any, Any]) -> Mapping[str, str | float]:
        from .env import BombEnv
        from .features import features

        return features(own(env, BombEnv).instance)

    def segment(self, env: gymnasium.Env[Any, Any], camera: str) -> tuple[Any, Mapping[int, str]]:
        from .env import BombEnv
        from .segments import segments

        return segments(own(env, BombEnv), camera)

    def axes(self) -> Sequence[str]:
        from pytest_vla.kit.axes import supported

        from .axes import TABLE

        return supported(TABLE)

    def provenance(self) -> dict[str, str]:
        return {"renderer": "bullet-tiny"} if self.simulator == "bullet" else super().provenance()
