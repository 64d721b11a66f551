"""The suite of a `TaskEnv`: what the plugin asks of a suite and its environment already knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pytest_vla.suite import Suite, SuiteError

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.kit.env import TaskEnv

    EnvT = TypeVar("EnvT", bound=TaskEnv)


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


def own(env: gymnasium.Env[Any, Any], kind: type[EnvT]) -> EnvT:
    """The suite's own environment, whatever is wrapped around it."""
    inner = env.unwrapped
    if not isinstance(inner, kind):
        raise SuiteError(f"this suite needs a {kind.__name__}, got {type(inner).__name__}")
    return inner
