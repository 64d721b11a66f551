"""The environment that a rollout sees, with its world in another process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium

from pytest_vla.episode import EpisodeKey
from pytest_vla.isolate.process import Child, Launch
from pytest_vla.kit.images import LazyImages
from pytest_vla.lockstep import Lane
from pytest_vla.perturb import Perturbation
from pytest_vla.policies.base import Observation, Policy

SEED_BITS = 31  # what every simulator takes: numpy's old generator wants less than 2^32, some a positive int32


class IsolatedEnv(gymnasium.Env[Any, Any]):
    """A `gymnasium.Env` around a child process. The first reset starts it, and the first after a loss a new one.

    The world's digest and progress come with every answer, so that a step is one question.
    """

    def __init__(
        self,
        launch: Callable[[], Launch],
        options: Callable[[str], Mapping[str, Any]],
        action_space: gymnasium.Space[Any],
        observation_space: gymnasium.Space[Any] | None = None,
        describe: Callable[[EpisodeKey], Mapping[str, Any]] | None = None,
    ) -> None:
        """`launch` says how to start the child, `options` what a task's world gets, `describe` what an episode is."""
        self._describe = describe or episode_of
        self.action_space = action_space
        self.observation_space = observation_space or gymnasium.spaces.Dict({})
        self._launch, self._options = launch, options
        self._child: Child | None = None
        self._task: str | None = None
        self._last: Mapping[str, Any] = {}
        self.serial = 0
        """Another one whenever there is another world: whatever was in its lanes is gone then."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        key: EpisodeKey = (options or {})["episode"]
        self._open(key.task)
        self._last = self._ask("reset", world_seed(key), dict(self._describe(key)))
        return self._observation(), {}

    def _open(self, task: str) -> None:
        """A world of the task in a living process."""
        if self._child is not None and not self._child.usable:
            self.close()
        if self._child is None:
            self._child, self._task = Child(self._launch()), None
        if self._task != task:
            self._task = None
            self.serial += 1
            self._ask("open", task, dict(self._options(task)))
            self._task = task

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._last = {"features": self._last.get("features", {}), **self._ask("step", action)}
        info = self._last["info"]
        return self._observation(), float(info.get("success", False)), self._last["terminated"], False, info

    def reset_batch(self, keys: Sequence[EpisodeKey | None]) -> list[Lane | None]:
        """Begin episodes of one task, a lane each; a lane without a key goes on with what it has."""
        self._open(next(key.task for key in keys if key is not None))
        seeds = [None if key is None else world_seed(key) for key in keys]
        return self._lanes("reset_batch", seeds, [None if key is None else dict(self._describe(key)) for key in keys])

    def step_batch(self, actions: Sequence[Any]) -> list[Lane | None]:
        """A step of every lane; None where none is to be made."""
        return self._lanes("step_batch", list(actions))

    def _lanes(self, name: str, *arguments: Any) -> list[Lane | None]:
        answers = self._ask("call", name, list(arguments))["value"]
        return [None if lane is None else Lane(**lane) for lane in answers]

    def call(self, name: str, *arguments: Any) -> Any:
        """What a method of the world returns."""
        return self._ask("call", name, list(arguments))["value"]

    @property
    def features(self) -> Mapping[str, Any]:
        return self._last.get("features") or {}

    @property
    def digest(self) -> str:
        return str(self._last.get("digest", ""))

    @property
    def progress(self) -> float | None:
        return self._last.get("progress")

    @property
    def pid(self) -> int | None:
        """Of the child, where there is one."""
        return self._child.pid if self._child is not None else None

    def _observation(self) -> dict[str, Any]:
        """What the world sent; pictures that it left for later are fetched when somebody looks at them."""
        observation: dict[str, Any] = self._last["observation"]
        if "later" in self._last:
            moment, cameras = self._last["later"]
            drawn = observation["images"]
            observation["images"] = LazyImages(
                cameras, lambda name: drawn[name] if name in drawn else self._ask("draw", moment, name)["value"]
            )
        return observation

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = self._task = None

    def _ask(self, name: str, *arguments: Any) -> dict[str, Any]:
        if self._child is None:
            raise RuntimeError(f"{name}() before reset(): the world is not there")
        try:
            return self._child.ask(name, *arguments)
        except Exception:
            self.close()  # what raised once may be in any state: the next episode gets a new process
            raise


class WorldOracle(Policy):
    """The world's own expert, asked for its next action."""

    def __init__(self, env: IsolatedEnv) -> None:
        self.env = env

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> Sequence[Any]:
        return [self.env.call("oracle") for _ in observations]


def world_seed(key: EpisodeKey) -> int:
    """The seed of an episode as a number that any simulator takes."""
    return key.seed() % (1 << SEED_BITS)


def episode_of(key: EpisodeKey) -> dict[str, Any]:
    """The key as a world gets it: plain data."""
    levels = dict(Perturbation.parse(key.perturbation).levels)
    return {"task": key.task, "partition": key.partition, "index": key.index, "perturbation": levels}


def isolated(env: gymnasium.Env[Any, Any]) -> IsolatedEnv:
    """The environment under its wrappers."""
    inner = env.unwrapped
    if not isinstance(inner, IsolatedEnv):
        raise TypeError(f"expected an environment with a process of its own, got {type(inner).__name__}")
    return inner
