"""A policy that is ready to act: what it is exactly, how it is asked, and how to get it for an environment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_vla.policies.base import Policy, PolicyError, PolicySpec
from pytest_vla.policies.compute import Compute, ComputeError, set_up

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.suite import Suite


@dataclass(frozen=True, kw_only=True)
class PolicySource(ABC):
    """What every kind of policy has in common.

    `digest` hashes all that is known of the policy's content; `verified` says whether that is all there is. `horizon`,
    `ensemble` and `batch` say how it is asked, and are None where that cannot change its answers.
    """

    text: str
    digest: str
    verified: bool
    spec: PolicySpec = field(default_factory=PolicySpec)
    horizon: int | None = None  # steps between two requests; None executes each chunk to its end
    ensemble: str | None = None  # what overlapping chunks become
    batch: int | None = None  # rows of every call in a deterministic run
    corrections: Mapping[str, Any] = field(default_factory=dict)  # what a person says of its conventions

    @property
    def identity(self) -> dict[str, Any]:
        """All that makes two runs runs of the same policy, in built-in types."""
        names = ("text", "digest", "verified", "horizon", "ensemble", "batch")
        return {name: getattr(self, name) for name in names}

    @abstractmethod
    def bind(self, suite: Suite, env: gymnasium.Env[Any, Any]) -> Policy:
        """The policy that acts in this environment."""


@dataclass(frozen=True, kw_only=True)
class SharedSource(PolicySource):
    """One policy object for every environment: what it remembers of an episode is in the states, not in it."""

    policy: Policy = field(repr=False)

    def bind(self, suite: Suite, env: gymnasium.Env[Any, Any]) -> Policy:
        from pytest_vla.policies.conventions.converted import fitted

        return fitted(self.policy, suite, env, self.corrections)

    def computing(self, device: str, how: Compute) -> SharedSource:
        """The same on a device, in a precision; another precision is another policy."""
        self._move_to(device)
        if not how.mark:
            return self
        try:
            if hasattr(self.policy, "compute"):  # in a process of its own
                self.policy.compute(how, device)
            else:
                set_up(self.policy, how, device)
        except (ComputeError, PolicyError) as error:
            raise PolicyError(f"{how.typed}: {error}") from error
        return replace(self, digest=self.digest + how.mark)

    def _move_to(self, device: str) -> None:
        """Where the model computes; a policy without `to` computes where it likes."""
        move = getattr(self.policy, "to", None)
        if device == "cpu" or move is None:
            return
        try:
            move(device)
        except Exception as error:  # torch says it by AssertionError, RuntimeError and more, in many lines
            why = str(error).strip().partition("\n")[0]
            raise PolicyError(f"--vla-device={device}: the policy cannot be moved there: {why}") from error


@dataclass(frozen=True, kw_only=True)
class EnvSource(PolicySource):
    """A policy made for each environment, because it looks into it: it can only live where the environment does."""

    make: Callable[[Suite, gymnasium.Env[Any, Any]], Policy] = field(repr=False)

    def bind(self, suite: Suite, env: gymnasium.Env[Any, Any]) -> Policy:
        return self.make(suite, env)
