"""A suite whose episodes fail by plan: an axis that breaks a share of the scenes, and failures of the policy's own.

The name of a task says what is planted in it, `yaw60own20-03`: `camera.yaw` from level 4 on breaks 60 of 100 scenes,
and 20 of 100 episodes fail anyway; the third such policy. What an episode comes to follows from its key and a salt.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

import pytest_vla as vla
from pytest_vla.perturb import Perturbation

AXES = (
    *("camera.yaw", "camera.pitch", "light.brightness", "light.shadow", "appearance.table_colour", "layout.objects"),
    *("object.mass", "robot.start", "layout.distractors"),
)
BREAKS_FROM = 4
TASK = re.compile(r"yaw(\d+)own(\d+)(left)?-\d+")


def drawn(*key: object) -> float:
    text = " ".join(map(str, (os.environ.get("PLANTED_SALT", ""), *key)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) / 2**64


class PlantedEnv(gymnasium.Env[dict[str, Any], np.ndarray]):
    action_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    observation_space = gymnasium.spaces.Dict({})

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
        assert options is not None
        self.episode = options["episode"]
        return {"images": {}, "state": {}, "instruction": "go on"}, {}

    @property
    def left(self) -> bool:
        return drawn("side", self.episode.task, self.episode.index) < 0.5

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        return {"images": {}, "state": {}, "instruction": ""}, 0.0, False, False, {"success": self.solved()}

    def solved(self) -> bool:
        planted = TASK.fullmatch(self.episode.task)
        assert planted is not None
        share, own = int(planted[1]) / 100, int(planted[2]) / 100
        yaw = abs(Perturbation.parse(self.episode.perturbation).level("camera.yaw"))
        where = self.left if planted[3] else drawn("share", self.episode.task, self.episode.index) < share
        return not (yaw >= BREAKS_FROM and where) and drawn("own", self.episode) >= own


class Idle(vla.Policy):
    def act(self, observations: Any, states: Any) -> list[np.ndarray]:
        return [np.zeros(1, np.float32) for _ in observations]


class PlantedSuite(vla.Suite):
    name = "planted"
    version = "1"

    def cells(self) -> list[tuple[str, str]]:
        return [(task, "all") for task in os.environ.get("PLANTED_TASKS", "yaw100own0-00").split(",")]

    def make_env(self, task: str) -> PlantedEnv:
        return PlantedEnv()

    def step_limit(self, task: str) -> int:
        return 1

    def axes(self) -> tuple[str, ...]:
        return AXES

    def features(self, env: Any) -> dict[str, str | float]:
        env = env.unwrapped
        return {"side": "left" if env.left else "right", "x": round(drawn("x", env.episode.index), 3)}

    def oracle(self, env: Any) -> Idle:
        return Idle()

    def digest(self, env: Any) -> str:
        return str(env.unwrapped.episode)


@vla.benchmark(PlantedSuite())
def test_planted(policy: Any, env: Any, episode: Any, perturbation: Any) -> None:
    assert vla.rollout(policy, env, episode, perturbation)
