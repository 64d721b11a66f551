"""The environment of a suite of things under a hand: the suite says which room and which tasks, the rest is here.

Actions and observations are in the frame of the room; all else counts from the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit import axes
from pytest_vla.kit.cameras import edited
from pytest_vla.kit.env import Observation, Step, TaskEnv
from pytest_vla.kit.goals import Verdict
from pytest_vla.kit.hand import HOME, Robot, Unreachable
from pytest_vla.kit.hand_edits import SceneEdits, scene_axes
from pytest_vla.kit.hand_table import HandTable
from pytest_vla.kit.hand_task import HandTask
from pytest_vla.kit.images import Image, LazyImages
from pytest_vla.kit.keyframe_actions import Action, action_of, euler_state, keyframe_of, keyframe_space
from pytest_vla.kit.mujoco_table import lights
from pytest_vla.kit.patterns import PATTERNS, painted
from pytest_vla.kit.predicates import ThingJudge
from pytest_vla.kit.room import Room
from pytest_vla.kit.things import Thing
from pytest_vla.perturb import scene_edits
from pytest_vla.sim.mujoco import Scene
from pytest_vla.sim.pose import Pose, Vector

TABLE_HALF_M = 3.0
TABLE_PX = 256
TABLE_COLOUR: Vector = (0.62, 0.57, 0.50)
STATE_SIZES = {"ee": 8, "euler": 7}


class HandEnv(TaskEnv):
    """Any task of a suite of things; after `reset`, `instance` is what was drawn and `edits` what was changed."""

    def __init__(
        self,
        room: Room,
        tasks: Mapping[str, HandTask],
        robot: Robot,
        *,
        variation_of: Callable[[EpisodeKey], int],
        strict: bool = False,
        image_px: int = 256,
        scan_px: int | None = None,
    ) -> None:
        self.room, self.tasks, self.strict, self._variation_of = room, tasks, strict, variation_of
        self.table = HandTable(robot, image_px, scan_px)
        image = spaces.Box(0, 255, (image_px, image_px, 3), np.uint8)
        self.action_space: spaces.Box = keyframe_space(room)
        self.observation_space = spaces.Dict(
            {
                "images": spaces.Dict(dict.fromkeys(room.camera_names, image)),
                "state": spaces.Dict(
                    {name: spaces.Box(-np.inf, np.inf, (size,), np.float32) for name, size in STATE_SIZES.items()}
                ),
            }
        )

    def start(self, episode: EpisodeKey, edits: SceneEdits | None) -> None:
        self.variation = self._variation_of(episode)
        self.instance = self.tasks[episode.task].instance(episode, self.variation, self.strict)
        self.edits: SceneEdits = edits or scene_edits(scene_axes(self.room), SceneEdits(), episode, self.instance)
        parts = [part.edited(self.edits) if isinstance(part, Thing) else part for part in self.instance.parts]
        home = HOME if self.edits.home_m is None else Pose(self.edits.home_m, HOME.rotation)
        self.table.load(self._scene(), [*parts, *self.edits.distractors], home)
        self.judge = ThingJudge(self.instance.done, self.instance.fails, self.instance.trigger)
        self.judge.progress(self.table)
        self.verdict = Verdict()
        self.instruction = axes.contradicted(self.instance.instruction, episode, self._other_instruction)

    def _scene(self) -> Scene:
        scene = Scene(lights(self.edits.light), extent_m=1.2)
        colour = self.edits.table_colour or TABLE_COLOUR
        scene.table(TABLE_HALF_M, painted(PATTERNS[self.edits.table_texture](TABLE_PX), colour))
        for name, view in self.room.cameras.items():
            scene.camera(name, edited(view, self.edits.fixed, (*self.room.centre, 0.0)))
        return scene

    def _other_instruction(self, stream: str) -> str:
        """What is said in another episode, of any task."""
        task = list(self.tasks.values())[int(self.episode.rng(stream).integers(len(self.tasks)))]
        return task.instance(self.episode, self.variation, self.strict, stream).instruction

    def step(self, action: Action) -> Step:
        """Go to the keyframe, then open or close. What cannot be reached loses the episode."""
        try:
            target, opening, free = keyframe_of(self.room, action)
            every = {"every_step": self.strict}
            stopped = self.table.go(target, self._watch, ignore_collisions=free, **every)
            if not stopped:
                self.table.grip(opening, self._watch, **every)
        except Unreachable as error:
            return self.outcome(Verdict(failure=str(error)), "invalid_action")
        if not (self.verdict.success or self.verdict.failure):
            self._judge(at_end=True)
        return self.outcome(self.verdict)

    def _watch(self) -> bool:
        self._judge()
        return self.verdict.success or bool(self.verdict.failure)

    def _judge(self, at_end: bool = False) -> None:
        self.verdict = self.judge.update(self.table.look(), at_end=at_end)

    def observe(self) -> Observation:
        """Pictures that are drawn when looked at, and the hand as an action would have it."""
        moment, table, names = self.table.snapshot(), self.table, self.room.camera_names
        hand = table.look().hand
        return {
            "images": LazyImages(names, lambda name: table.picture(moment, name)),
            "scan": {"things": table.things, "cameras": LazyImages(names, partial(self._scan, moment))},
            "state": {
                "ee": action_of(self.room, hand, table.finger_opening)[:8],
                "euler": euler_state(self.room, hand, table.finger_opening),
            },
            "instruction": self.instruction,
        }

    def _scan(self, moment: Any, camera: str) -> Any:
        """What a camera measures, its pose in the frame of the room."""
        found = self.table.scan(moment, camera)
        found["pose"][2, 3] += self.room.table_m
        return found

    def progress(self) -> float:
        return self.judge.progress(self.table.look())

    def digest(self) -> str:
        return self.table.digest()

    def close(self) -> None:
        self.table.close()

    def picture(self, camera: str) -> Image:
        return self.table.picture(self.table.snapshot(), camera)
