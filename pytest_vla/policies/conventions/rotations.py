"""Rotations in the forms that suites and policies give them, by way of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.policies.conventions.declared import EULER

Matrix = NDArray[np.float64]


def to_matrix(numbers: Any, form: str) -> Matrix:
    """The rotation that the numbers of a form stand for; what is nearly a rotation is taken as the nearest one."""
    values = np.asarray(numbers, np.float64)
    if form == "quaternion_xyzw":
        return _of_quaternion(values)
    if form == "quaternion_wxyz":
        return _of_quaternion(values[[1, 2, 3, 0]])
    if form == "axis_angle":
        angle = float(np.linalg.norm(values))
        half = math.sin(angle / 2) / angle if angle > 1e-12 else 0.5
        return _of_quaternion(np.array([*(half * values), math.cos(angle / 2)]))
    if form == "rot6d":
        first = _unit(values[:3])
        second = _unit(values[3:] - (first @ values[3:]) * first)
        return np.stack([first, second, np.cross(first, second)], axis=1)
    i, j, k, angles = *_order(form), values if form[6:].islower() else values[::-1]
    return _about(k, angles[2]) @ _about(j, angles[1]) @ _about(i, angles[0])


def from_matrix(matrix: Matrix, form: str) -> NDArray[np.float64]:
    """The numbers of a form for a rotation; of the two quaternions of a rotation the one with w >= 0."""
    if form == "rot6d":
        return np.concatenate([matrix[:, 0], matrix[:, 1]])
    if form in EULER:
        i, j, k = _order(form)
        sign = 1.0 if (i, j, k) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
        middle = math.asin(float(np.clip(-sign * matrix[k, i], -1.0, 1.0)))
        if abs(matrix[k, i]) < 1 - 1e-9:
            first = math.atan2(sign * matrix[k, j], matrix[k, k])
            last = math.atan2(sign * matrix[j, i], matrix[i, i])
        else:  # two of the angles turn about one axis: all of it is given to the first
            first, last = math.atan2(-sign * matrix[j, k], matrix[j, j]), 0.0
        angles = np.array([first, middle, last])
        return angles if form[6:].islower() else angles[::-1]
    x, y, z, w = _quaternion(matrix)
    if form == "quaternion_wxyz":
        return np.array([w, x, y, z])
    if form == "quaternion_xyzw":
        return np.array([x, y, z, w])
    length = math.sqrt(x * x + y * y + z * z)
    scale = 2 * math.atan2(length, w) / length if length > 1e-12 else 2.0
    return np.array([x, y, z]) * scale


def _order(form: str) -> tuple[int, int, int]:
    """The fixed axes in turn; turning about a body's own axes is the same in the other order."""
    letters = form[6:] if form[6:].islower() else form[6:][::-1].lower()
    i, j, k = ("xyz".index(letter) for letter in letters)
    return i, j, k


def _about(axis: int, angle: float) -> Matrix:
    c, s = math.cos(angle), math.sin(angle)
    matrix, (a, b) = np.eye(3), [(1, 2), (2, 0), (0, 1)][axis]
    matrix[a, a], matrix[a, b], matrix[b, a], matrix[b, b] = c, -s, s, c
    return matrix


def _of_quaternion(xyzw: Any) -> Matrix:
    x, y, z, w = _unit(xyzw) if np.linalg.norm(xyzw) > 1e-9 else (0.0, 0.0, 0.0, 1.0)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def _quaternion(m: Matrix) -> NDArray[np.float64]:
    """By the largest of the four numbers, which loses no digits."""
    squares = np.array([m[0, 0] - m[1, 1] - m[2, 2], m[1, 1] - m[0, 0] - m[2, 2], m[2, 2] - m[0, 0] - m[1, 1]])
    candidates = np.array([*(1 + squares), 1 + m[0, 0] + m[1, 1] + m[2, 2]])
    largest = int(candidates.argmax())
    off = np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
    if largest == 3:
        found = np.array([*off, candidates[3]])
    else:
        found = np.array([*((m + m.T)[largest]), off[largest]])
        found[largest] = candidates[largest]
    found = _unit(found)
    return -found if found[3] < 0 else found


def _unit(vector: Any) -> NDArray[np.float64]:
    length = float(np.linalg.norm(vector))
    return np.asarray(vector, np.float64) / (length if length > 1e-12 else 1.0)
