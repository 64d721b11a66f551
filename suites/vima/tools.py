"""The two end effectors, as bodies that move at a set speed: a suction tip picks and places, a spatula pushes.

There is no arm. The tool travels above everything, so an arm could never touch anything that
the tool does not. Every motion has a budget of simulator steps, and a descent ends at the floor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from pytest_vla.kit.layout import Spot
from pytest_vla.sim.bullet import STEP_HZ, BulletWorld, Watch
from pytest_vla.sim.meshes.mesh import cube_corners
from pytest_vla.sim.pose import Pose, Quaternion, Vector, inverse, multiply

TOOL = "tool"
FLOOR = "floor"
TOOL_START: Spot = (0.5, 0.0)
TOOL_MASS_KG = 10.0
HOVER_M = 0.32
PUSH_HOVER_M = 0.31
BLADE_HEIGHT_M = 0.007
PUSH_LEAD_M = 0.02  # the blade comes down this far before the start ...
PUSH_SHORT_M = 0.053  # ... and stops this far before the end
SWING_M = 0.008  # an arm comes down in an arc: from this much farther out ...
SWING_HEIGHT_M = 0.04  # ... at this height, so that the blade does not land on the block that it is to push
SWING_STEP_M = 0.002  # per simulator step, on that last part of the way down
PUSH_M = 0.0005  # per simulator step
CARRY_M = 0.006  # per simulator step, with something in hand
SLOW_M = 0.001  # per simulator step, near surfaces
TURN_RAD = 0.06  # per simulator step
NEAR_M = 0.004  # from here on a descent is slow
TOUCH_M = 0.0002
ARRIVED_M, ARRIVED_RAD = 1e-4, 1e-3
FLOOR_Z_M = -0.004  # no descent goes below
MAX_TILT_RAD = math.radians(60)


class InvalidAction(Exception):
    """A well-formed action that no arm could carry out; the text says why in one sentence."""


def upright_enough(rotation: np.ndarray, name: str) -> Quaternion:
    """The rotation as a unit quaternion, if a tool can be held like that."""
    norm = float(np.linalg.norm(rotation.astype(float)))
    if not math.isfinite(norm) or norm < 1e-3:
        raise InvalidAction(
            f"{name} {[round(float(v), 4) for v in rotation]} is no rotation: its length is {norm:.2g}."
        )
    x, y, z, w = (float(v) / norm for v in rotation)
    tilt = math.acos(min(max(1 - 2 * (x * x + y * y), -1.0), 1.0))
    if tilt > MAX_TILT_RAD:
        raise InvalidAction(
            f"{name} tilts the tool by {math.degrees(tilt):.0f} degrees from vertical, "
            f"the arm reaches {math.degrees(MAX_TILT_RAD):.0f}."
        )
    return x, y, z, w


@dataclass
class Gantry:
    """Moves the tool body, while a watch looks at what happens on the way."""

    world: BulletWorld
    watch: Watch | None = None
    pace: float = 1.0
    """How long everything takes, as a multiple."""

    def travel(self, position: Vector, rotation: Quaternion, speed_m: float) -> None:
        """A straight line with an even turn; what contacts left undone is made up for once, then the tool gives up."""
        for _ in range(2):
            pose = self.world.pose(TOOL)
            (to_x, to_y, to_z), (x, y, z) = position, pose.position
            way = (to_x - x, to_y - y, to_z - z)
            turn = _rotation_vector(multiply(rotation, inverse(pose.rotation)))
            length, angle = math.hypot(*way), math.hypot(*turn)
            if length < ARRIVED_M and angle < ARRIVED_RAD:
                break
            steps = math.ceil(self.pace * max(length / speed_m, angle / TURN_RAD))
            self.world.drive(TOOL, _times(way, STEP_HZ / steps), _times(turn, STEP_HZ / steps))
            self.world.run(steps, self.watch)
        self._stop()

    def jump(self, position: Vector, rotation: Quaternion) -> None:
        """Through air, where an empty tool meets nothing: it is there at once, and at rest."""
        self._stop()
        self.world.set_pose(TOOL, Pose(position, rotation))

    def descend(self, lowest: str, until: Callable[[], bool], floor_z: float, slow_above_m: float = NEAR_M) -> bool:
        """Straight down, fast through air, until `until()`; False when the floor came first.

        `lowest` is the body that arrives: the tool, or what it holds.
        """
        held = () if lowest == TOOL else (TOOL,)
        gap = self.world.bottom(lowest) - max(self.world.top_below(lowest, held), floor_z) - slow_above_m
        if gap > 0:
            pose = self.world.pose(TOOL)
            x, y, z = pose.position
            if lowest == TOOL:
                self.jump((x, y, z - gap), pose.rotation)
            else:
                self.travel((x, y, z - gap), pose.rotation, CARRY_M)
        self.world.drive(TOOL, (0.0, 0.0, -SLOW_M * STEP_HZ / self.pace))
        arrived = False
        for _ in range(math.ceil(self.pace * (HOVER_M + 0.1) / SLOW_M)):
            arrived = until()
            if arrived or self.world.bottom(lowest) < floor_z:
                break
            self.world.run(1, self.watch)
        self._stop()
        return arrived

    def _stop(self) -> None:
        self.world.drive(TOOL, (0.0, 0.0, 0.0))


@dataclass(frozen=True, slots=True)
class Suction:
    """A tip of 1 mm radius that holds what it touches."""

    RADIUS_M = 0.001
    LENGTH_M = 0.028

    def add(self, world: BulletWorld, start: Spot) -> None:
        pose = Pose((*start, HOVER_M + self.LENGTH_M / 2))
        world.add_cylinder(TOOL, self.RADIUS_M, self.LENGTH_M, pose, TOOL_MASS_KG)
        world.drive(TOOL, (0.0, 0.0, 0.0))

    def act(
        self,
        world: BulletWorld,
        action: dict[str, np.ndarray],
        movable: Collection[str],
        watch: Watch | None,
        pace: float = 1.0,
    ) -> None:
        """Pick at pose0, place at pose1. Only movable things can be held; the turn between the poses turns them."""
        gantry = Gantry(world, watch, pace)
        rotation0 = upright_enough(action["pose0_rotation"], "pose0_rotation")
        rotation1 = upright_enough(action["pose1_rotation"], "pose1_rotation")
        here = action["pose0_position"].tolist()
        gantry.jump(self._centre(here, rotation0), rotation0)
        held = self._pick(world, gantry, movable)
        if held is None:
            gantry.jump(self._centre(here, rotation0), rotation0)
            return
        grip = world.grip(TOOL, held)
        world.set_collision(TOOL, held, False)
        gantry.travel(self._centre(here, rotation0), rotation0, CARRY_M)
        there = action["pose1_position"].tolist()
        gantry.travel(self._centre(there, rotation1), rotation1, CARRY_M)
        gantry.descend(held, lambda: world.touches(held, TOUCH_M, ignore=TOOL), FLOOR_Z_M)
        world.release(grip)
        gantry.jump(self._centre(there, rotation1), rotation1)
        world.set_collision(TOOL, held, True)

    def _pick(self, world: BulletWorld, gantry: Gantry, movable: Collection[str]) -> str | None:
        if not gantry.descend(TOOL, lambda: world.touches(TOOL, TOUCH_M), FLOOR_Z_M):
            return None
        touched = sorted(world.contacts(TOOL, TOUCH_M), key=lambda contact: (contact.distance_m, contact.other))
        return next((contact.other for contact in touched if contact.other in movable), None)

    def _centre(self, spot: Spot, rotation: Quaternion) -> Vector:
        """Where the body's middle is when its tip hovers over a spot."""
        (x, y, z, w), half = rotation, self.LENGTH_M / 2
        right, ahead, up = 2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)  # the tool's own vertical
        return spot[0] + right * half, spot[1] + ahead * half, HOVER_M + up * half


def _box(x: float, y: float, z: float, centre_z: float) -> np.ndarray:
    return cube_corners() * (x / 2, y / 2, z / 2) + (0.0, 0.0, centre_z)


@dataclass(frozen=True, slots=True)
class Spatula:
    """A blade of 50 x 5 x 5 mm under a plate of 50 x 5 x 110 mm; it always stands across the way it pushes."""

    def add(self, world: BulletWorld, start: Spot) -> None:
        parts = (_box(0.05, 0.005, 0.005, 0.0), _box(0.05, 0.005, 0.11, 0.0575))
        world.add_solid(TOOL, TOOL, lambda: parts, Pose((*start, PUSH_HOVER_M)), mass_kg=TOOL_MASS_KG, friction=0.5)
        world.drive(TOOL, (0.0, 0.0, 0.0))

    def act(
        self,
        world: BulletWorld,
        action: dict[str, np.ndarray],
        movable: Collection[str],
        watch: Watch | None,
        pace: float = 1.0,
    ) -> None:
        """Push from pose0 to pose1 along the table; the two rotations say nothing here."""
        way = action["pose1_position"].astype(float) - action["pose0_position"].astype(float)
        length = float(np.linalg.norm(way))
        if length < 1e-6:
            raise InvalidAction("pose0_position and pose1_position are the same, so the push has no direction.")
        ahead = way / length
        turn = math.atan2(float(ahead[0]), -float(ahead[1]))
        rotation = (0.0, 0.0, math.sin(turn / 2), math.cos(turn / 2))
        start = action["pose0_position"].astype(float) - PUSH_LEAD_M * ahead
        end = action["pose1_position"].astype(float) - PUSH_SHORT_M * ahead
        outside = start * (1 + SWING_M / float(np.linalg.norm(start)))  # seen from the arm's base at the origin
        gantry = Gantry(world, watch, pace)
        gantry.jump((float(outside[0]), float(outside[1]), SWING_HEIGHT_M), rotation)
        gantry.travel((float(start[0]), float(start[1]), BLADE_HEIGHT_M), rotation, SWING_STEP_M)
        gantry.travel((float(end[0]), float(end[1]), BLADE_HEIGHT_M), rotation, PUSH_M)
        gantry.jump((float(end[0]), float(end[1]), PUSH_HOVER_M), rotation)


def _times(vector: Vector, factor: float) -> Vector:
    x, y, z = vector
    return x * factor, y * factor, z * factor


def _rotation_vector(rotation: Quaternion) -> Vector:
    """Axis times angle, the short way round."""
    x, y, z, w = rotation if rotation[3] >= 0 else tuple(-v for v in rotation)
    sine = math.sqrt(x * x + y * y + z * z)
    if sine < 1e-12:
        return 0.0, 0.0, 0.0
    return _times((x, y, z), 2 * math.atan2(sine, w) / sine)
