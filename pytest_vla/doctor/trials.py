"""Whether a change helps, by playing: few episodes, early stopping, and a stated rate of false alarms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey, Result

#: how often, at most, an examination finds a fault in conventions where no change helps: the share that each change
#: gets halves from one to the next, and is divided among its looks, so that they add up to no more
FALSE_ALARMS = 0.02
LOOKS = (3, 5, 8, 12)  # episodes after which a change is judged
BASELINE = 12  # episodes as it is
WORKS = 3  # of the first four: nothing is wrong that could be shown by playing


def p_value(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Fisher's exact test, one-sided: so many more (or more) solved after a change by chance alone."""
    solved, size = before[0] + after[0], before[1] + after[1]
    ways = comb(size, after[1])
    return sum(
        comb(solved, hits) * comb(size - solved, after[1] - hits)
        for hits in range(after[0], min(solved, after[1]) + 1)
        if after[1] - hits <= size - solved
    ) / (ways or 1)


@dataclass
class Played:
    """Episodes of one variant, in the order of their keys."""

    results: list[Result] = field(default_factory=list)

    @property
    def tally(self) -> tuple[int, int]:
        return sum(bool(result) for result in self.results), len(self.results)

    @property
    def progress(self) -> float | None:
        known = [result.progress for result in self.results if result.progress is not None]
        return sum(known) / len(known) if known else None

    def __str__(self) -> str:
        return "{} of {}".format(*self.tally)


@dataclass
class Trials:
    """The episodes that may still be played; every variant plays the same ones."""

    keys: Callable[[], Iterator[EpisodeKey]]
    budget: int
    spent: int = 0
    judged: int = 0

    @property
    def left(self) -> int:
        return self.budget - self.spent

    def play(self, played: Played, ask: Callable[[EpisodeKey], Result], count: int) -> None:
        """Go on with a variant until it has so many episodes, or none are left."""
        wanted: Sequence[EpisodeKey] = list(islice(self.keys(), count))[len(played.results) :]
        for key in wanted[: max(self.left, 0)]:
            played.results.append(ask(key))
            self.spent += 1

    def judge(self, before: Played, ask: Callable[[EpisodeKey], Result]) -> tuple[Played, float, bool]:
        """Play a change until it helps for sure or has no prospect; its episodes, the p-value, and whether it helps."""
        self.judged += 1
        level = FALSE_ALARMS / 2**self.judged / len(LOOKS)
        after, value = Played(), 1.0
        for look in LOOKS:
            self.play(after, ask, look)
            value = min(value, p_value(before.tally, after.tally))
            if len(after.results) < look and value > level:
                break
            if value <= level:
                return after, value * 2**self.judged * len(LOOKS), True
            solved, size = after.tally
            if (size >= 3 and not solved) or (size >= 5 and solved / size < 0.35):
                break
        return after, value, False
