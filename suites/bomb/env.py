"""The environment: one gymnasium env for all tasks, told by the episode's key which one to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit.env import Observation, Step, TaskEnv
from pytest_vla.kit.images import LazyImages
from pytest_vla.perturb import scene_edits

from . import rig
from .axes import TABLE, contradicted
from .cameras import CAMERAS, IMAGE_PX
from .edits import SceneEdits
from .judge import Judge
from .partitions import draw_edits
from .scene import Instance, TableState
from .tasks import TASKS, BombTask
from .textures import goal_picture
from .world import World, corrected


def observation_space() -> spaces.Dict:
    """The array part of an observation; `instruction` and, for copy_position, `prompt` come with it."""
    image = spaces.Box(0, 255, (IMAGE_PX, IMAGE_PX, 3), np.uint8)
    return spaces.Dict(
        {
            "images": spaces.Dict(dict.fromkeys(CAMERAS, image)),
            "state": spaces.Dict({"ee": spaces.Box(-np.inf, np.inf, (4,), np.float32)}),
        }
    )


class BombEnv(TaskEnv):
    """Any task of the suite on one table that is kept from episode to episode.

    After `reset` the episode is described by `episode`, `task`, `instance` (what was drawn), `edits` (what was changed
    about it) and `judge`.
    """

    success_ends = False

    def __init__(self, make_world: Callable[[], World]) -> None:
        self.action_space, self.observation_space = spaces.Box(rig.LOW, rig.HIGH, dtype=np.float32), observation_space()
        self.world: World = make_world()

    def start(self, episode: EpisodeKey, edits: SceneEdits | None) -> None:
        """The key's perturbation comes on top of the partition's edits, or of those given instead."""
        self.task: BombTask = TASKS[episode.task]
        self.instance: Instance = self.task.instance(episode)
        edits = edits or draw_edits(episode, self.instance)
        self.edits: SceneEdits = scene_edits(TABLE, edits, episode, self.instance)
        stones = (*self.instance.stones, *self.edits.extra_stones)
        self.world.reset(stones, self.edits)
        self.state: TableState = self.world.state()
        self.judge = Judge(self.instance, stones, self.state, self.edits.scale)
        self.told = contradicted(self.instance, episode)
        self._prompt = _prompt(self.told)

    def step(self, action: NDArray[np.float32]) -> Step:
        """Go towards the action's target for one control period."""
        self.world.act(np.asarray(action, dtype=np.float32))
        self.state = self.world.state()
        return self.outcome(self.judge.update(self.state))

    def progress(self) -> float:
        return self.judge.progress(self.state)

    def digest(self) -> str:
        return self.world.digest()

    def close(self) -> None:
        self.world.close()

    def observe(self) -> Observation:
        world, edit, moment = self.world, self.edits.image, self.world.snapshot()
        gripper = self.state.opening_m / rig.MAX_OPENING_M
        observation: Observation = {
            "images": LazyImages(CAMERAS, lambda camera: corrected(world.picture(moment, camera), edit)),
            "state": {"ee": np.array([*self.state.tip, gripper], dtype=np.float32)},
            "instruction": self.told.instruction,
        }
        return observation if self._prompt is None else observation | {"prompt": self._prompt}


def _prompt(instance: Instance) -> dict[str, Any] | None:
    """The words together with the picture they speak of."""
    if instance.picture is None:
        return None
    return {"text": instance.instruction, "images": {"picture": goal_picture(instance.picture)}}
