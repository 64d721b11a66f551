"""The policy contract: batched `act`, an opaque state per episode, and a declared spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey
    from pytest_vla.suite import Suite

Observation = Mapping[str, Any]


class PolicyError(Exception):
    """A policy cannot be loaded, does not fit the suite, or broke its contract."""


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """What a policy needs and gives. Empty means: no demand. Checked against the suite before the first episode."""

    suites: tuple[str, ...] = ()
    cameras: tuple[str, ...] = ()
    state_keys: tuple[str, ...] = ()
    chunk: int = 1  # actions one answer holds; more than one stand along the first axis
    prompt: bool = False  # whether the multimodal prompt is needed: drawing and sending it costs
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PolicySpec:
        names = ("suites", "cameras", "state_keys", "chunk", "prompt")
        known = {name: data[name] for name in names if name in data}
        for name in ("suites", "cameras", "state_keys"):
            if name in known:
                known[name] = tuple(known[name])
        return cls(**known, extra={name: value for name, value in data.items() if name not in known})

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        return {**data.pop("extra"), **data}

    def mismatch(self, suite: Suite) -> str | None:
        """Why this policy cannot act in `suite`, or None when it can."""
        if self.suites and suite.name not in self.suites:
            return f"the policy acts in {', '.join(self.suites)}, not in '{suite.name}'"
        for what, wanted, given in (
            ("camera", self.cameras, suite.cameras),
            ("state key", self.state_keys, suite.state_keys),
        ):
            lacking = [name for name in wanted if name not in given]
            if lacking:
                return f"the policy needs {what} {', '.join(map(repr, lacking))}; '{suite.name}' has {', '.join(given)}"
        return None


class Policy:
    """Subclass it and write `act`; any object with these members is as good.

    Batching is the normal case: `act` gets one observation and one state per waiting episode and returns one action
    for each, in the same order. What must be remembered between steps of an episode lives in its state, never in
    `self`: episodes of many workers share one policy object.
    """

    spec: PolicySpec = PolicySpec()

    def reset(self, episode: EpisodeKey) -> Any:
        """The state of a new episode: any object, which `act` may change. Draw from `episode.rng("policy")`."""
        return None

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> Sequence[Any]:
        """One action for each observation."""
        raise NotImplementedError(f"{type(self).__name__} has no act()")
