"""What can go wrong between the policy and its robot: filters over the actions of an episode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

Filter = Callable[[Any], Any]
Rng = np.random.Generator
Array = NDArray[np.float64]
Box = spaces.Box


@dataclass(frozen=True)
class Actuator:
    """What the filters need to know of the robot: its action space, and what it does when no action arrives."""

    space: spaces.Space[Any]
    hold: Callable[[Any], Any]
    """Gets the last action that was carried out, None at the start."""


def noise(share: float, rng: Rng, actuator: Actuator) -> Filter:
    """Gaussian noise on every bounded number; `share` is sigma over the width of its range."""

    def off(space: Box, action: Array) -> Array:
        return share * (space.high - space.low) * rng.standard_normal(space.shape)

    return lambda action: _changed(action, actuator.space, off)


def gain(factor: float, rng: Rng, actuator: Actuator) -> Filter:
    """Every bounded number `factor` times as far from the middle of its range: a scale that is set wrong."""

    def off(space: Box, action: Array) -> Array:
        return (factor - 1) * (action - (space.low + space.high) / 2)

    return lambda action: _changed(action, actuator.space, off)


def bias(share: float, rng: Rng, actuator: Actuator) -> Filter:
    """Every bounded number off by that share of its range, up or down, the same way for the whole episode."""
    seed = int(rng.integers(2**63))

    def off(space: Box, action: Array) -> Array:
        signs: Array = np.random.default_rng(seed).choice((-1.0, 1.0), space.shape)
        return share * (space.high - space.low) * signs

    return lambda action: _changed(action, actuator.space, off)


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


def _changed(action: Any, space: spaces.Space[Any], off: Callable[[Box, Array], Array]) -> Any:
    """The action with something added to every bounded number, part by part; choices stay as they are."""
    if isinstance(space, spaces.Dict):
        return {key: _changed(action[key], part, off) for key, part in space.spaces.items()}
    if not isinstance(space, spaces.Box) or space.dtype is None or space.dtype.kind != "f":
        return action
    bounded = space.bounded_below & space.bounded_above
    with np.errstate(invalid="ignore"):  # a range without bounds has no width and no middle
        changed = np.asarray(action) + np.where(bounded, off(space, np.asarray(action)), 0.0)
    # What was out of bounds before is the policy's own doing, and stays so.
    return np.clip(changed, np.minimum(space.low, action), np.maximum(space.high, action)).astype(space.dtype)
