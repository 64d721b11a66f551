"""How the table is seen: the cameras `front` (fixed) and `wrist` (on the carriage), the lamp, and edits to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .edits import CameraEdit, LightEdit, SceneEdits
from .scene import Vector

Array = NDArray[np.float64]

IMAGE_PX = 256
CAMERAS = ("front", "wrist")
LAMP_AZIMUTH_DEG, LAMP_ELEVATION_DEG = 125.0, 60.0


def _vector(array: Array) -> Vector:
    x, y, z = (float(v) for v in array)
    return x, y, z


@dataclass(frozen=True, slots=True)
class View:
    """A camera in the frame of what carries it: where it is, its axes in the image (right, up), its field of view."""

    position: Vector
    right: Vector
    up: Vector
    fovy_deg: float

    @property
    def forward(self) -> Vector:
        return _vector(np.cross(self.up, self.right))


def looking_at(position: Vector, point: Vector, fovy_deg: float) -> View:
    """A level camera at a position that has a point in the middle of its picture."""
    forward = np.subtract(point, position)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    up = np.cross(right, forward / np.linalg.norm(forward))
    return View(position, _vector(right), _vector(up), fovy_deg)


FRONT = looking_at((0.0, -0.30, 0.44), (0.0, 0.0, 0.0), 45.0)
WRIST = looking_at((0.0, -0.080, 0.125), (0.0, 0.002, 0.0), 62.0)


def views(edits: SceneEdits) -> dict[str, View]:
    """Both cameras as an edit leaves them; the very same views when it leaves them alone."""
    return {"front": _edited(FRONT, edits.front, (0.0, 0.0, 0.0)), "wrist": _edited(WRIST, edits.wrist, None)}


def lamp(edit: LightEdit) -> Vector:
    """The unit vector from the table to the lamp."""
    azimuth = math.radians(LAMP_AZIMUTH_DEG + edit.azimuth_deg)
    elevation = math.radians(LAMP_ELEVATION_DEG + edit.elevation_deg)
    flat = math.cos(elevation)
    return flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(elevation)


def _edited(view: View, edit: CameraEdit, centre: Vector | None) -> View:
    """Turn a camera about a centre (None: about itself), roll it, move it."""
    if edit == CameraEdit():
        return view
    turn = _about((0.0, 0.0, 1.0), edit.yaw_deg) @ _about(view.right, edit.pitch_deg)
    pivot = np.asarray(view.position if centre is None else centre)
    position = pivot + turn @ (np.asarray(view.position) - pivot) + edit.shift_m
    roll = turn @ _about(view.forward, edit.roll_deg)
    return View(_vector(position), _vector(roll @ view.right), _vector(roll @ view.up), view.fovy_deg + edit.fov_deg)


def _about(axis: Vector, angle_deg: float) -> Array:
    """The matrix of a turn about an axis."""
    x, y, z = axis
    cos, sin = math.cos(math.radians(angle_deg)), math.sin(math.radians(angle_deg))
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) * cos + sin * cross + (1 - cos) * np.outer(axis, axis)
