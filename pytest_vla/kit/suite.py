"""The suites of our environments: what the plugin asks of a suite and its environment already knows."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_vla.policies.conventions import Camera, Conventions, Part
from pytest_vla.suite import Requirement, Suite, SuiteError

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.kit.env import TaskEnv

    EnvT = TypeVar("EnvT", bound=TaskEnv)

MUJOCO = Requirement("mujoco", 'pip install "pytest-vla[mujoco]"')
BULLET = Requirement(
    "pybullet",
    'pip install "pytest-vla[bullet]"'
    if sys.version_info < (3, 14)
    else "it has no wheel for this Python; use Python 3.11, 3.12 or 3.13",
)


class TaskSuite(Suite):
    """A suite whose tasks share one environment in a worker."""

    def env_group(self, task: str) -> str:
        return self.name

    def progress(self, env: gymnasium.Env[Any, Any]) -> float | None:
        from pytest_vla.kit.env import TaskEnv

        return own(env, TaskEnv).progress()

    def digest(self, env: gymnasium.Env[Any, Any]) -> str:
        from pytest_vla.kit.env import TaskEnv

        return own(env, TaskEnv).digest()


class GantrySuite(TaskSuite):
    """A suite under a gantry, in MuJoCo unless it says otherwise."""

    control_hz = 10.0
    cameras = ("front", "wrist")
    state_keys = ("ee",)
    meanings: Mapping[str, str] = {
        "state.ee": "x, y, z (m) of the tip, and how far the gripper is open (0 to 1)",
        "action": "x, y, z (m) to go to, and how far to open the gripper (0 to 1)",
    }
    conventions = Conventions(
        cameras={"front": Camera(role="main"), "wrist": Camera(role="wrist")},
        state=(Part("position", "ee"), Part("gripper", "ee")),
        action=(Part("position"), Part("gripper")),
    )
    requires = (MUJOCO,)

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        """Stay at the start, gripper open."""
        from pytest_vla.kit.gantry import GantryEnv, action_of

        return action_of(own(env, GantryEnv).gantry.start_m, 1.0)

    def hold(self, env: gymnasium.Env[Any, Any], last: Any) -> Any:
        """Actions are places to go to: without a new one it goes on to the last."""
        return self.noop(env) if last is None else last

    def provenance(self) -> dict[str, str]:
        """What episodes depend on besides the key: runs that differ in it do not pair. It may try renderers first."""
        from pytest_vla.sim.mujoco import made_with

        return made_with()


def own(env: gymnasium.Env[Any, Any], kind: type[EnvT]) -> EnvT:
    """The suite's own environment, whatever is wrapped around it."""
    inner = env.unwrapped
    if not isinstance(inner, kind):
        raise SuiteError(f"this suite needs a {kind.__name__}, got {type(inner).__name__}")
    return inner
