"""Which demonstrations are shown to the model: those most like the situation, or any, as the control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .text import Example

Features = NDArray[np.float32]
RANDOM_SEED = 42  # the published control always draws the same ones
MOST_OF_A_TASK = 3


@dataclass(frozen=True)
class Demo:
    """One recorded demonstration of a seen task, ready to be shown."""

    task: str
    index: int
    example: Example
    features: Features = field(repr=False)


class Select(Protocol):
    """Chooses `count` demonstrations for a situation with these features, the most fitting first."""

    def __call__(self, query: Features, pool: Sequence[Demo], count: int) -> list[Demo]: ...


def at_random(query: Features, pool: Sequence[Demo], count: int) -> list[Demo]:
    """Any, whatever is asked for."""
    order = np.random.default_rng(RANDOM_SEED).permutation(len(pool))
    return [pool[place] for place in order[:count]]


def by_dot_product(query: Features, pool: Sequence[Demo], count: int) -> list[Demo]:
    """The largest product of features: long ones count for more, as published."""
    return _best(np.stack([demo.features for demo in pool]) @ query, pool, count)


def by_cosine(query: Features, pool: Sequence[Demo], count: int) -> list[Demo]:
    """The smallest angle between features."""
    features = np.stack([demo.features for demo in pool])
    lengths = np.linalg.norm(features, axis=1) * np.linalg.norm(query)
    return _best(features @ query / np.maximum(lengths, 1e-12), pool, count)


def spread(query: Features, pool: Sequence[Demo], count: int) -> list[Demo]:
    """The smallest angles, but few of any one task: the nearest task may be the wrong one, and fills all places."""
    chosen: list[Demo] = []
    for demo in by_cosine(query, pool, len(pool)):
        if sum(other.task == demo.task for other in chosen) < MOST_OF_A_TASK:
            chosen.append(demo)
    return chosen[:count]


def _best(scores: Features, pool: Sequence[Demo], count: int) -> list[Demo]:
    order = np.argsort(-scores.round(6), kind="stable")  # the order must not hang on the last digits
    return [pool[place] for place in order[:count]]


SELECTORS: dict[str, Select] = {
    "lang_vis.out": by_dot_product,
    "cosine": by_cosine,
    "spread": spread,
    "random": at_random,
}
