"""A gymnasium space in words: what a language model is told of the action that it has to give."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

FEW = 32  # dimensions whose ranges are told one by one


def described(space: spaces.Space[Any]) -> str:
    """What to write, in a sentence that leaves no choice of form."""
    own = getattr(space, "in_words", None)
    if own is not None:
        return str(own)
    if isinstance(space, spaces.Discrete):
        last = int(space.start + space.n - 1)
        return f"one whole number from {int(space.start)} to {last}, and nothing else"
    if isinstance(space, spaces.Box):
        return _box(space)
    if isinstance(space, spaces.MultiDiscrete):
        return f"a JSON list of {space.nvec.size} whole numbers, each below {space.nvec.ravel().tolist()}"
    if isinstance(space, spaces.MultiBinary):
        return f"a JSON list of {int(np.prod(space.shape))} numbers, each 0 or 1"
    if isinstance(space, spaces.Text):
        return "a short text, and nothing else"
    if isinstance(space, spaces.Dict):
        parts = "; ".join(f'"{name}": {described(part)}' for name, part in space.spaces.items())
        return f"a JSON object with these keys. {parts}"
    return f"an element of {space}"


def _box(space: spaces.Box) -> str:
    count = int(np.prod(space.shape))
    shape = "" if len(space.shape) == 1 else f", in the order of an array of shape {space.shape}"
    ranges = [f"{low:g} to {high:g}" for low, high in zip(space.low.ravel(), space.high.ravel(), strict=True)]
    if len(set(ranges)) == 1:
        within = f"each from {ranges[0]}"
    else:
        within = "from " + ", ".join(ranges) if count <= FEW else "within the ranges of the robot"
    return f"one JSON list of {count} numbers{shape}, {within}, and nothing else"
