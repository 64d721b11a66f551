"""Actions checked against a gymnasium space, so that a policy's mistake is told apart from the simulator's.

An action of several parts may also come as one vector: the numbers of its parts, in alphabetical order of their names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from pytest_vla.policies.base import PolicyError


def check_action(action: Any, space: spaces.Space[Any], name: str = "action") -> Any:
    """The action in the space's own types; raises PolicyError when it is malformed (not when it is out of bounds).

    Bounds are the suite's business: an action may be well-formed and impossible, which is `invalid_action`.
    """
    if isinstance(space, spaces.Dict):
        return _check_dict(action, space, name)
    if isinstance(space, spaces.Box):
        return _check_box(action, space, name)
    if isinstance(space, spaces.Discrete):
        number = np.asarray(action)
        if number.size != 1 or number.dtype.kind not in "iu":
            raise PolicyError(f"{name} must be one whole number, got {_describe(action)}")
        action = space.dtype.type(number.item())
    if not space.contains(action):
        raise PolicyError(f"{name} is not in {space}: got {_describe(action)}")
    return action


def zero_action(space: spaces.Space[Any]) -> Any:
    """The action nearest to all zeros that the space allows."""
    if isinstance(space, spaces.Dict):
        return {key: zero_action(part) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Box):
        return np.clip(np.zeros(space.shape, space.dtype), space.low, space.high)
    if isinstance(space, spaces.Discrete):
        return space.start
    raise PolicyError(f"no zero action is known for {space}; let the suite define noop()")


def flatten_action(action: Any) -> np.ndarray[Any, Any]:
    """All numbers of an action in one vector."""
    return np.concatenate([*parts_of(action).values()])


def parts_of(action: Any) -> dict[str, np.ndarray[Any, Any]]:
    """The numbers of each part, in the order of the vector; an action that is one array is part `action`."""
    parts = {str(name): action[name] for name in sorted(action)} if isinstance(action, Mapping) else {"action": action}
    return {name: np.asarray(value, np.float32).reshape(-1) for name, value in parts.items()}


def unflatten_action(vector: Any, space: spaces.Space[Any]) -> Any:
    """The action of which `flatten_action` made the vector; PolicyError where it has other numbers than the space."""
    try:
        numbers = np.asarray(vector, np.float32)
    except (TypeError, ValueError):
        raise PolicyError(f"{_wanted(space)}, got {_describe(vector)}") from None
    if numbers.shape != (_size(space),):
        raise PolicyError(f"{_wanted(space)}, got {type(vector).__name__} of shape {numbers.shape}")
    return _filled(space, numbers)


def bounds(space: spaces.Space[Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The least and the largest that each number of the vector may be; an empty vector for what has no numbers."""
    if isinstance(space, spaces.Dict):
        parts = [bounds(space[name]) for name in sorted(space.spaces)]
        return np.concatenate([low for low, _ in parts]), np.concatenate([high for _, high in parts])
    if isinstance(space, spaces.Box):
        return space.low.reshape(-1).astype(np.float64), space.high.reshape(-1).astype(np.float64)
    if isinstance(space, spaces.Discrete):
        first = float(space.start)
        return np.array([first]), np.array([first + float(space.n) - 1])
    return np.zeros(0), np.zeros(0)


def has_parts(space: spaces.Space[Any]) -> bool:
    return isinstance(space, spaces.Dict)


def _filled(space: spaces.Space[Any], numbers: np.ndarray[Any, Any]) -> Any:
    if isinstance(space, spaces.Dict):
        made, start = {}, 0
        for name in sorted(space.spaces):
            end = start + _size(space[name])
            made[name] = _filled(space[name], numbers[start:end])
            start = end
        return made
    return int(numbers[0]) if isinstance(space, spaces.Discrete) else numbers.reshape(space.shape)


def _size(space: spaces.Space[Any]) -> int:
    if isinstance(space, spaces.Dict):
        return sum(map(_size, space.spaces.values()))
    return math.prod(space.shape or (1,))


def _wanted(space: spaces.Space[Any]) -> str:
    names = f"a dict with keys {sorted(space.spaces)}" if isinstance(space, spaces.Dict) else str(space)
    return f"action must be {names}, or its {_size(space)} numbers in one vector"


def _check_dict(action: Any, space: spaces.Dict, name: str) -> dict[str, Any]:
    if not isinstance(action, dict):
        raise PolicyError(f"{name} must be a dict with keys {sorted(space.spaces)}, got {_describe(action)}")
    if set(action) != set(space.spaces):
        raise PolicyError(f"{name} must have keys {sorted(space.spaces)}, got {sorted(map(str, action))}")
    return {key: check_action(action[key], part, f"{name}[{key!r}]") for key, part in space.spaces.items()}


def _check_box(action: Any, space: spaces.Box, name: str) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(action, dtype=space.dtype)
    except (TypeError, ValueError):
        raise PolicyError(f"{name} must be numbers of shape {space.shape}, got {_describe(action)}") from None
    if array.shape != space.shape:
        raise PolicyError(f"{name} must have shape {space.shape}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise PolicyError(f"{name} must be finite, got {_describe(array.tolist())}")
    return array


def _describe(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 80 else text[:77] + '...'}"
