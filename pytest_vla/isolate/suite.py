"""What a suite says whose worlds live in an environment of their own."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.environment import Environment, environment, installed, python_of
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
    """Its name; an empty one is this very interpreter, in a process of its own all the same."""
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

    @cached_property
    def declared(self) -> Environment | None:
        """What is declared of its environment; None where it has none of its own."""
        return environment(self.environment) if self.environment else None

    def env_group(self, task: str) -> str:
        """One child process a worker: the world in it is replaced when the task changes."""
        return self.name

    def make_env(self, task: str) -> gymnasium.Env[Any, Any]:
        from pytest_vla.isolate.env import IsolatedEnv

        return IsolatedEnv(self.launch, self.options, self.action_space(task), describe=self.describe)

    def launch(self) -> Launch:
        """How the child is started."""
        from pytest_vla.isolate.install import clean_variables
        from pytest_vla.isolate.process import Launch
        from pytest_vla.isolate.rendering import VARIABLE, renderer_of

        memory = provided().memory_gb
        if self.declared is None:
            return Launch(Path(sys.executable), self.world, memory_gb=memory)
        if installed(self.declared.name) is None:
            raise SuiteError(f"suite '{self.name}' needs its environment: {self.declared.command}")
        variables = dict(self.declared.variables)
        if self.declared.renders:
            variables[VARIABLE] = renderer_of(self.declared)
        return Launch(
            python=python_of(self.declared.folder),
            world=self.world,
            variables=clean_variables(variables),
            memory_gb=memory,
        )

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

        if self.declared is None:
            return {}
        receipt = installed(self.declared.name)
        made = {"environment": f"{self.declared.name}-{receipt.digest}" if receipt else ""}
        return {**made, "renderer": f"mujoco-{renderer_of(self.declared)}"} if self.declared.renders else made

    def missing(self) -> Requirement | None:
        """The environment, what it draws with, or its data: the first that is not there."""
        return super().missing() or self._missing_environment() or self._missing_data()

    def _missing_environment(self) -> Requirement | None:
        if self.declared is None or self.__dict__.get("_is_installed"):
            return None
        receipt = installed(self.declared.name)
        if receipt is None:
            return Requirement(f"the environment '{self.declared.name}'", self.declared.command)
        if receipt.fingerprint != self.declared.fingerprint:
            return Requirement(f"the environment '{self.declared.name}' as it is declared now", self.declared.command)
        if self.declared.renders:
            from pytest_vla.isolate.rendering import INSTALL, renderer_of

            if not renderer_of(self.declared):
                return Requirement("EGL or OSMesa to draw with", INSTALL)
        self.__dict__["_is_installed"] = True
        return None

    def _missing_data(self) -> Requirement | None:
        if not self.data:
            return None
        folder = self.data_folder()
        if folder is None:
            return Requirement("its data", f"{self.fetch}, then add --vla-data={self.name}=DIR")
        absent = next((name for name in self.data if not (folder / name).exists()), None)
        return None if absent is None else Requirement(f"'{folder / absent}'", self.fetch)
