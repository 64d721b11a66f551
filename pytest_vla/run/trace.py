"""What a policy did in an episode, as compact text that reads back bit for bit: a film needs no policy."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

CURVE_DIGITS = 4
MOST_BYTES = 4 << 20  # of one part of the actions of one episode: a million numbers


@dataclass
class Tape:
    """Listens to the steps of one rollout after the other."""

    actions: list[Any] = field(default_factory=list)
    progress: list[float | None] = field(default_factory=list)

    def add(self, action: Any, progress: float | None) -> None:
        """A step and the progress after it. The first state of a rollout follows from no action: a new tape begins."""
        if action is None:
            self.actions, self.progress = [], []
        else:
            self.actions.append(deepcopy(action))  # policies may reuse their buffers
        self.progress.append(progress)

    def added_to(self, result: Result) -> Result:
        """The result with this tape in its line of the run file; actions that cannot be written are left out."""
        curve = None
        if any(value is not None for value in self.progress):
            curve = [None if value is None else round(float(value), CURVE_DIGITS) for value in self.progress]
        actions = None
        with suppress(TypeError, ValueError):
            actions = encode_actions(self.actions)
        return replace(result, actions=actions, curve=curve)


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
        name: np.frombuffer(_unpacked(text, np.dtype(dtype).itemsize * math.prod(shape)), dtype).reshape(shape)
        for name, (dtype, shape, text) in parts.items()
    }


def _unpacked(text: str, size: int) -> bytes:
    """So many bytes; ValueError where the text holds others. No more are unpacked than that, whatever it holds."""
    if not 0 <= size <= MOST_BYTES:
        raise ValueError(f"actions of {size} bytes; at most {MOST_BYTES} are read")
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(text), size + 1)
    except zlib.error as error:
        raise ValueError(f"actions that cannot be unpacked: {error}") from None
    if len(data) != size:
        raise ValueError(f"actions of another size than the {size} bytes they say")
    return data


def flat_columns(parts: Mapping[str, NDArray[Any]]) -> dict[str, list[float]]:
    """One list of numbers per component of the action, such as `pose0_position[1]`: what a chart shows."""
    columns: dict[str, list[float]] = {}
    for name, array in parts.items():
        if array.dtype.kind not in "biuf":  # words have no curve
            continue
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
