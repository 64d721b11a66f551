"""How a scene is seen: cameras that look at a point, the lamp, and edits to both."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.edits import IN_PLACE, CameraEdit, LightEdit
from pytest_vla.sim.pose import Vector

Array = NDArray[np.float64]

LAMP_AZIMUTH_DEG, LAMP_ELEVATION_DEG = 125.0, 60.0


@dataclass(frozen=True, slots=True)
class View:
    """A camera in the frame of what carries it: where it is, its axes in the image (right, up), its field of view."""

    position: Vector
    right: Vector
    up: Vector
    fovy_deg: float

    @property
    def forward(self) -> Vector:
        return vector(np.cross(self.up, self.right))


def looking_at(position: Vector, point: Vector, fovy_deg: float) -> View:
    """A level camera at a position that has a point in the middle of its picture."""
    forward = np.subtract(point, position)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    up = np.cross(right, forward / np.linalg.norm(forward))
    return View(position, vector(right), vector(up), fovy_deg)


def edited(view: View, edit: CameraEdit, centre: Vector | None = None) -> View:
    """The view as an edit leaves it, turned about a centre (None: about itself); the very same one when neutral."""
    if edit == IN_PLACE:
        return view
    turn = turn_of(edit, view.right)
    position = turned_about(view.position if centre is None else centre, view.position, turn, edit.shift_m)
    roll = turn @ _about(view.forward, edit.roll_deg)
    return View(position, vector(roll @ view.right), vector(roll @ view.up), view.fovy_deg + edit.fov_deg)


def turn_of(edit: CameraEdit, right: Vector) -> Array:
    """The matrix of an edit's yaw and pitch, for a camera with that axis in its image."""
    return _about((0.0, 0.0, 1.0), edit.yaw_deg) @ _about(right, edit.pitch_deg)


def turned_about(pivot: Vector, position: Vector, turn: Array, shift_m: Vector) -> Vector:
    """Where a position comes to lie when it is turned about a pivot and then shifted."""
    return vector(np.asarray(pivot) + turn @ np.subtract(position, pivot) + shift_m)


def lamp(edit: LightEdit) -> Vector:
    """The unit vector from the table to the lamp."""
    azimuth = math.radians(LAMP_AZIMUTH_DEG + edit.azimuth_deg)
    elevation = math.radians(LAMP_ELEVATION_DEG + edit.elevation_deg)
    flat = math.cos(elevation)
    return flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(elevation)


def vector(array: Array) -> Vector:
    x, y, z = (float(v) for v in array)
    return x, y, z


def _about(axis: Vector, angle_deg: float) -> Array:
    """The matrix of a turn about an axis."""
    x, y, z = axis
    cos, sin = math.cos(math.radians(angle_deg)), math.sin(math.radians(angle_deg))
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) * cos + sin * cross + (1 - cos) * np.outer(axis, axis)
