"""The policies that need no checkpoint: `oracle`, `random`, `noop`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_vla.policies.base import Observation, Policy

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.episode import EpisodeKey
    from pytest_vla.suite import Suite

    Space = gymnasium.Space[Any]


class RandomPolicy(Policy):
    """Samples the action space, seeded by the episode: the score of knowing nothing.

    Where the space differs from episode to episode, a function tells that of the one that begins.
    """

    def __init__(self, space: Space | Callable[[], Space], sample: Callable[[Space], Any] | None = None) -> None:
        self.space = space
        self.sample = sample or (lambda space: space.sample())

    def reset(self, episode: EpisodeKey) -> gymnasium.Space[Any]:
        from copy import deepcopy

        space = deepcopy(self.space() if callable(self.space) else self.space)
        space.seed(episode.seed("policy") % 2**63)
        return space

    def act(self, observations: Sequence[Observation], states: Sequence[gymnasium.Space[Any]]) -> list[Any]:
        return [self.sample(space) for space in states]


class NoopPolicy(Policy):
    """Does nothing: what it solves needed no policy."""

    def __init__(self, action: Any) -> None:
        self.action = action

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        return [self.action for _ in observations]


def oracle(suite: Suite, env: gymnasium.Env[Any, Any]) -> Policy:
    return suite.oracle(env)


def random(suite: Suite, env: gymnasium.Env[Any, Any]) -> Policy:
    return RandomPolicy(lambda: env.action_space, suite.random_action)


def noop(suite: Suite, env: gymnasium.Env[Any, Any]) -> Policy:
    return NoopPolicy(suite.noop(env))


BUILTIN = {"oracle": oracle, "random": random, "noop": noop}
