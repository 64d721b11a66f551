"""The oracle's hand: how to bring a thing to a goal in the suite's own action space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from pytest_vla.kit.goals import At, StagedJudge
from pytest_vla.kit.layout import Spot
from pytest_vla.sim.pose import IDENTITY, Pose, Quaternion, yaw_rotation

from ..meshes import collision_parts
from .scene import WORKSPACE_X_M, WORKSPACE_Y_M, Instance, Look, TableState


@dataclass(frozen=True, slots=True)
class Move:
    """One action: pick (or touch down) here, place (or push) there. Only the turn between the two matters."""

    start: Spot
    end: Spot
    start_rotation: Quaternion = IDENTITY
    end_rotation: Quaternion = IDENTITY

    def action(self) -> dict[str, np.ndarray]:
        """The action of the environment's space, clipped into its bounds."""
        return {
            "pose0_position": _clipped(self.start),
            "pose0_rotation": np.asarray(self.start_rotation, dtype=np.float32),
            "pose1_position": _clipped(self.end),
            "pose1_rotation": np.asarray(self.end_rotation, dtype=np.float32),
        }


def next_goal(instance: Instance, state: TableState) -> Move | None:
    """Bring the first open goal's thing to its place; None when nothing is left to do."""
    judge = instance.judge
    assert isinstance(judge, StagedJudge), "a task with its own judge brings its own plan"
    goals = judge.open_goals()
    return reach(goals[0], instance, state) if goals else None


def reach(goal: At, instance: Instance, state: TableState) -> Move:
    pose = state[goal.thing]
    turn = 0.0 if goal.yaw is None else goal.yaw - pose.yaw
    return carry(look_of(instance, goal.thing), pose, goal.spot, turn)


def carry(look: Look, pose: Pose, spot: Spot, turn_rad: float = 0.0) -> Move:
    """Pick a thing where a tip can hold it, and put its centre down at a spot, turned."""
    x, y, z = grasp_point(look.shape)
    pick = pose.apply((x * look.scale[0], y * look.scale[1], z * look.scale[2]))[:2]
    cos, sin = math.cos(turn_rad), math.sin(turn_rad)
    dx, dy = pose.position[0] - pick[0], pose.position[1] - pick[1]
    place = spot[0] - (cos * dx - sin * dy), spot[1] - (sin * dx + cos * dy)
    return Move(pick, place, IDENTITY, yaw_rotation(turn_rad))


def look_of(instance: Instance, label: str) -> Look:
    return next(thing.look for thing in instance.things if thing.label == label)


@cache
def grasp_point(shape: str) -> tuple[float, float, float]:
    """A point inside the solid, as near to the centre as its parts allow: a ring has nothing in the middle."""
    middles = [part.mean(axis=0) for part in collision_parts(shape)]
    x, y, z = min(middles, key=lambda point: (round(math.hypot(point[0], point[1]), 9), tuple(point)))
    return float(x), float(y), float(z)


def _clipped(spot: Spot) -> np.ndarray:
    (low_x, high_x), (low_y, high_y) = WORKSPACE_X_M, WORKSPACE_Y_M
    return np.array([min(max(spot[0], low_x), high_x), min(max(spot[1], low_y), high_y)], dtype=np.float32)
