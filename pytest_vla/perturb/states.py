"""What can go wrong between the robot's joints and what the policy is told of them: filters over a state.

Each function makes the filter of one named array for one episode. The magnitude is in the array's own unit, metres or
radians as a rule; whole numbers, which count or name something, stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Filter = Callable[[Any], Any]
Rng = np.random.Generator


def noise(sigma: float, rng: Rng) -> Filter:
    """Gaussian noise, new at each step."""
    return lambda state: _plus(state, lambda shape: sigma * rng.standard_normal(shape))


def bias(offset: float, rng: Rng) -> Filter:
    """Every number off by so much, up or down, the same way for the whole episode."""
    drawn: dict[tuple[int, ...], Any] = {}

    def signs(shape: tuple[int, ...]) -> Any:
        if shape not in drawn:
            drawn[shape] = offset * rng.choice((-1.0, 1.0), shape)
        return drawn[shape]

    return lambda state: _plus(state, signs)


def _plus(state: Any, change: Callable[[tuple[int, ...]], Any]) -> Any:
    values = np.asarray(state)
    return (values + change(values.shape)).astype(values.dtype) if values.dtype.kind == "f" else state
