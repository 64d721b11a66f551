"""How edits change what is seen: cameras that are turned and shifted, and the lamp."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.edits import IN_PLACE, CameraEdit, LightEdit
from pytest_vla.sim.pose import Vector
from pytest_vla.sim.view import View, vector

Array = NDArray[np.float64]

LAMP_AZIMUTH_DEG, LAMP_ELEVATION_DEG = 125.0, 60.0


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


def _about(axis: Vector, angle_deg: float) -> Array:
    """The matrix of a turn about an axis."""
    x, y, z = axis
    cos, sin = math.cos(math.radians(angle_deg)), math.sin(math.radians(angle_deg))
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) * cos + sin * cross + (1 - cos) * np.outer(axis, axis)
