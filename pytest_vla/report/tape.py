"""The actions and the progress of an episode as compact text that reads back bit for bit: a film needs no policy."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_vla.policies.base import Observation, Policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_vla.episode import EpisodeKey, Result
    from pytest_vla.rollout import Step

CURVE_DIGITS = 4


@dataclass
class Tape:
    """Listens to the steps of one rollout."""

    actions: list[Any] = field(default_factory=list)
    progress: list[float | None] = field(default_factory=list)

    def add(self, step: Step) -> None:
        if step.action is None:  # the first step of a rollout: whatever came before was another one
            self.actions, self.progress = [], []
        else:
            self.actions.append(deepcopy(step.action))  # policies may reuse their buffers
        self.progress.append(step.progress)

    def added_to(self, result: Result) -> Result:
        """The result with this tape in its line of the run file."""
        return replace(result, extra={**result.extra, **self.to_record()})

    def to_record(self) -> dict[str, Any]:
        """The fields `actions` and `curve` of the run file; a field that cannot be written is left out."""
        record: dict[str, Any] = {}
        if any(value is not None for value in self.progress):
            record["curve"] = [None if value is None else round(float(value), CURVE_DIGITS) for value in self.progress]
        with suppress(TypeError, ValueError):
            record["actions"] = encode_actions(self.actions)
        return record


def encode_actions(actions: Sequence[Any]) -> dict[str, list[Any]]:
    """Each part of the action over all steps as [dtype, shape, text]; an action that is one array is part ''."""
    import numpy as np

    parts: dict[str, list[Any]] = {}
    for name, column in _columns(actions).items():
        array = np.stack([np.asarray(value) for value in column])
        if array.dtype.hasobject:
            raise TypeError(f"part '{name}' of the action is not an array")
        array = array.astype(array.dtype.newbyteorder("<"))
        text = base64.b64encode(zlib.compress(array.tobytes(), 6)).decode()
        parts[name] = [array.dtype.str, list(array.shape), text]
    return parts


def decode_actions(parts: Mapping[str, Sequence[Any]]) -> dict[str, NDArray[Any]]:
    """Each part of the action with the steps along its first axis."""
    import numpy as np

    return {
        name: np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype).reshape(shape)
        for name, (dtype, shape, text) in parts.items()
    }


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


def flat_columns(parts: Mapping[str, NDArray[Any]]) -> dict[str, list[float]]:
    """One list of numbers per component of the action, such as `pose0_position[1]`: what a chart shows."""
    columns: dict[str, list[float]] = {}
    for name, array in parts.items():
        flat = array.reshape(len(array), -1)
        for number in range(flat.shape[1]):
            label = name or "action"
            label = f"{label}[{number}]" if flat.shape[1] > 1 else label
            columns[label] = [float(f"{value:.5g}") for value in flat[:, number].tolist()]
    return columns


def _columns(actions: Sequence[Any]) -> dict[str, list[Any]]:
    if not actions:
        return {}
    if not isinstance(actions[0], Mapping):
        return {"": list(actions)}
    if any(isinstance(value, Mapping) for value in actions[0].values()):
        raise TypeError("an action of nested parts is not recorded")
    return {str(name): [action[name] for action in actions] for name in actions[0]}


def _value(value: np.generic | NDArray[Any]) -> Any:
    """A copy the environment may write to; numbers of a discrete space are numbers again."""
    return value.copy() if getattr(value, "shape", ()) else value.item()
