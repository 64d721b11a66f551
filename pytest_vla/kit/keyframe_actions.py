"""Keyframes as the numbers of an action, in the frame of the room, and back."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pytest_vla.kit.hand import Unreachable
from pytest_vla.kit.room import Room
from pytest_vla.policies.base import PolicyError
from pytest_vla.sim.pose import Pose

UNIT_WITHIN = 0.03  # how far from 1 the length of a quaternion may be: rounding and a noisy robot are no mistakes

Action = NDArray[np.float32]


def keyframe_space(room: Room) -> spaces.Box:
    """x, y, z (m), the quaternion x, y, z, w, the gripper (1: open), and whether to ignore collisions (1: yes)."""
    low = np.array([*room.low_m, -1, -1, -1, -1, 0, 0], np.float32)
    return spaces.Box(low, np.array([*room.high_m, 1, 1, 1, 1, 1, 1], np.float32), dtype=np.float32)


def keyframe_from_euler(numbers: Any) -> Action:
    """The keyframe of x, y, z, Euler angles about the room's x, y and z in turn (rad) and the gripper."""
    from scipy.spatial.transform import Rotation

    try:
        x, y, z, *angles, gripper = np.asarray(numbers, np.float64).tolist()
        quaternion = Rotation.from_euler("xyz", angles).as_quat()
    except (TypeError, ValueError) as error:
        raise PolicyError(f"an action with Euler angles has 7 numbers, got {numbers!r}: {error}") from error
    return np.array([x, y, z, *quaternion, gripper, 1.0], np.float32)


def euler_state(room: Room, hand: Pose, opening: float) -> Action:
    """The hand as an action with Euler angles would have it."""
    from scipy.spatial.transform import Rotation

    x, y, z = hand.position
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # where two angles turn about one axis, either will do
        angles = Rotation.from_quat(hand.rotation).as_euler("xyz")
    return np.array([x, y, z + room.table_m, *angles, opening], np.float32)


def keyframe_of(room: Room, action: Action) -> tuple[Pose, float, bool]:
    """What an action asks for, counted from the table; raises Unreachable."""
    values = np.asarray(action, dtype=np.float64)
    x, y, z, *rotation, gripper, free = values.tolist()
    if not np.isfinite(values).all():
        raise Unreachable(f"the action is not finite: {values.tolist()}")
    if not all(low <= v <= high for low, v, high in zip(room.low_m, (x, y, z), room.high_m, strict=True)):
        raise Unreachable(f"({x:.3f}, {y:.3f}, {z:.3f}) is outside the workspace {room.low_m} to {room.high_m}")
    length = math.sqrt(sum(value * value for value in rotation))
    if abs(length - 1) > UNIT_WITHIN:
        raise Unreachable(f"the quaternion has length {length:.3f}, not 1")
    qx, qy, qz, qw = (value / length for value in rotation)
    return Pose((x, y, z - room.table_m), (qx, qy, qz, qw)), float(gripper > 0.5), free > 0.5


def action_of(room: Room, pose: Pose, opening: float, free: bool = True) -> Action:
    """The action that goes to a pose, which is counted from the table.

    Of the two quaternions of a rotation it has the one whose largest number is positive.
    """
    x, y, z = pose.position
    sign = math.copysign(1.0, max(pose.rotation, key=abs))
    return np.array([x, y, z + room.table_m, *(sign * value for value in pose.rotation), opening, free], np.float32)
