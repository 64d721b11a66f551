"""One question: what a policy sees and reads, what it is asked for, and what is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from gymnasium import spaces

from pytest_vla.answers.forms import CALL, CONTINUOUS, TEXT

from .parse import LONGEST, Ask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_vla.episode import EpisodeKey

    Image = NDArray[np.uint8]

CAMERA = "view"


@dataclass(frozen=True)
class Statistics:
    """Of the labels of a data set, dimension by dimension."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mean: NDArray[np.float64]

    @classmethod
    def of(cls, labels: NDArray[np.float64]) -> Statistics:
        return cls(labels.min(axis=0), labels.max(axis=0), labels.mean(axis=0))


@dataclass(frozen=True)
class Turn:
    """One user message of a conversation, and the calls that it asks for."""

    instruction: str
    label: tuple[str, ...]


@dataclass(frozen=True)
class Sample:
    """An episode of one step, or of as many as it has turns."""

    id: str
    ask: Ask
    instruction: str
    label: Any
    image: Callable[[], Image] | None = None
    """Draws the picture when somebody looks at it; None where there is none."""
    state: Mapping[str, Any] = field(default_factory=dict)
    turns: tuple[Turn, ...] = ()
    signatures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The parameters of the functions that may be called, where they are known."""
    question: str = ""
    """The part of the instruction that differs from sample to sample."""


class Source(Protocol):
    """Where the samples of a task come from."""

    @property
    def words(self) -> Sequence[str]:
        """What a policy that knows nothing says, where answers are words or calls."""

    @property
    def size(self) -> int:
        """Options, actions or dimensions; 0 where answers are words or calls."""

    @property
    def statistics(self) -> Statistics | None:
        """Of continuous labels."""

    def __len__(self) -> int:
        """How many there are; a generator has no end and says how many it would write."""

    def sample(self, episode: EpisodeKey) -> Sample: ...

    def holds(self, index: int) -> bool:
        """Whether there is a sample of that number."""


class Words(spaces.Text):
    """Texts, of which a policy that knows nothing says one of these."""

    def __init__(self, words: Sequence[str], in_words: str) -> None:
        super().__init__(LONGEST, min_length=0, charset="".join(map(chr, range(32, 127))) + "\n\t")
        self.words, self.in_words = tuple(words) or ("",), in_words

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return self.words[int(self.np_random.integers(len(self.words)))]


def space_of(output: str, source: Source) -> spaces.Space[Any]:
    """What may be answered, as gymnasium has it."""
    if output == TEXT:
        return Words(source.words, "the answer in as few words as possible, and nothing else")
    if output == CALL:
        return Words(source.words, "calls such as name(key='value'), one a line, and nothing else")
    if output == CONTINUOUS:
        assert source.statistics is not None
        low, high = (np.asarray(side, np.float32) for side in (source.statistics.low, source.statistics.high))
        return spaces.Box(low, high, dtype=np.float32)
    return spaces.Discrete(source.size)


class Rows:
    """Samples that were read from files, made of their rows one by one."""

    def __init__(
        self,
        rows: Sequence[Any],
        make: Callable[[Any, int], Sample],
        *,
        size: int = 0,
        statistics: Statistics | None = None,
        words: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.rows, self.make, self.size, self.statistics, self._words = rows, make, size, statistics, words

    @cached_property
    def words(self) -> Sequence[str]:
        return self._words()

    def __len__(self) -> int:
        return len(self.rows)

    def holds(self, index: int) -> bool:
        return index < len(self.rows)

    def sample(self, episode: EpisodeKey) -> Sample:
        return self.make(self.rows[episode.index], episode.index)
