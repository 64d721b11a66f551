"""Positions and rotations without a simulator, in the conventions that all simulators here share: metres, x y z w."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]  # x, y, z, w
IDENTITY: Quaternion = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a body's origin is, and how it is turned."""

    position: Vector
    rotation: Quaternion = IDENTITY

    @property
    def xy(self) -> tuple[float, float]:
        return self.position[0], self.position[1]

    @property
    def yaw(self) -> float:
        x, y, z, w = self.rotation
        return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))

    def apply(self, point: Sequence[float]) -> Vector:
        """A point of the body's own frame, in the world."""
        x, y, z = (float(v) for v in rotation_matrix(self.rotation) @ np.asarray(point, dtype=float))
        return self.position[0] + x, self.position[1] + y, self.position[2] + z

    def __matmul__(self, inner: Pose) -> Pose:
        """A pose of this one's frame, in the world."""
        return Pose(self.apply(inner.position), multiply(self.rotation, inner.rotation))

    def inverse(self) -> Pose:
        """The world in this pose's frame: `pose.inverse() @ pose` is where everything starts."""
        back = inverse(self.rotation)
        x, y, z = Pose((0.0, 0.0, 0.0), back).apply(self.position)
        return Pose((-x, -y, -z), back)


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0, yaw: float = 0.0) -> Pose:
    """A place, turned about the vertical."""
    return Pose((x, y, z), yaw_rotation(yaw))


def rotation_matrix(rotation: Quaternion) -> NDArray[np.float64]:
    x, y, z, w = rotation
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def turn(axis: Vector, angle_rad: float) -> Quaternion:
    """The rotation about a unit axis."""
    x, y, z = axis
    sin = math.sin(angle_rad / 2)
    return x * sin, y * sin, z * sin, math.cos(angle_rad / 2)


def yaw_rotation(yaw_rad: float) -> Quaternion:
    return 0.0, 0.0, math.sin(yaw_rad / 2), math.cos(yaw_rad / 2)


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def inverse(a: Quaternion) -> Quaternion:
    return -a[0], -a[1], -a[2], a[3]
