"""The policy that acts in a suite: the one that was loaded, with whatever has to be converted on both sides of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_vla.policies.base import Observation, Policy
from pytest_vla.policies.chunking import Chunked
from pytest_vla.policies.conventions.conversion import Conversion, conversion_for

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.episode import EpisodeKey
    from pytest_vla.suite import Suite


def fitted(
    policy: Policy,
    suite: Suite,
    env: gymnasium.Env[Any, Any] | None,
    corrections: Mapping[str, Any] | None = None,
    *,
    whole_chunks: bool = False,
) -> Policy:
    """The policy as it acts in a suite; the very same one where nothing has to be converted.

    Without an environment it can do everything but wait. With `whole_chunks` its answers stay as they are: what they
    mean is known only step by step.
    """
    conversion = conversion_for(policy.spec.conventions, suite, corrections)
    horizon = conversion.policy.horizon
    if horizon and isinstance(policy, Chunked):
        policy = Chunked(policy.policy, horizon, policy.ensemble, policy.decay)
    return Converted(policy, conversion, suite, env, whole_chunks) if conversion else policy


@dataclass
class Acted:
    """One episode: the policy's own state, and how many steps there were."""

    inner: Any
    steps: int = 0

    @property
    def timings(self) -> dict[str, float]:
        return getattr(self.inner, "timings", {})

    @property
    def remark(self) -> str:
        return str(getattr(self.inner, "remark", ""))


class Converted(Policy):
    """A policy behind a conversion. It stands outside of chunks: how far away a place is, is known when one goes."""

    def __init__(
        self,
        policy: Policy,
        conversion: Conversion,
        suite: Suite,
        env: gymnasium.Env[Any, Any] | None,
        whole_chunks: bool = False,
    ) -> None:
        self.policy, self.conversion, self.suite, self.env = policy, conversion, suite, env
        self.whole_chunks = whole_chunks
        self.spec = policy.spec

    def reset(self, episode: EpisodeKey) -> Acted:
        return Acted(self.policy.reset(episode))

    def act(self, observations: Sequence[Observation], states: Sequence[Acted]) -> list[Any]:
        actions: list[Any] = [None] * len(states)
        due = [row for row, state in enumerate(states) if not self._waits(state)]
        if due:
            seen = [self.conversion.see(observations[row]) for row in due]
            for row, action in zip(due, self.policy.act(seen, [states[row].inner for row in due]), strict=True):
                actions[row] = self.done(action, observations[row])
        for row, state in enumerate(states):
            if actions[row] is None and self._waits(state):
                assert self.env is not None
                actions[row] = self.suite.hold(self.env, None)
            state.steps += 1
        return actions

    def done(self, action: Any, observation: Observation) -> Any:
        """An action of the policy as the suite takes it."""
        if isinstance(action, Exception) or self.whole_chunks or not self.conversion.changes_actions:
            return action
        flat = self.suite.flatten_action(action) if isinstance(action, Mapping) else action
        return self.conversion.do(flat, observation)

    def _waits(self, state: Acted) -> bool:
        return self.env is not None and state.steps < self.conversion.policy.wait
