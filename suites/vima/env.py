"""The environment: one gymnasium env for all tasks, told by the episode's key which one to be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit.axes import contradicted
from pytest_vla.kit.env import Observation, Step, TaskEnv
from pytest_vla.kit.goals import Verdict
from pytest_vla.perturb import scene_edits
from pytest_vla.sim.bullet import Watch

from .axes import TABLE
from .edits import NEUTRAL, SceneEdits
from .kit.elsewhere import followed
from .kit.features import features
from .kit.prompt import Asset, AssetImages, Prompt, PromptSpec
from .kit.scene import WORKSPACE_X_M, WORKSPACE_Y_M, Instance
from .kit.sweep import SweepJudge
from .kit.task import Task
from .tools import InvalidAction
from .world import FIRST_OBJECT_ID, Tabletop

IMAGE_SHAPE = (128, 256)
LOW = np.array([WORKSPACE_X_M[0], WORKSPACE_Y_M[0]], dtype=np.float32)
HIGH = np.array([WORKSPACE_X_M[1], WORKSPACE_Y_M[1]], dtype=np.float32)
EE_NUMBER = {"suction": 0, "spatula": 1}

Action = dict[str, Any]


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


class VimaEnv(TaskEnv):
    """Any task of the suite on one table that is kept from episode to episode.

    After `reset` the episode is described by `episode`, `task`, `instance` (what was drawn, with goals where they are
    now), `features`, `prompt` and `ids` (the number of each thing in the segmentation).
    """

    def __init__(self, tasks: Mapping[str, Task], *, strict: bool = False, window: bool = False) -> None:
        self.tasks, self.strict = tasks, strict
        self.action_space, self.observation_space = action_space(), observation_space()
        self.table = Tabletop(window=window)

    def start(self, episode: EpisodeKey, edits: SceneEdits | None) -> None:
        self.task: Task = self.tasks[episode.task]
        drawn = self.task.instance(episode, strict=self.strict)
        edits = edits or scene_edits(TABLE, NEUTRAL, episode, drawn)
        self.features = features(drawn)
        self.instance: Instance = followed(drawn, edits.shifts_m) if edits.goals_follow else drawn
        self._pushes = dict(edits.pushes_m)
        self.prompt = Prompt(contradicted(self.instance.prompt, episode, self._other_prompt), self._draw)
        self.table.reset(self.instance.things, self.task.tool, edits)
        labels = sorted(self.table.looks())
        numbers = episode.rng("ids").permutation(len(labels)) + FIRST_OBJECT_ID[self.task.tool]
        self.ids = {label: int(number) for label, number in zip(labels, numbers, strict=True)}
        self.verdict = Verdict()
        self.instance.judge.progress(self.table.state())
        self._watch = self._looks_on_the_way()

    def step(self, action: Action) -> Step:
        """Carry out one action. It ends when everything is at rest or the step budget is used up."""
        self._push()
        try:
            self.table.act(_well_formed(action), self._watch)
        except InvalidAction as error:
            return self.outcome(Verdict(failure=str(error)), "invalid_action")
        self.verdict = self.instance.judge.update(self.table.state())
        return self.outcome(self.verdict)

    def _push(self) -> None:
        """After the first look at the table, and before anything is done about it."""
        while self._pushes:
            self.table.push(*self._pushes.popitem())

    def progress(self) -> float:
        return 1.0 if self.verdict.success else self.instance.judge.progress(self.table.state())

    def digest(self) -> str:
        return self.table.world.digest()

    def close(self) -> None:
        self.table.close()

    def _looks_on_the_way(self) -> Watch | None:
        """What looks at a motion as it goes: nothing, but for tasks in which the way counts."""
        judge, table = self.instance.judge, self.table
        if not isinstance(judge, SweepJudge):
            return None
        return Watch(lambda: judge.look_at_line(table.moving_state(judge.targets)), judge.look_every)

    def observe(self) -> Observation:
        views = self.table.views(self.ids)
        return {
            "images": views.rgb,
            "segmentation": views.segmentation,
            "state": {"ee": np.array([EE_NUMBER[self.task.tool]], dtype=np.float32)},
            "instruction": self.prompt.text,
            "prompt": self.prompt,
        }

    def _other_prompt(self, stream: str) -> PromptSpec:
        return self.task.instance(self.episode, strict=self.strict, stream=stream).prompt

    def _draw(self, asset: Asset, name: str) -> AssetImages:
        return self.table.draw(asset, self.episode.rng(f"prompt.{name}"))


def _well_formed(action: Action) -> dict[str, Any]:
    """The action as finite float32 arrays, positions clipped into the bounds."""
    parts = {}
    for name in ("pose0_position", "pose0_rotation", "pose1_position", "pose1_rotation"):
        array = np.asarray(action[name], dtype=np.float32)
        if not all(map(math.isfinite, array.ravel().tolist())):
            raise InvalidAction(f"{name} is not finite: {array.tolist()}.")
        parts[name] = np.minimum(np.maximum(array, LOW), HIGH) if name.endswith("position") else array
    return parts
