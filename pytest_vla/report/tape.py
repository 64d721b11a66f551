"""The policy that does once more what a recorded episode says it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_vla.policies.base import Observation, Policy
from pytest_vla.run.trace import decode_actions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_vla.episode import EpisodeKey


class Recorded(Policy):
    """The policy that does once more what a tape says it did."""

    def __init__(self, parts: Mapping[str, Sequence[Any]]) -> None:
        self._parts = decode_actions(parts)

    def reset(self, episode: EpisodeKey) -> list[int]:
        return [0]

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        return [self._next(state) for state in states]

    def _next(self, state: list[int]) -> Any:
        step, state[0] = state[0], state[0] + 1
        action = {name: _value(column[step]) for name, column in self._parts.items()}
        return action[""] if list(action) == [""] else action


def _value(value: np.generic | NDArray[Any]) -> Any:
    """A copy the environment may write to; numbers of a discrete space are numbers again."""
    return value.copy() if getattr(value, "shape", ()) else value.item()
