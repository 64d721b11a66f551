"""The same tables by small steps of the hand, 20 a second: what most policies that see and speak give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit.env import Step
from pytest_vla.kit.goals import Verdict
from pytest_vla.kit.hand import Unreachable
from pytest_vla.kit.hand_env import HandEnv
from pytest_vla.kit.keyframe_actions import Action
from pytest_vla.kit.keyframe_oracle import KeyframeOracle, Route
from pytest_vla.kit.keyframes import Keyframe
from pytest_vla.sim.pose import Pose, Quaternion, inverse, multiply

CONTROL_HZ = 20
MOST_M, MOST_RAD = 0.03, 0.12  # of one action along, or about, each axis
GENTLE = 0.4  # of the speed there is: what is held by friction must not slip
SETTLE_ACTIONS, GRIP_ACTIONS = 2, 8  # to come to rest, and for the fingers
PATIENCE = 10  # actions after which it gives up on what is left of a way


def delta_space() -> spaces.Box:
    """Metres along x, y, z, a rotation vector (rad) in the room's axes, and the gripper (1: open)."""
    high = np.array([MOST_M] * 3 + [MOST_RAD] * 3 + [1.0], np.float32)
    low = -high
    low[6] = 0.0
    return spaces.Box(low, high, dtype=np.float32)


class DeltaEnv(HandEnv):
    """An action moves the hand's set point by a little; what is out of its bounds is cut to them."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.action_space = delta_space()

    def step(self, action: Action) -> Step:
        try:
            target, opening = self._target(action)
        except Unreachable as error:
            return self.outcome(Verdict(failure=str(error)), "invalid_action")
        self.table.servo(target, opening, self._watch, every_step=self.strict)
        if not (self.verdict.success or self.verdict.failure):
            self._judge(at_end=True)
        return self.outcome(self.verdict)

    def _target(self, action: Action) -> tuple[Pose, float]:
        values = np.asarray(action, dtype=np.float64)
        if not np.isfinite(values).all():
            raise Unreachable(f"the action is not finite: {values.tolist()}")
        cut = np.clip(values, self.action_space.low, self.action_space.high)
        aimed = self.table.robot.aimed()
        x, y, z = (float(a + b) for a, b in zip(aimed.position, cut[:3], strict=True))
        return Pose((x, y, max(z, 0.0)), multiply(_rotation(cut[3:6]), aimed.rotation)), float(values[6] > 0.5)


@dataclass
class Steps(Route):
    """What the oracle remembers: the keyframe it is on the way to, and what it still waits for once there."""

    keyframe: Keyframe | None = None
    opening: float = 1.0
    tries: int = 0
    rest: int = 0


class DeltaOracle(KeyframeOracle):
    """Goes the straight way to one keyframe after the other, comes to rest, and opens or closes."""

    def reset(self, episode: EpisodeKey) -> Steps:
        return Steps()

    def act(self, observations: Sequence[Any], states: Sequence[Any]) -> Sequence[Action]:
        return [self._step(steps) for steps in states]

    def _step(self, steps: Steps) -> Action:
        if steps.keyframe is None:
            steps.keyframe = self.next(steps)
            changes = steps.keyframe.opening != steps.opening
            steps.tries, steps.rest = PATIENCE, SETTLE_ACTIONS + (GRIP_ACTIONS if changes else 0)
        away, turn = _way(self.env.table.robot.aimed(), steps.keyframe.pose)
        left = max(np.abs(away).max() / MOST_M, np.abs(turn).max() / MOST_RAD)
        if left > 1e-3 and steps.tries:
            scale = max(left / GENTLE, 1.0)
            steps.tries -= scale == 1.0
            return np.array([*(away / scale), *(turn / scale), steps.opening], np.float32)
        steps.rest -= 1
        if steps.rest < GRIP_ACTIONS:
            steps.opening = steps.keyframe.opening
        if not steps.rest:
            steps.keyframe = None
        return np.array([0, 0, 0, 0, 0, 0, steps.opening], np.float32)


def _rotation(vector: Any) -> Quaternion:
    """The rotation of a rotation vector."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-9:
        return 0.0, 0.0, 0.0, 1.0
    x, y, z = (math.sin(angle / 2) * float(value) / angle for value in vector)
    return x, y, z, math.cos(angle / 2)


def _way(start: Pose, end: Pose) -> tuple[Any, Any]:
    """What is left of the way, in metres and as a rotation vector."""
    x, y, z, w = multiply(end.rotation, inverse(start.rotation))
    if w < 0:
        x, y, z, w = -x, -y, -z, -w
    length = math.sqrt(x * x + y * y + z * z)
    turn = np.zeros(3) if length < 1e-9 else np.array([x, y, z]) / length * 2 * math.atan2(length, w)
    return np.subtract(end.position, start.position), turn
