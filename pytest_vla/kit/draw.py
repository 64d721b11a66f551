"""The random choices of one episode, and drawing it again where what came out cannot be used."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pytest_vla.suite import SuiteError

if TYPE_CHECKING:
    import numpy as np

    from pytest_vla.episode import EpisodeKey

Item = TypeVar("Item")
DRAWS = 2000  # of a fraction of a millisecond each; the fullest table of ours is found in one of twenty


class Redraw(Exception):
    """What was drawn so far leads nowhere (no room, ambiguous words): the episode is drawn again."""


@dataclass
class Draw:
    """All that a task may draw from. A suite adds what is put on its table."""

    rng: np.random.Generator

    def one(self, options: Sequence[Item]) -> Item:
        """One of the options, each as likely as the others."""
        return options[int(self.rng.integers(len(options)))]

    def some(self, options: Sequence[Item], count: int) -> list[Item]:
        """Different options in random order."""
        return [options[int(i)] for i in self.rng.permutation(len(options))[:count]]

    def chance(self, probability: float) -> bool:
        return float(self.rng.uniform()) < probability

    def weighted(self, options: Sequence[Item], weights: Sequence[float]) -> Item:
        return options[int(self.rng.choice(len(options), p=weights))]

    def uniform(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def yaw(self) -> float:
        return self.uniform(0.0, 2 * math.pi)


def drawn(draw: Callable[[np.random.Generator], Item], episode: EpisodeKey, stream: str = "scene") -> Item:
    """What `draw` makes of the episode's stream; after a Redraw, of the streams that come next."""
    for attempt in range(DRAWS):
        try:
            return draw(episode.rng(stream if attempt == 0 else f"{stream}.{attempt}"))
        except Redraw:
            continue
    raise SuiteError(f"{episode} found no scene in {DRAWS} draws; the task asks for too much")
