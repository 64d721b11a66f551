"""Recorded episodes once more: a dataset has pictures and actions, and not what the cameras measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import EpisodeKey

from ..benchmark import AgnostosSuite, Mode
from .facts import ROBOTS

if TYPE_CHECKING:
    from pytest_vla.policies.base import Observation
    from pytest_vla.train.demonstration import Demonstration

PICTURE_PX = 128


class Replay:
    """Plays demonstrations again, with the robot they were recorded with. One is enough for many of them."""

    def __init__(self) -> None:
        self._envs: dict[Mode, Any] = {}

    def first(self, one: Demonstration) -> Observation:
        """What was seen before the first action; whichever robot it was, the things are the same."""
        return next(self._observations(one, "floating"))

    def observations(self, one: Demonstration) -> Iterator[Observation]:
        """What was seen before each action."""
        return self._observations(one, ROBOTS[one.suite])

    def _observations(self, one: Demonstration, mode: Mode) -> Iterator[Observation]:
        if mode not in self._envs:
            self._envs[mode] = AgnostosSuite("replay", mode=mode, image_px=PICTURE_PX).make_env(one.task)
        env, version = self._envs[mode], AgnostosSuite.version
        key = EpisodeKey(one.suite, one.task, one.partition, one.index, one.perturbation, version)
        observation, _ = env.reset(seed=key.seed(), options={"episode": key})
        for action in one.action:
            yield observation
            observation, *_ = env.step(action)

    def close(self) -> None:
        for env in self._envs.values():
            env.close()
