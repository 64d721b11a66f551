"""Cameras without a simulator: where they are and what is right and up in their pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_vla.sim.pose import Vector


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


def vector(array: NDArray[np.float64]) -> Vector:
    x, y, z = (float(v) for v in array)
    return x, y, z
