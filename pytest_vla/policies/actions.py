"""Actions checked against a gymnasium space, so that a policy's mistake is told apart from the simulator's."""

from __future__ import annotations

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
