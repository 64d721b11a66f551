"""The environment: one gymnasium env for all tasks, told by the episode's key which one to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pytest_vla.episode import EpisodeKey

from . import rig
from .axes import contradicted, scene_edits
from .cameras import CAMERAS, IMAGE_PX
from .edits import SceneEdits
from .judge import Judge
from .partitions import draw_edits
from .scene import Instance, TableState
from .tasks import TASKS, Task
from .textures import goal_picture
from .world import Images, World

Action = NDArray[np.float32]
Observation = dict[str, Any]


def observation_space() -> spaces.Dict:
    """The array part of an observation; `instruction` and, for copy_position, `prompt` come with it."""
    image = spaces.Box(0, 255, (IMAGE_PX, IMAGE_PX, 3), np.uint8)
    return spaces.Dict(
        {
            "images": spaces.Dict(dict.fromkeys(CAMERAS, image)),
            "state": spaces.Dict({"ee": spaces.Box(-np.inf, np.inf, (4,), np.float32)}),
        }
    )


class BombEnv(gymnasium.Env[Observation, Action]):
    """Any task of the suite on one table that is kept from episode to episode.

    After `reset` the episode is described by `episode`, `task`, `instance` (what was drawn), `edits` (what was changed
    about it) and `judge`.
    """

    def __init__(self, make_world: Callable[[], World]) -> None:
        self.action_space, self.observation_space = spaces.Box(rig.LOW, rig.HIGH, dtype=np.float32), observation_space()
        self.world: World = make_world()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Any]:
        """Start the episode of `options["episode"]`, its table changed as the key says.

        `options["edits"]` take the place of the partition's own. The key alone decides every draw; `seed` follows from
        it and is not looked at.
        """
        options = options or {}
        self.episode: EpisodeKey = options["episode"]
        self.task: Task = TASKS[self.episode.task]
        self.instance: Instance = self.task.instance(self.episode)
        edits: SceneEdits = options.get("edits") or draw_edits(self.episode, self.instance)
        self.edits = edits = scene_edits(edits, self.episode, self.instance)
        stones = (*self.instance.stones, *edits.extra_stones)
        self.world.reset(stones, edits)
        self.state: TableState = self.world.state()
        self.judge = Judge(self.instance, stones, self.state, edits.scale)
        self.told = contradicted(self.instance, self.episode)
        self._prompt = _prompt(self.told)
        return self._observe(), {}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Go towards the action's target for one control period. Success must hold at the horizon: it ends nothing."""
        self.world.act(np.asarray(action, dtype=np.float32))
        self.state = self.world.state()
        verdict = self.judge.update(self.state)
        info: dict[str, Any] = {"success": verdict.success}
        if verdict.failure:
            info |= {"failure": "constraint_violated", "message": verdict.failure}
        return self._observe(), float(verdict.success), bool(verdict.failure), False, info

    def progress(self) -> float:
        return self.judge.progress(self.state)

    def digest(self) -> str:
        return self.world.digest()

    def close(self) -> None:
        self.world.close()

    def _observe(self) -> Observation:
        gripper = self.state.opening_m / rig.MAX_OPENING_M
        observation: Observation = {
            "images": Images(self.world, self.edits.image),
            "state": {"ee": np.array([*self.state.tip, gripper], dtype=np.float32)},
            "instruction": self.told.instruction,
        }
        return observation if self._prompt is None else observation | {"prompt": self._prompt}


def _prompt(instance: Instance) -> dict[str, Any] | None:
    """The words together with the picture they speak of."""
    if instance.picture is None:
        return None
    return {"text": instance.instruction, "images": {"picture": goal_picture(instance.picture)}}
