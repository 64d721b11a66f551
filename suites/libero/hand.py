"""The hand that LIBERO's expert steers: straight lines, the gripper, and the turns that go with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import mujoco
import numpy as np

Array = Any
Actions = Iterator[Array]

OPEN, CLOSED = -1.0, 1.0
REACH_M, REACH_RAD = 0.05, 0.5  # what an action of 1 asks for
DOWN = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])  # the hand as it starts: fingers along y
PATIENCE = 10  # steps without coming nearer


class Hand:
    """Where the hand is, and the actions that bring it elsewhere."""

    def __init__(self, env: Any) -> None:
        self.data, self.site = env.sim.data._data, env.robots[0].eef_site_id
        self.gripper = OPEN

    @property
    def position(self) -> Array:
        return self.data.site_xpos[self.site].copy()

    @property
    def turned(self) -> Array:
        return self.data.site_xmat[self.site].reshape(3, 3).copy()

    def go(
        self,
        to: Any,
        turned: Array,
        *,
        tolerance: float,
        steps: int = 60,
        until: Callable[[], bool] | None = None,
    ) -> Actions:
        """Go there in a straight line; what comes no nearer any more is as near as it gets."""
        to, best, since = np.asarray(to, dtype=float), math.inf, 0
        for _ in range(steps):
            if until is not None and until():
                return
            off, angle = to - self.position, rotation_vector(turned @ self.turned.T)
            if np.linalg.norm(off) < tolerance and np.linalg.norm(angle) < 0.1:
                return
            left = float(np.linalg.norm(off) + 0.1 * np.linalg.norm(angle))
            best, since = (left, 0) if left < best - 0.001 else (best, since + 1)
            if since > PATIENCE:
                return
            yield self._action(off, angle)

    def rise(self, height: float) -> Actions:
        if self.position[2] < height:
            yield from self.go([*self.position[:2], height], self.turned.copy(), tolerance=0.03)

    def grip(self, gripper: float, steps: int) -> Actions:
        self.gripper = gripper
        for _ in range(steps):
            yield self.still()

    def still(self) -> Array:
        return np.array([0.0] * 6 + [self.gripper])

    def _action(self, off: Array, angle: Array) -> Array:
        move = np.clip(2.0 * off / REACH_M, -1, 1)
        turn = np.clip(1.5 * angle / REACH_RAD, -1, 1)
        return np.concatenate([move, turn, [self.gripper]])


def rotation(yaw: float) -> Array:
    """The hand pointing down, turned about the vertical."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ DOWN


def about(axis: Any, angle: float) -> Array:
    quaternion, matrix = np.zeros(4), np.zeros(9)
    mujoco.mju_axisAngle2Quat(quaternion, np.asarray(axis, dtype=float), angle)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def wrapped(yaw: float) -> float:
    """The same grip with the hand turned least: half a turn changes nothing."""
    return (yaw + math.pi / 2) % math.pi - math.pi / 2


def rotation_vector(matrix: Array) -> Array:
    quaternion, vector = np.zeros(4), np.zeros(3)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(matrix).ravel())
    mujoco.mju_quat2Vel(vector, quaternion, 1.0)
    return vector
