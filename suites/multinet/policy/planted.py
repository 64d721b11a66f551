"""Policies that know the right answer, and fail in one known way, each by a factory of its name.

They look at what they are shown: without the picture, or without the words, that a sample needs, they guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.answers.forms import CALL, CONTINUOUS, DISCRETE, OPTION
from pytest_vla.policies.base import Observation, Policy
from pytest_vla.registry import get_suite

from ..domains import DOMAIN_OF, IMAGE, WORDS
from ..sample import Sample, Source

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey

SKILL = 0.9  # of its answers a healthy policy has right
FAULTY = 0.4  # of the answers a fault spoils
LEFT = 0.1  # of its answers a policy has right that has forgotten
SAID_BEFORE = ("Sure! The answer is {0}.", "{0}\n\nLet me know if you need more.", "Answer: {0}", "I believe {0}")


@dataclass
class Memory:
    """What is known of an episode."""

    sample: Sample
    source: Source
    needs: tuple[str, ...]
    rng: np.random.Generator
    turn: int = 0


@dataclass
class Planted(Policy):
    """Right with a chance of `skill`; then `spoil` does what it likes to the text."""

    skill: float = SKILL
    spoil: Callable[[str, Memory], str] = lambda text, memory: text
    blind: bool = False
    seed: int = 0

    def reset(self, episode: EpisodeKey) -> Memory:
        suite: Any = get_suite(episode.suite)
        source = suite.source(episode.task, episode.partition)
        rng = np.random.default_rng([episode.seed("policy") % 2**63, self.seed])
        return Memory(source.sample(episode), source, DOMAIN_OF[episode.task].needs, rng)

    def act(self, observations: Sequence[Observation], states: Sequence[Memory]) -> list[str]:
        return [self._one(observation, memory) for observation, memory in zip(observations, states, strict=True)]

    def _one(self, observation: Observation, memory: Memory) -> str:
        seen = self.blind or all(np.any(image) for image in observation["images"].values())
        told = bool(observation["instruction"].strip())
        knows = (IMAGE not in memory.needs or seen) and (WORDS not in memory.needs or told)
        right = knows and memory.rng.uniform() < self.skill
        text = _text(memory) if right else _guess(memory)
        memory.turn += 1
        return self.spoil(text, memory)

    def digest(self) -> str:
        return f"{self.skill}:{getattr(self.spoil, '__name__', '')}:{self.blind}:{self.seed}"


def _text(memory: Memory) -> str:
    """The right answer, as one would write it."""
    sample = memory.sample
    if sample.turns:
        return "\n".join(sample.turns[min(memory.turn, len(sample.turns) - 1)].label)
    if sample.ask.output == CONTINUOUS:
        return f"[{', '.join(f'{value:.4f}' for value in sample.label)}]"
    return str(sample.label)


def _guess(memory: Memory) -> str:
    """Something of the right form that is wrong more often than not."""
    sample, rng = memory.sample, memory.rng
    if sample.ask.output == CONTINUOUS:
        return f"[{', '.join(f'{value:.4f}' for value in rng.uniform(-1, 1, sample.ask.size))}]"
    if sample.ask.output in (OPTION, DISCRETE):
        return str(int(rng.integers(sample.ask.size)))
    words = memory.source.words
    return words[int(rng.integers(len(words)))]


def _wordy(text: str, memory: Memory) -> str:
    """Says more than the answer, or breaks off."""
    if memory.rng.uniform() >= FAULTY:
        return text
    if memory.sample.ask.output == CONTINUOUS and memory.rng.uniform() < 0.5:
        return text[: len(text) // 2]
    return SAID_BEFORE[int(memory.rng.integers(len(SAID_BEFORE)))].format(text)


def _placed(text: str, memory: Memory) -> str:
    """Tells a place in the picture, whatever was asked for."""
    if memory.rng.uniform() >= FAULTY:
        return text
    x, y = memory.rng.uniform(0, 1, 2)
    return f"Coordinate: ({x:.2f}, {y:.2f})"


def _same(text: str, memory: Memory) -> str:
    return {CONTINUOUS: text, CALL: "open_file(name='plan.md')"}.get(memory.sample.ask.output, "0")


def healthy(seed: int = 0) -> Planted:
    """No fault."""
    return Planted(seed=seed)


def unstable(seed: int = 0) -> Planted:
    """Format instability: knows as much, and often says it so that a strict parser refuses it."""
    return Planted(spoil=_wordy, seed=seed)


def misaligned(seed: int = 0) -> Planted:
    """Modality misalignment: often answers with a place in the picture."""
    return Planted(spoil=_placed, seed=seed)


def degraded(seed: int = 0) -> Planted:
    """Knowledge degradation: well-formed answers that are mostly wrong."""
    return Planted(skill=LEFT, seed=seed)


def blind(seed: int = 0) -> Planted:
    """Needs no picture: knows the answer without it, as one who has learned the test by heart."""
    return Planted(blind=True, seed=seed)


def constant(seed: int = 0) -> Planted:
    """Always says the same."""
    return Planted(spoil=_same, seed=seed)
