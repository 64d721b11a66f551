"""How a policy is asked what it would do: many changed observations of one moment in one request, to one server."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.episode import EpisodeError
from pytest_vla.explain.errors import ExplainError
from pytest_vla.explain.interventions import Intervention
from pytest_vla.inference.local import Declared
from pytest_vla.inference.probes import MOST_ROWS, PROBE, packed
from pytest_vla.policies.base import Observation, Policy, PolicyError
from pytest_vla.policies.chunking import Chunked
from pytest_vla.policies.conventions.converted import fitted
from pytest_vla.policies.source import PolicySource, SharedSource

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey
    from pytest_vla.suite import Suite

REQUEST_BYTES = 64 << 20
Floats = NDArray[np.float64]


@dataclass
class Line:
    """One episode on the way to the model. Copies of what wraps it share it: it has one state there."""

    inner: Any

    def __deepcopy__(self, memo: Any) -> Line:
        return self


class Prober(Policy):
    """Stands where the model is asked; while `question` is set, all rows go there as one what-if question."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.spec = policy, policy.spec
        self.question: dict[str, Any] | None = None
        self.clean: Any = None
        self.replies: list[dict[str, Any]] = []

    def reset(self, episode: EpisodeKey) -> Line:
        return Line(self.policy.reset(episode))

    def act(self, observations: Sequence[Observation], states: Sequence[Line]) -> list[Any]:
        if self.question is None:
            return list(self.policy.act(observations, [state.inner for state in states]))
        self.replies = []
        for rows in _requests(observations):
            request: dict[str, Any] = {PROBE: self.question, **packed(rows)}
            if self.clean is not None:
                request["clean"] = self.clean
            (reply,) = self.policy.act([request], [states[0].inner])
            self.replies.append(reply)
        return [action for reply in self.replies for action in reply.get("actions", ())] or [None] * len(observations)


def _requests(observations: Sequence[Observation]) -> list[Sequence[Observation]]:
    """As many rows at a time as a call may have, and as memory likes."""
    size = sum(np.asarray(image).nbytes for image in (observations[0].get("images") or {}).values())
    most = max(1, min(MOST_ROWS, REQUEST_BYTES // max(size, 1)))
    return [observations[start : start + most] for start in range(0, len(observations), most)]


@dataclass(frozen=True, slots=True)
class Answers:
    """What came back for the rows of a question: actions, and the log-likelihood of the clean one where it is known."""

    actions: list[Any]
    scores: Floats | None
    clean: Any


@dataclass
class Asker:
    """A policy in a suite, asked about moments of one episode. It follows the episode by `advance`."""

    source: PolicySource
    suite: Suite
    rows: int = 0
    """Rows asked so far."""
    about: Mapping[str, Any] = field(default_factory=dict)
    _prober: Prober = field(init=False)
    _policy: Policy = field(init=False)
    _state: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.source, SharedSource):
            raise ExplainError(
                f"policy '{self.source.text}' looks into its environment and not at observations: nothing to explain"
            )
        asked = self.source.policy.policy if isinstance(self.source.policy, Chunked) else self.source.policy
        assert isinstance(asked, Declared)
        self._prober = Prober(asked.policy)
        declared = Declared(self._prober, asked.spec)
        self._policy = fitted(declared, self.suite, None, self.source.corrections, whole_chunks=True)

    def begin(self, episode: EpisodeKey) -> None:
        self._state = self._policy.reset(episode)

    def advance(self, seen: Observation) -> Any:
        """The episode goes on: the policy looks at what was seen, and remembers."""
        (action,) = self._policy.act([seen], [self._state])
        return action

    def learn(self, seen: Observation) -> None:
        """What the policy can be asked."""
        if not self.about:
            self.about = self._probe([seen], {"ask": "about"})[0]

    @property
    def likely(self) -> bool:
        """Whether it says how likely an action is."""
        return bool(self.about.get("log_prob"))

    def rows_of(
        self,
        seen: Observation,
        changes: Sequence[Intervention],
        clean: Any = None,
        *,
        actions: bool = True,
        shuffle: int | None = None,
    ) -> Answers:
        """The answers to a moment under each of these changes."""
        question: dict[str, Any] = {"ask": "rows", "actions": actions or not self.likely, "scores": self.likely}
        if shuffle is not None:
            question["shuffle"] = shuffle
        rows = [change.apply(seen) for change in changes]
        self.rows += len(rows)
        replies = self._probe(rows, question, clean)
        scores = np.concatenate([reply["scores"] for reply in replies]) if self.likely else None
        given = [action for reply in replies for action in reply.get("actions", ())]
        return Answers(given, scores, replies[0]["clean"])

    def units(self, seen: Observation, change: Intervention, named: Sequence[str] = ()) -> dict[str, Any]:
        """How much of the clean answer each unit brings back under a change."""
        question = {"ask": "units", "named": list(named)}
        return self._probe([seen, change.apply(seen)], question)[0]

    def _probe(self, rows: Sequence[Observation], question: dict[str, Any], clean: Any = None) -> list[dict[str, Any]]:
        self._prober.question, self._prober.clean = question, clean
        try:
            self._policy.act(rows, [copy.deepcopy(self._state) for _ in rows])
            return self._prober.replies
        except (PolicyError, EpisodeError) as error:
            raise ExplainError(_first_line(str(error))) from error
        finally:
            self._prober.question = self._prober.clean = None


def _first_line(text: str) -> str:
    """Of a traceback its last line says what went wrong, of a message its first."""
    lines = text.strip().splitlines() or [""]
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]
