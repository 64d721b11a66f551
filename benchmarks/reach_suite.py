"""A small suite without a simulator: a hand over a table, three discs, and two cameras that are drawn by numpy.

The named disc must be reached and gripped. In `reach_sliding` the discs slide for the first steps of an episode and
then lie still; in `reach_red` the named one is always red: a policy that does not read is told by the pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

import pytest_vla as vla
from pytest_vla.policies.conventions import Camera, Conventions, Part

PX = 48
HALF_M = 0.20  # the table is a square about the origin
WRIST_M = 0.06
REACH_M = 0.015
DISC_M = 0.022
MOST_M = 0.04  # of one action along each axis
STEPS = 24
SLIDING = 6
SLIDE_M = 0.09
COLOURS = {"red": (220, 40, 40), "blue": (40, 60, 220), "yellow": (240, 220, 30)}


class ReachEnv(gymnasium.Env[Any, Any]):
    action_space = spaces.Box(
        np.array([-MOST_M] * 3 + [0], np.float32), np.array([MOST_M] * 3 + [1], np.float32), dtype=np.float32
    )

    def __init__(self, sliding: bool, goal: str | None = None) -> None:
        self.sliding, self.goal = SLIDING if sliding else 0, goal

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        assert options is not None
        rng = options["episode"].rng("scene")
        while True:
            spots = rng.uniform(-0.15, 0.15, (len(COLOURS), 2))
            if min(np.linalg.norm(a - b) for i, a in enumerate(spots) for b in spots[:i]) > 0.07:
                break
        self.spots, self.slide = spots, rng.uniform(-SLIDE_M, SLIDE_M, (len(COLOURS), 2))
        self.colour = self.goal or list(COLOURS)[int(rng.integers(len(COLOURS)))]
        self.hand = np.array([*rng.uniform(-0.05, 0.05, 2), 0.12])
        self.opening, self.time = 1.0, 0
        return self._seen(), {}

    @property
    def target(self) -> Any:
        return self.places()[list(COLOURS).index(self.colour)]

    def places(self) -> Any:
        left = max(0.0, 1 - self.time / self.sliding) if self.sliding else 0.0
        return np.clip(self.spots + left * self.slide, -0.17, 0.17)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        cut = np.clip(np.asarray(action, np.float64), self.action_space.low, self.action_space.high)
        self.hand = np.clip(self.hand + cut[:3], [-HALF_M, -HALF_M, 0.0], [HALF_M, HALF_M, 0.2])
        was_open, self.opening, self.time = self.opening > 0.5, float(cut[3]), self.time + 1
        near = np.linalg.norm(self.hand[:2] - self.target) < REACH_M and self.hand[2] < 0.02
        gripped = self.opening < 0.5 and self.hand[2] < 0.03
        success = bool(near and gripped and was_open)
        info: dict[str, Any] = {"success": success}
        if gripped and not success:
            info |= {"failure": "constraint_violated", "message": "closed, but not about the disc"}
        return self._seen(), float(success), success, False, info

    def _seen(self) -> dict[str, Any]:
        return {
            "images": {"main": self._draw((0.0, 0.0), HALF_M), "wrist": self._draw(self.hand[:2], WRIST_M)},
            "state": {"ee": np.array([*self.hand, self.opening], np.float32)},
            "instruction": f"Reach the {self.colour.upper()} disc.",
        }

    def _draw(self, centre: Any, half_m: float) -> Any:
        line = ((np.arange(PX) + 0.5) / PX * 2 - 1) * half_m
        x, y = line[None, :] + centre[0], -line[:, None] + centre[1]
        image = np.full((PX, PX, 3), (150, 140, 120), np.uint8)
        for (px, py), colour in zip(self.places(), COLOURS.values(), strict=True):
            image[(x - px) ** 2 + (y - py) ** 2 < DISC_M**2] = colour
        return image


class Reach(vla.Suite):
    """`sliding`: whether the discs move at first; `goal`: the colour that is always asked for."""

    version = "1"
    cameras = ("main", "wrist")
    state_keys = ("ee",)
    image_sizes: ClassVar = {"main": (PX, PX), "wrist": (PX, PX)}
    control_hz = 10.0
    conventions = Conventions(
        cameras={"main": Camera(role="main"), "wrist": Camera(role="wrist")},
        state=(Part("position", "ee"), Part("gripper", "ee")),
        action=(Part("position", mode="delta"), Part("gripper")),
    )

    def __init__(self, name: str = "reach", *, sliding: bool = False, goal: str | None = None) -> None:
        self.name, self.sliding, self.goal = name, sliding, goal

    def cells(self) -> Sequence[tuple[str, str]]:
        return [("reach", "test")]

    def step_limit(self, task: str) -> int:
        return STEPS

    def make_env(self, task: str) -> ReachEnv:
        return ReachEnv(self.sliding, self.goal)

    def oracle(self, env: Any) -> vla.Policy:
        return Oracle(env.unwrapped)

    def digest(self, env: Any) -> str:
        return repr((env.unwrapped.hand.tolist(), env.unwrapped.places().tolist(), env.unwrapped.opening))

    def progress(self, env: Any) -> float:
        away = np.linalg.norm(env.unwrapped.hand[:2] - env.unwrapped.target)
        return float(max(0.0, 1 - away / 0.2))


class Oracle(vla.Policy):
    """Goes over the disc, then down, then grips."""

    def __init__(self, env: ReachEnv) -> None:
        self.env = env

    def act(self, observations: Sequence[Any], states: Sequence[Any]) -> list[Any]:
        return [wanted(self.env.hand, self.env.target, self.env.time < self.env.sliding)] * len(observations)


def wanted(hand: Any, target: Any, sliding: bool = False) -> Any:
    away = np.asarray(target) - hand[:2]
    down = np.linalg.norm(away) < 0.03 and not sliding
    z = (0.005 if down else 0.08) - hand[2]
    closed = np.linalg.norm(away) < 0.008 and hand[2] < 0.015
    return np.array([*np.clip([*away, z], -MOST_M, MOST_M), 0.0 if closed else 1.0], np.float32)
