"""What a test is given: `episode`, `env` and `policy`, and in a hunt `perturbation`.

The process's execution knows the item, since asking for `request` costs each one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_vla.episode import EpisodeKey
from pytest_vla.execution import Execution, suite_named
from pytest_vla.policies import Policy

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.perturb import Perturbation

GIVEN = ("episode", "env", "policy")


class Fixtures:
    """The fixtures, and a short cut past them.

    Looking up, caching and finishing three fixtures costs more than all else that is ours in an item. So the first
    item of a function gets them from pytest, which shows whether they are these, and the items after it get the same
    values handed. A function whose fixtures replace one of them, or ask for one, goes on as pytest does it.
    """

    def __init__(self, execution: Execution, config: pytest.Config) -> None:
        self.execution = execution
        self._watched: tuple[str, dict[str, bool]] | None = None
        """A function in its first item, and which of its fixtures were set up: are they ours, and only the test's?"""
        self._ours: dict[str, bool] = {}
        self._shown = config.getoption("setupshow", False)  # also of --setup-only and --setup-plan

    def hand_over(self, item: pytest.Item) -> None:
        """Give an item of a known function what the fixtures would; watch what they do in the first of another."""
        if self._watched is not None and self._watched[1]:
            watched, ours = self._watched
            self._ours[watched] = all(ours.get(name, False) for name in GIVEN)
        function = item.nodeid.partition("[")[0]
        self._watched = None if function in self._ours or self._shown else (function, {})
        if self._ours.get(function) and isinstance(item, pytest.Function):
            episode = self.execution.episode()
            env = self._env(episode)
            item.funcargs.update(episode=episode, env=env, policy=self._policy(episode, env))

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        if self._watched is None:
            return
        ours = self._watched[1]
        if getattr(fixturedef.func, "__self__", None) is self:
            ours.setdefault(fixturedef.argname, True)
        elif fixturedef.argname in GIVEN or any(name in GIVEN for name in fixturedef.argnames):
            ours.update(dict.fromkeys(GIVEN, False))

    @pytest.fixture
    def episode(self) -> EpisodeKey:
        """The episode of this item, by `@vla.benchmark`; of a hunt the first one, before each probe brings its own."""
        return self.execution.episode()

    @pytest.fixture
    def env(self) -> gymnasium.Env[Any, Any]:
        """An environment of the episode's suite, kept between items of a worker; `rollout` resets it."""
        return self._env(self.execution.episode())

    @pytest.fixture
    def perturbation(self, episode: EpisodeKey) -> Perturbation:
        """What is off neutral in this episode; a hunt gives it to each probe."""
        from pytest_vla.perturb import Perturbation

        return Perturbation.parse(episode.perturbation)

    @pytest.fixture
    def policy(self, env: gymnasium.Env[Any, Any]) -> Policy:
        """The policy under test, as named by --vla-policy."""
        return self._policy(self.execution.episode(), env)

    def _env(self, episode: EpisodeKey) -> gymnasium.Env[Any, Any]:
        return self.execution.env_for(suite_named(episode.suite), episode.task)

    def _policy(self, episode: EpisodeKey, env: gymnasium.Env[Any, Any]) -> Policy:
        return self.execution.policy_for(suite_named(episode.suite), env)
