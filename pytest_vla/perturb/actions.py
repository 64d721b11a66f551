"""What can go wrong between the policy and its robot: filters over the actions of an episode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

Filter = Callable[[Any], Any]
Rng = np.random.Generator


@dataclass(frozen=True)
class Actuator:
    """What the filters need to know of the robot: its action space, and what it does when no action arrives."""

    space: spaces.Space[Any]
    hold: Callable[[Any], Any]
    """Gets the last action that was carried out, None at the start."""


def noise(share: float, rng: Rng, actuator: Actuator) -> Filter:
    """Gaussian noise on every bounded number; `share` is sigma over the width of its range."""
    return lambda action: _noisy(action, actuator.space, share, rng)


def delay(steps: float, rng: Rng, actuator: Actuator) -> Filter:
    """Actions arrive that many steps late, on average; until the first one does, the robot holds."""
    sent: list[Any] = []

    def apply(action: Any) -> Any:
        sent.append(action)
        late = int(steps) + (rng.uniform() < steps % 1)
        return sent[-1 - late] if late < len(sent) else actuator.hold(None)

    return apply


def dropped(chance: float, rng: Rng, actuator: Actuator) -> Filter:
    """With that chance an action is lost, and the robot holds."""
    last: list[Any] = [None]

    def apply(action: Any) -> Any:
        if rng.uniform() >= chance:
            last[0] = action
            return action
        return actuator.hold(last[0])

    return apply


def _noisy(action: Any, space: spaces.Space[Any], share: float, rng: Rng) -> Any:
    if isinstance(space, spaces.Dict):
        return {key: _noisy(action[key], part, share, rng) for key, part in space.spaces.items()}
    if not isinstance(space, spaces.Box) or space.dtype is None or space.dtype.kind != "f":
        return action
    width = np.where(space.bounded_below & space.bounded_above, space.high - space.low, 0.0)
    noisy = np.asarray(action) + share * width * rng.standard_normal(space.shape)
    # What was out of bounds before the noise is the policy's own doing, and stays so.
    return np.clip(noisy, np.minimum(space.low, action), np.maximum(space.high, action)).astype(space.dtype)
