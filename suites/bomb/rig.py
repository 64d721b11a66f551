"""The robot: a gripper on a carriage that moves along x, y and z, the same in both simulators.

Its origin is the tip, the point between the lower ends of the fingers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_vla.sim.pose import Vector

Array = NDArray[np.float64]

CONTROL_HZ = 10
RAMP_HZ = 50  # how often the set point moves on within one action
SPEED_M_S = 0.4
OPENING_M_S = 0.18
MAX_OPENING_M = 0.036
LOW = np.array([-0.20, -0.14, 0.001, 0.0], dtype=np.float32)  # x, y, z in metres, gripper 0 closed
HIGH = np.array([0.20, 0.14, 0.120, 1.0], dtype=np.float32)  # gripper 1 open
START_M: Vector = (0.0, 0.12, 0.10)
CARRIAGE_KG = 0.8
FINGER_KG = 0.05
GRIP_N = 3.0

Carrier = Literal["carriage", "left", "right"]


@dataclass(frozen=True, slots=True)
class Part:
    """A box of the robot, placed in the frame of what carries it. A finger's frame lies on its inner face."""

    carrier: Carrier
    centre_m: Vector
    half_m: Vector
    rgb: Vector
    solid: bool = True


FINGER_HALF_M: Vector = (0.002, 0.006, 0.016)
PARTS = (
    Part("left", (-FINGER_HALF_M[0], 0.0, FINGER_HALF_M[2]), FINGER_HALF_M, (0.85, 0.45, 0.10)),
    Part("right", (FINGER_HALF_M[0], 0.0, FINGER_HALF_M[2]), FINGER_HALF_M, (0.85, 0.45, 0.10)),
    Part("carriage", (0.0, 0.0, 0.040), (0.024, 0.009, 0.008), (0.30, 0.33, 0.38)),
    Part("carriage", (0.0, 0.0, 0.170), (0.007, 0.007, 0.122), (0.62, 0.64, 0.68), solid=False),
)


def action_of(tip: Vector, opening: float) -> NDArray[np.float32]:
    """The action that goes to a point with the gripper so far open (0..1)."""
    return np.array([*tip, opening], dtype=np.float32)


def limited(action: NDArray[np.float32]) -> Array:
    """The set point that an action asks for: inside the workspace, the gripper as an opening in metres."""
    target = np.clip(action, LOW, HIGH).astype(np.float64)
    target[3] *= MAX_OPENING_M
    return target


def ramp(set_point: Array, target: Array, seconds: float) -> Array:
    """The set point after some time on the straight way to the target."""
    away = target - set_point
    length = float(np.sqrt(away[:3] @ away[:3]))
    step = away.copy()
    if length > SPEED_M_S * seconds:
        step[:3] *= SPEED_M_S * seconds / length
    most = OPENING_M_S * seconds
    step[3] = min(max(away[3], -most), most)
    return set_point + step
