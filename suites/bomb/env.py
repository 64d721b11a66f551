"""The environment: one gymnasium env for all tasks, told by the episode's key which one to be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit import gantry
from pytest_vla.kit.env import Observation, Step
from pytest_vla.kit.gantry import GantryEnv
from pytest_vla.kit.images import Image
from pytest_vla.kit.layout import Spot, distance
from pytest_vla.perturb import scene_edits

from .axes import TABLE, contradicted
from .cameras import IMAGE_PX
from .edits import ImageEdit, SceneEdits
from .judge import TOLERANCE_M, Judge
from .partitions import draw_edits
from .rig import GANTRY
from .scene import Instance, Stone, TableState
from .tasks import TASKS, BombTask
from .textures import goal_picture

ACTIONS_BEFORE_PUSH = 4
HAND_UP_M, HAND_AWAY_M = 0.03, 0.04


class World(gantry.World, Protocol):
    """A table in some simulator; `reset` forgets the episode before."""

    def reset(self, stones: Sequence[Stone], edits: SceneEdits) -> None: ...

    def push(self, label: str, by_m: Spot) -> None: ...

    def labelled(self, camera: str) -> tuple[NDArray[np.int32], Sequence[str]]: ...


class BombEnv(GantryEnv):
    """Any task of the suite on one table that is kept from episode to episode.

    After `reset` the episode is described by `episode`, `task`, `instance` (what was drawn), `edits` (what was changed
    about it) and `judge`. Success must hold at the horizon.
    """

    success_ends = False
    world: World
    state: TableState
    judge: Judge

    def __init__(self, make_world: Callable[[], World]) -> None:
        super().__init__(GANTRY, make_world(), IMAGE_PX)

    def start(self, episode: EpisodeKey, edits: SceneEdits | None) -> None:
        """The key's perturbation comes on top of the partition's edits, or of those given instead."""
        self.task: BombTask = TASKS[episode.task]
        self.instance: Instance = self.task.instance(episode)
        edits = edits or draw_edits(episode, self.instance)
        self.edits: SceneEdits = scene_edits(TABLE, edits, episode, self.instance)
        stones = (*self.instance.stones, *self.edits.extra_stones)
        self.world.reset(stones, self.edits)
        self.state = self.world.state()
        self.judge = Judge(self.instance, stones, self.state, self.edits.scale, self.edits.board_m)
        self._pushes, self._actions = dict(self.edits.pushes_m), 0
        told = contradicted(self.instance, episode)
        self.instruction, self._prompt = told.instruction, _prompt(told)

    def step(self, action: Any) -> Step:
        self._actions += 1
        if self._pushes and self._actions > ACTIONS_BEFORE_PUSH:
            self._push()
        return super().step(action)

    def _push(self) -> None:
        """Push what is due, unless the hand is at it: then a moment later. What was moved already stays where it is."""
        for label, by_m in list(self._pushes.items()):
            stone, tip = self.state.stones[label], self.state.tip
            if tip[2] < HAND_UP_M and distance(stone.spot, tip[:2]) < HAND_AWAY_M + math.hypot(*by_m):
                continue
            del self._pushes[label]
            if distance(stone.spot, self.judge.start.stones[label].spot) < TOLERANCE_M:
                self.world.push(label, by_m)
                self.state = self.world.state()
                self.judge.pushed(label, self.state)

    def observe(self) -> Observation:
        observation = super().observe()
        return observation if self._prompt is None else observation | {"prompt": self._prompt}

    def camera(self, moment: Any) -> Callable[[str], Image]:
        world, edit = self.world, self.edits.image
        return lambda name: corrected(world.picture(moment, name), edit)


def _prompt(instance: Instance) -> dict[str, Any] | None:
    """The words together with the picture they speak of."""
    if instance.picture is None:
        return None
    return {"text": instance.instruction, "images": {"picture": goal_picture(instance.picture)}}


def corrected(image: Image, edit: ImageEdit) -> Image:
    """The picture of a sensor with another brightness and colour balance; the very same one when both are neutral."""
    if edit == ImageEdit():
        return image
    levels = np.arange(256)[:, None] * (edit.brightness * np.asarray(edit.balance))
    table = np.rint(np.clip(levels, 0, 255)).astype(np.uint8)
    return np.stack([table[image[..., channel], channel] for channel in range(3)], axis=-1)
