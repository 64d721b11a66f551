"""Action chunks, executed where the simulator is: no request and no image leaves on steps a chunk already covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_vla.episode import EpisodeKey
from pytest_vla.policies.base import ENSEMBLES, Observation, Policy, PolicyError, PolicySpec

DECAY = 0.01  # per chunk, the oldest weighing most: the constant of ACT, which introduced the scheme


@dataclass
class ChunkState:
    """One episode: the inner policy's state, the step, and the chunks that still say something about it or later."""

    inner: Any
    step: int = 0
    asked: int = -1
    chunks: list[tuple[int, int, Any]] = field(default_factory=list)  # first step, length, actions; oldest first

    @property
    def timings(self) -> dict[str, float]:
        return getattr(self.inner, "timings", {})


class Chunked(Policy):
    """A policy whose actions have a leading time axis, as one that gives an action a step.

    Args:
        policy: its `act` returns, for each observation, an array (or dict of arrays) of consecutive actions.
        horizon: steps between two requests; None executes each chunk to its end. A horizon shorter than the chunk makes
            chunks overlap, and `ensemble` says what becomes of the several actions there are for a step.
        ensemble: `newest` takes the last chunk's, `mean` averages all that cover the step, `exponential` weighs them
            with exp(-decay * i), i = 0 for the oldest. Whole numbers cannot be averaged: there, the newest counts.
    """

    def __init__(
        self, policy: Policy, horizon: int | None = None, ensemble: str = "newest", decay: float = DECAY
    ) -> None:
        if horizon is not None and horizon < 1:
            raise PolicyError(f"the execution horizon must be at least 1, got {horizon}")
        if ensemble not in ENSEMBLES:
            raise PolicyError(f"unknown ensemble {ensemble!r}; there are {', '.join(ENSEMBLES)}")
        self.policy, self.horizon, self.ensemble, self.decay = policy, horizon, ensemble, decay
        self.spec = policy.spec

    def reset(self, episode: EpisodeKey) -> ChunkState:
        return ChunkState(self.policy.reset(episode))

    def act(self, observations: Sequence[Observation], states: Sequence[ChunkState]) -> list[Any]:
        due = [index for index, state in enumerate(states) if self.is_due(state)]
        if due:
            chunks = self.policy.act([observations[i] for i in due], [states[i].inner for i in due])
            for index, chunk in zip(due, chunks, strict=True):
                self.add(states[index], chunk)
        return [self.next(state) for state in states]

    def is_due(self, state: ChunkState) -> bool:
        """Whether this step needs a new chunk."""
        is_covered = bool(state.chunks) and state.step < state.chunks[-1][0] + state.chunks[-1][1]
        return not is_covered or (self.horizon is not None and state.step >= state.asked + self.horizon)

    def add(self, state: ChunkState, chunk: Any) -> None:
        state.asked = state.step
        state.chunks.append((state.step, _length(chunk), chunk))

    def next(self, state: ChunkState) -> Any:
        """The action of this step."""
        step = state.step
        state.chunks = [chunk for chunk in state.chunks if step < chunk[0] + chunk[1]]
        if self.ensemble == "newest":
            del state.chunks[:-1]
        candidates = [_at(actions, step - first) for first, _, actions in state.chunks]
        state.step += 1
        if len(candidates) == 1:
            return candidates[0]
        import numpy as np

        decay = self.decay if self.ensemble == "exponential" else 0.0
        weights = np.exp(-decay * np.arange(len(candidates)))
        return _average(candidates, weights / weights.sum())


def execution(spec: PolicySpec, horizon: int | None, ensemble: str | None) -> tuple[int | None, str]:
    """How the chunks of a policy are executed: as asked for, or else as the policy means it."""
    return horizon or spec.horizon, ensemble or spec.ensemble or "newest"


def covered(spec: PolicySpec, horizon: int | None) -> int:
    """How many steps are executed of an answer, as far as the spec says how long one is."""
    return min(horizon or spec.chunk, spec.chunk)


def steps_of(chunk: Any) -> list[Any]:
    """The actions of a chunk, one by one."""
    return [_at(chunk, step) for step in range(_length(chunk))]


def _length(chunk: Any) -> int:
    """How many steps a chunk covers; all parts of a dict must agree."""
    import numpy as np

    if isinstance(chunk, dict):
        lengths = {_length(part) for part in chunk.values()}
        if len(lengths) != 1:
            raise PolicyError(f"the parts of an action chunk have different lengths: {sorted(lengths)}")
        return lengths.pop()
    shape = np.shape(chunk)
    if not shape or not shape[0]:
        raise PolicyError(f"an action chunk needs a leading time axis with at least one step, got shape {shape}")
    return int(shape[0])


def _at(chunk: Any, index: int) -> Any:
    if isinstance(chunk, dict):
        return {key: _at(part, index) for key, part in chunk.items()}
    return chunk[index]


def _average(actions: list[Any], weights: Any) -> Any:
    import numpy as np

    newest = actions[-1]
    if isinstance(newest, dict):
        return {key: _average([action[key] for action in actions], weights) for key in newest}
    if np.asarray(newest).dtype.kind != "f":
        return newest
    return np.tensordot(weights, np.stack(actions), axes=1).astype(np.asarray(newest).dtype)
