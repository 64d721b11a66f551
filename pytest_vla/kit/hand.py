"""A gripper with two fingers that goes to poses, and what floats it there: no arm, nothing in its way.

Its frame is at the tip, the point between the fingertips: z points out of the hand, the fingers open along y.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_vla.sim.mujoco import MujocoWorld
from pytest_vla.sim.mujoco.scene import Scene, friction
from pytest_vla.sim.pose import Pose, Quaternion, Vector, multiply, turn, yaw_rotation
from pytest_vla.sim.view import View

Array = NDArray[np.float64]

POINT_S = 0.01  # how often the set point moves on
SPEED_M_S = 0.45
TURN_RAD_S = 2.0
SHORTEST_S = 0.08
FINGER_M = 0.04  # how far each finger opens
FINGER_S = 0.20  # from open to closed
GRIP_N = 25.0
FINGER_N_M = 1500.0
FINGER_FRICTION = 2.0
HAND_KG, FINGER_KG = 0.6, 0.05
ROBOT_BIT = 4  # a robot touches what answers to this bit of a shape's `conaffinity`, and never itself
HAND, FINGERS, GRASP_ZONE = "hand", ("left_finger", "right_finger"), "grasp_zone"
GRASP_HALF_M: Vector = (0.010, 0.040, 0.0225)
BASE = (-0.273, 0.0)  # of the arm, on the table
REACH_M = (0.38, 0.70)  # how far from it a hand that points down goes with ease
WHITE: Vector = (0.88, 0.89, 0.90)
DARK: Vector = (0.20, 0.21, 0.23)
WRIST = View((0.06, 0.0, -0.105), (0.0, 1.0, 0.0), (0.98, 0.0, 0.2), 60.0)


class Unreachable(Exception):
    """There is no way to the pose that was asked for; one sentence says why."""


def aim(yaw: float = 0.0, down: float = math.pi / 2, roll: float = 0.0) -> Quaternion:
    """A hand that points along a yaw and so far below the horizon, turned about where it points.

    Without a roll its fingers open horizontally, at a right angle to the yaw.
    """
    return multiply(multiply(yaw_rotation(yaw), turn((0, 1, 0), math.pi / 2 + down)), turn((0, 0, 1), roll))


def down(x: float, y: float, z: float, yaw: float = 0.0) -> Pose:
    """A hand that points down, its fingers opening along y turned by the yaw."""
    return Pose((x, y, z), aim(yaw))


HOME = Pose((0.278, 0.0, 0.72), aim(0.0, math.radians(80)))


class Robot(Protocol):
    """What carries the hand. It is added to a scene first."""

    def add_to(self, scene: Scene) -> None: ...

    def start(self, world: MujocoWorld, home: Pose) -> None:
        """Stand still at home."""
        ...

    def way(self, world: MujocoWorld, target: Pose, *, ignore_collisions: bool) -> list[Any]:
        """The set points from here to a pose; raises Unreachable."""
        ...

    def aim(self, world: MujocoWorld, point: Any) -> None:
        """Make this the set point."""
        ...

    def aimed(self) -> Pose:
        """Where the set point has the hand."""
        ...

    def nudge(self, target: Pose, count: int) -> list[Any]:
        """So many set points to a pose close by; where the hand cannot go it stays."""
        ...


def add_hand(scene: Scene, body: Any) -> None:
    """The gripper and its camera on a body whose frame is the tip's."""
    mj, spec = scene.mj, scene.spec
    looks = (
        ("box", (0.032, 0.098, 0.030), (0, 0, -0.095), WHITE),
        ("cylinder", (0.045, 0.018), (0, 0, -0.140), WHITE),
        ("box", (0.025, 0.085, 0.004), (0, 0, -0.063), DARK),
    )
    touch: dict[str, Any] = {"contype": ROBOT_BIT, "conaffinity": 0}
    for shape, half, pos, rgb in looks:
        scene.shape(body, shape, half, pos=pos, rgb=rgb, mass=HAND_KG / 3, **touch)  # type: ignore[arg-type]
    for name, side in zip(FINGERS, (1, -1), strict=True):
        finger = body.add_body(name=name, gravcomp=1)
        scene.slide(finger, name, (0, side, 0), range=(0, FINGER_M), limited=True, damping=(20, 0, 0))
        pad: dict[str, Any] = {"friction": friction(FINGER_FRICTION), "mass": FINGER_KG / 2, **touch}
        scene.shape(finger, "box", (0.010, 0.005, 0.017), pos=(0, side * 0.005, -0.010), rgb=DARK, **pad)
        scene.shape(finger, "box", (0.010, 0.008, 0.017), pos=(0, side * 0.008, -0.044), rgb=WHITE, **pad)
    fingers = spec.add_equality(type=mj.mjtEq.mjEQ_JOINT, name1=FINGERS[1], name2=FINGERS[0], solref=(0.005, 1))
    fingers.data[:5] = 0, 1, 0, 0, 0
    motor = spec.add_actuator(name="grip", target=FINGERS[0], trntype=mj.mjtTrn.mjTRN_JOINT)
    motor.set_to_position(kp=FINGER_N_M)
    motor.forcerange, motor.forcelimited = (-GRIP_N, GRIP_N), True
    body.add_geom(
        name=GRASP_ZONE,
        type=mj.mjtGeom.mjGEOM_BOX,
        size=GRASP_HALF_M,
        pos=(0, 0, -GRASP_HALF_M[2]),
        contype=0,
        conaffinity=0,
        group=4,
        mass=0,
    )
    scene.camera("wrist", WRIST, body)


def straight(start: Pose, end: Pose) -> list[Pose]:
    """Poses on the straight way, one every `POINT_S`, that speed up and slow down."""
    away = math.dist(start.position, end.position)
    inner = min(abs(sum(a * b for a, b in zip(start.rotation, end.rotation, strict=True))), 1.0)
    seconds = max(1.5 * away / SPEED_M_S, 1.5 * 2 * math.acos(inner) / TURN_RAD_S, SHORTEST_S)
    count = math.ceil(seconds / POINT_S)
    return [between(start, end, eased(number / count)) for number in range(1, count + 1)]


def eased(share: float) -> float:
    return share * share * (3 - 2 * share)


def between(start: Pose, end: Pose, share: float) -> Pose:
    """A pose on the straight way, turned along the shorter arc."""
    a, b = np.array(start.rotation), np.array(end.rotation)
    inner = float(a @ b)
    if inner < 0:
        b, inner = -b, -inner
    angle = math.acos(min(inner, 1.0))
    if angle > 1e-6:
        b = (math.sin((1 - share) * angle) * a + math.sin(share * angle) * b) / math.sin(angle)
    x, y, z = ((1 - share) * p + share * q for p, q in zip(start.position, end.position, strict=True))
    qx, qy, qz, qw = (b / np.linalg.norm(b)).tolist()
    return Pose((x, y, z), (qx, qy, qz, qw))


@dataclass
class Floating:
    """Carries the hand by a weld to a target that moves: the fast way, with no arm."""

    _now: Pose = HOME

    def add_to(self, scene: Scene) -> None:
        target = scene.ground.add_body(name="target", mocap=True)
        hand = scene.body(HAND, (0.0, 0.0, 0.0), free=True, gravcomp=1)
        add_hand(scene, hand)
        weld = scene.spec.add_equality(
            type=scene.mj.mjtEq.mjEQ_WELD, objtype=scene.mj.mjtObj.mjOBJ_BODY, solref=(0.012, 1)
        )
        weld.name1, weld.name2 = HAND, target.name
        weld.data[:11] = 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1

    def start(self, world: MujocoWorld, home: Pose) -> None:
        x, y, z, w = home.rotation
        world.data.qpos[:7] = *home.position, w, x, y, z
        self.aim(world, home)

    def way(self, world: MujocoWorld, target: Pose, *, ignore_collisions: bool) -> list[Pose]:
        return straight(self._now, target)

    def aimed(self) -> Pose:
        return self._now

    def nudge(self, target: Pose, count: int) -> list[Pose]:
        return [between(self._now, target, number / count) for number in range(1, count + 1)]

    def aim(self, world: MujocoWorld, point: Pose) -> None:
        self._now = point
        x, y, z, w = point.rotation
        world.data.mocap_pos[0] = point.position
        world.data.mocap_quat[0] = w, x, y, z


def finger_way(start: float, end: float) -> Iterator[float]:
    """Openings (0..1) from one to another, one every `POINT_S`."""
    count = max(math.ceil(abs(end - start) * FINGER_S / POINT_S), 1)
    return (start + (end - start) * number / count for number in range(1, count + 1))
