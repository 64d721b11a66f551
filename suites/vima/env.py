"""The environment: one gymnasium env for all tasks, told by the episode's key which one to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from pytest_vla.episode import EpisodeKey

from .axes import contradicted, scene_edits
from .edits import SceneEdits
from .kit.judge import Verdict
from .kit.prompt import Asset, AssetImages, Prompt
from .kit.scene import WORKSPACE_X_M, WORKSPACE_Y_M, Instance
from .kit.task import Task
from .tools import InvalidAction
from .world import FIRST_OBJECT_ID, Tabletop

IMAGE_SHAPE = (128, 256)
LOW = np.array([WORKSPACE_X_M[0], WORKSPACE_Y_M[0]], dtype=np.float32)
HIGH = np.array([WORKSPACE_X_M[1], WORKSPACE_Y_M[1]], dtype=np.float32)
EE_NUMBER = {"suction": 0, "spatula": 1}

Action = dict[str, Any]
Observation = dict[str, Any]


def action_space() -> spaces.Dict:
    position, rotation = spaces.Box(LOW, HIGH, dtype=np.float32), spaces.Box(-1.0, 1.0, (4,), np.float32)
    return spaces.Dict(
        {
            "pose0_position": position,
            "pose0_rotation": rotation,
            "pose1_position": spaces.Box(LOW, HIGH, dtype=np.float32),
            "pose1_rotation": spaces.Box(-1.0, 1.0, (4,), np.float32),
        }
    )


def observation_space() -> spaces.Dict:
    """The array part of an observation; `instruction` and `prompt` come with it as a str and a Prompt."""
    image, mask = spaces.Box(0, 255, (*IMAGE_SHAPE, 3), np.uint8), spaces.Box(0, 255, IMAGE_SHAPE, np.uint8)
    return spaces.Dict(
        {
            "images": spaces.Dict({"front": image, "top": image}),
            "segmentation": spaces.Dict({"front": mask, "top": mask}),
            "state": spaces.Dict({"ee": spaces.Box(0, 1, (1,), np.float32)}),
        }
    )


class VimaEnv(gymnasium.Env[Observation, Action]):
    """Any task of the suite on one table that is kept from episode to episode.

    After `reset` the episode is described by `episode`, `task`, `instance` (what was drawn), `prompt` and `ids` (the
    number of each thing in the segmentation).
    """

    def __init__(self, tasks: Mapping[str, Task], *, strict: bool = False) -> None:
        self.tasks, self.strict = tasks, strict
        self.action_space, self.observation_space = action_space(), observation_space()
        self.table = Tabletop()
        self.instance: Instance | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Any]:
        """Start the episode of `options["episode"]`, on a table changed by `options["edits"]` if there are any.

        The key alone decides every draw; `seed` follows from it and is not looked at.
        """
        options = options or {}
        if "episode" not in options:
            raise ValueError('reset() needs options={"episode": suite.episode(task, partition, index)}')
        self.episode: EpisodeKey = options["episode"]
        self.task = self.tasks[self.episode.task]
        self.instance = self.task.instance(self.episode, strict=self.strict)
        edits: SceneEdits = options.get("edits") or scene_edits(self.episode, self.instance)
        self.prompt = Prompt(contradicted(self.instance.prompt, self.episode, self.task, self.strict), self._draw)
        self.table.reset(self.instance.things, self.task.tool, edits)
        labels = sorted(self.table.looks())
        numbers = self.episode.rng("ids").permutation(len(labels)) + FIRST_OBJECT_ID[self.task.tool]
        self.ids = {label: int(number) for label, number in zip(labels, numbers, strict=True)}
        self.verdict = Verdict()
        self.instance.judge.progress(self.table.state())
        return self._observe(), {}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out one action. It ends when everything is at rest or the step budget is used up."""
        assert self.instance is not None, "call reset() first"
        judge = self.instance.judge
        try:
            self.table.act(_well_formed(action), self._watch if judge.watched else _look_away)
        except InvalidAction as error:
            return self._end(False, "invalid_action", str(error))
        self.verdict = judge.update(self.table.state())
        if self.verdict.failure:
            return self._end(False, "constraint_violated", self.verdict.failure)
        return self._end(self.verdict.success)

    def progress(self) -> float:
        assert self.instance is not None, "call reset() first"
        if self.verdict.success:
            return 1.0
        return self.instance.judge.progress(self.table.state())

    def digest(self) -> str:
        return self.table.world.digest()

    def close(self) -> None:
        self.table.close()

    def _watch(self) -> None:
        assert self.instance is not None
        judge = self.instance.judge
        judge.watch(self.table.moving_state(judge.watched))

    def _end(
        self, success: bool, failure: str = "", message: str = ""
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        info: dict[str, Any] = {"success": success}
        if failure:
            info |= {"failure": failure, "message": message}
        return self._observe(), float(success), success or bool(failure), False, info

    def _observe(self) -> Observation:
        views = self.table.views(self.ids)
        return {
            "images": views.rgb,
            "segmentation": views.segmentation,
            "state": {"ee": np.array([EE_NUMBER[self.task.tool]], dtype=np.float32)},
            "instruction": self.prompt.text,
            "prompt": self.prompt,
        }

    def _draw(self, asset: Asset, name: str) -> AssetImages:
        return self.table.draw(asset, self.episode.rng(f"prompt.{name}"))


def _look_away() -> None:
    """For tasks in which nothing on the way counts."""


def _well_formed(action: Action) -> dict[str, Any]:
    """The action as finite float32 arrays, positions clipped into the bounds."""
    parts = {}
    for name in ("pose0_position", "pose0_rotation", "pose1_position", "pose1_rotation"):
        array = np.asarray(action[name], dtype=np.float32)
        if not np.isfinite(array).all():
            raise InvalidAction(f"{name} is not finite: {array.tolist()}.")
        parts[name] = np.clip(array, LOW, HIGH) if name.endswith("position") else array
    return parts
