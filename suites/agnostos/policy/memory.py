"""What an in-context policy may show: recorded demonstrations of seen tasks, each with its features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pytest_vla.policies.base import Observation, PolicyError

from .facts import ACTION_NUMBERS, SEEN, SUITES
from .grid import encoded
from .places import places_of
from .replay import Replay
from .retrieval import Demo, Features
from .sentences import sentence_features
from .text import Example, Situation

if TYPE_CHECKING:
    from pytest_vla.train.demonstration import Demonstration

CAMERA = "front"

Outcome = Callable[[str, Sequence[NDArray[np.uint8]], Features], Features]
"""The features of how a scene will look: of the episode of this name, its first pictures and sentences."""


@dataclass(frozen=True)
class Memory:
    """Demonstrations to choose from, and what makes features of a situation that are like theirs."""

    demos: Sequence[Demo]
    outcome: Outcome | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(demo.task for demo in self.demos))

    def features(self, name: str, observation: Observation) -> Features:
        """What a situation is compared by: its sentence, and how it will look where that is known."""
        return _features(name, str(observation["instruction"]), observation["images"][CAMERA], self.outcome)

    @classmethod
    def read(cls, folder: Path, outcome: Outcome | None = None) -> Memory:
        """The demonstrations of a dataset; raises PolicyError for any that must not be shown."""
        from pytest_vla.train.dataset import read_dataset
        from pytest_vla.train.errors import DatasetError

        try:
            found = [_checked(folder, demonstration) for demonstration in read_dataset(folder)]
        except DatasetError as error:
            raise PolicyError(str(error)) from None
        return cls([*_demos(found, outcome)], outcome)


def _checked(folder: Path, demonstration: Demonstration) -> Demonstration:
    if demonstration.suite not in SUITES:
        raise PolicyError(f"'{folder}' holds demonstrations of suite '{demonstration.suite}', not of {SUITES[0]}")
    if demonstration.task not in SEEN:
        raise PolicyError(
            f"'{folder}' holds demonstrations of the unseen task '{demonstration.task}': only seen tasks may be shown. "
            f"Record with --vla-partition=seen"
        )
    if demonstration.action.shape[1] != ACTION_NUMBERS:
        raise PolicyError(f"'{folder}' holds actions of {demonstration.action.shape[1]} numbers, not keyframes")
    return demonstration


def _demos(found: Sequence[Demonstration], outcome: Outcome | None) -> Iterator[Demo]:
    replay = Replay()
    try:
        for one in found:
            situation = Situation(one.instruction, places_of(replay.first(one)))
            name = f"{one.task}/{one.index}"
            features = _features(name, one.instruction, one.images[CAMERA][0], outcome)
            yield Demo(one.task, one.index, Example(situation, [*map(encoded, one.action)]), features)
    finally:
        replay.close()


def _features(name: str, instruction: str, image: NDArray[np.uint8], outcome: Outcome | None) -> Features:
    sentence = _sentence(instruction)
    if outcome is None:
        return sentence
    return np.concatenate([sentence, outcome(name, [image], sentence[None])[0]])


@cache
def _sentence(text: str) -> Features:
    """A suite says the same few things over and over."""
    return np.asarray(sentence_features([text])[0], np.float32)


def outcome_of_checkpoint(path: Path) -> Outcome:
    """Features of a trained predictor."""
    from pytest_vla.policies.checkpoint import load_checkpoint

    from .outcome import OutcomePredictor

    predictor = load_checkpoint(path)
    if not isinstance(predictor, OutcomePredictor):
        raise PolicyError(f"'{path}' is a {type(predictor).__name__}, not a predictor of outcomes")
    return lambda name, images, sentences: predictor.features(images, sentences)


def outcome_of_file(path: Path) -> Outcome:
    """Features somebody made elsewhere: an .npz file with one vector for each episode, named `TASK/INDEX`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            vectors = {name: np.asarray(file[name], np.float32) for name in file.files}
    except (OSError, ValueError) as error:
        raise PolicyError(f"cannot read the features in '{path}': {error}") from None

    def look_up(name: str, images: object, sentences: object) -> Features:
        if name not in vectors:
            raise PolicyError(f"'{path}' has no features of the episode '{name}'")
        return vectors[name][None]

    return look_up
