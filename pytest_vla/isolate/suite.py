"""What a suite says whose worlds live in an environment of their own."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.environment import Environment, environment, installed
from pytest_vla.suite import Requirement, Suite, SuiteError, provided

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.episode import EpisodeKey
    from pytest_vla.isolate.process import Launch
    from pytest_vla.policies import Policy


class IsolatedSuite(Suite):
    """A suite whose `world.py` runs in the interpreter of its environment; this half declares, as data, what it is.

    `world.py` is beside the module of the class unless `world` says otherwise. It has a class `World`:

        World(task, **options)       options: what `options(task)` gives, plain data
        reset(seed, episode)         -> observation; the seed has 31 bits, the episode is a dict
        step(action)                 -> observation, terminated, info
        digest()                     -> text
        progress(), features(), oracle(), close()      where it has them; others by `IsolatedEnv.call`
    """

    only_by_name = True
    environment: str
    """Its name; an empty one is this very interpreter, in a process of its own all the same. See `environment_of`."""
    has_oracle: bool = False
    data: Sequence[str] = ()
    """Files or folders that must be in the folder given by --vla-data."""
    fetch: str = ""
    """Where they come from."""

    @abstractmethod
    def action_space(self, task: str) -> gymnasium.Space[Any]:
        """Declared here: nobody starts a simulator to ask for it."""

    def options(self, task: str) -> Mapping[str, Any]:
        """What the world of a task is made with: plain data."""
        return {}

    def describe(self, key: EpisodeKey) -> Mapping[str, Any]:
        """An episode as its world gets it: plain data. A suite adds what its perturbations change."""
        from pytest_vla.isolate.env import episode_of

        return episode_of(key)

    @property
    def world(self) -> Path:
        module = sys.modules[type(self).__module__]
        return Path(str(module.__file__)).parent / "world.py"

    def environment_of(self, task: str) -> str:
        """The environment that a task runs in, where not all of them run in the same."""
        return self.environment

    @cached_property
    def declared(self) -> Environment | None:
        """What is declared of its environment; None where it has none of its own."""
        return declared_environment(self.environment)

    def env_group(self, task: str) -> str:
        """One child process a worker and environment: the world in it is replaced when the task changes."""
        name = self.environment_of(task)
        return self.name if name == self.environment else f"{self.name} in {name}"

    def make_env(self, task: str) -> gymnasium.Env[Any, Any]:
        from pytest_vla.isolate.env import IsolatedEnv

        launch = partial(self.launch, task)
        return IsolatedEnv(launch, self.options, self.action_space(task), describe=self.describe)

    def launch(self, task: str = "") -> Launch:
        """How the child is started that plays a task."""
        from pytest_vla.isolate.process import Launch, launch_in

        memory = provided().memory_gb
        declared = declared_environment(self.environment_of(task) if task else self.environment)
        if declared is None:
            return Launch(Path(sys.executable), self.world, memory_gb=memory)
        if installed(declared.name) is None:
            raise SuiteError(f"suite '{self.name}' needs its environment: {declared.command}")
        return launch_in(declared, self.world, memory)

    def oracle(self, env: gymnasium.Env[Any, Any]) -> Policy:
        from pytest_vla.isolate.env import WorldOracle, isolated

        return WorldOracle(isolated(env)) if self.has_oracle else super().oracle(env)

    def features(self, env: gymnasium.Env[Any, Any]) -> Mapping[str, str | float]:
        from pytest_vla.isolate.env import isolated

        return isolated(env).features

    def progress(self, env: gymnasium.Env[Any, Any]) -> float | None:
        from pytest_vla.isolate.env import isolated

        return isolated(env).progress

    def digest(self, env: gymnasium.Env[Any, Any]) -> str:
        from pytest_vla.isolate.env import isolated

        return isolated(env).digest

    def provenance(self) -> dict[str, str]:
        """The packages as installed, and what draws: episodes of others do not pair."""
        return dict(self._made_with)

    @cached_property
    def _made_with(self) -> Mapping[str, str]:
        from pytest_vla.isolate.rendering import renderer_of

        names = dict.fromkeys([self.environment, *map(self.environment_of, self.tasks())])
        there = [(declared, installed(declared.name)) for name in names if (declared := declared_environment(name))]
        if not there:
            return {}
        made = {"environment": ",".join(f"{each.name}-{receipt.digest}" for each, receipt in there if receipt)}
        drawing = next((each for each, receipt in there if receipt and each.renders), None)
        return made if drawing is None else {**made, "renderer": f"mujoco-{renderer_of(drawing)}"}

    def missing(self) -> Requirement | None:
        """The environment, what it draws with, or its data: the first that is not there."""
        return super().missing() or self._missing_environment(self.environment) or self._missing_data()

    def missing_in(self, task: str) -> Requirement | None:
        return self.missing() or self._missing_environment(self.environment_of(task))

    def _missing_environment(self, name: str) -> Requirement | None:
        declared = declared_environment(name)
        if declared is None or name in self._there:
            return None
        receipt = installed(declared.name)
        if receipt is None:
            return Requirement(f"the environment '{declared.name}'", declared.command)
        if receipt.fingerprint != declared.fingerprint:
            return Requirement(f"the environment '{declared.name}' as it is declared now", declared.command)
        if declared.renders:
            from pytest_vla.isolate.rendering import INSTALL, renderer_of

            if not renderer_of(declared):
                return Requirement("EGL or OSMesa to draw with", INSTALL)
        self._there.add(name)
        return None

    @cached_property
    def _there(self) -> set[str]:
        """Environments that were found to be in order."""
        return set()

    def _missing_data(self) -> Requirement | None:
        if not self.data:
            return None
        folder = self.data_folder()
        if folder is None:
            return Requirement("its data", f"{self.fetch}, then add --vla-data={self.name}=DIR")
        absent = next((name for name in self.data if not (folder / name).exists()), None)
        return None if absent is None else Requirement(f"'{folder / absent}'", self.fetch)


def declared_environment(name: str) -> Environment | None:
    """What is declared under that name; nothing is under an empty one."""
    return environment(name) if name else None
