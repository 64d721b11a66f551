"""Keyframes as seven whole numbers, as X-ICM writes them: cells of a centimetre, bins of five degrees, open or not."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

LOW_M = np.array([-0.3, -0.5, 0.6])
CELL_M = 0.01
CELLS = 100
BIN_DEG = 5
BINS = 360 // BIN_DEG

Code = tuple[int, ...]
"""x, y and z in cells, three angles in bins, 1 for an open hand."""
HOME: Code = (57, 49, 87, 0, 39, 0, 1)
NUMBERS = len(HOME)


def cell_of(position: Sequence[float] | NDArray[np.floating]) -> Code:
    """The cell a place in the room is in; the last one holds all that is farther."""
    # A place that was rounded to just below the border of two cells is meant to be on it.
    cells = np.floor((np.asarray(position, np.float64) - LOW_M) / CELL_M + 1e-6).astype(int)
    return tuple(np.minimum(cells, CELLS - 1).tolist())


def encoded(keyframe: Sequence[float] | NDArray[np.floating]) -> Code:
    """The code of x, y, z (m), a quaternion x, y, z, w, and how far the hand is open."""
    values = np.asarray(keyframe, np.float64)
    rotation = values[3:7] if values[6] >= 0 else -values[3:7]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of two angles that turn about one axis, either will do
        degrees = Rotation.from_quat(rotation).as_euler("xyz", degrees=True)
    bins = np.round((degrees + 180) / BIN_DEG).astype(int) % BINS
    return (*cell_of(values[:3]), *bins.tolist(), int(values[7] > 0.5))


def decoded(code: Code) -> NDArray[np.float32]:
    """The action in the middle of a cell, which ignores collisions as all of X-ICM's do."""
    position = LOW_M + CELL_M * (np.array(code[:3], np.float64) + 0.5)
    degrees = BIN_DEG * np.array(code[3:6], np.float64) - 180
    rotation = Rotation.from_euler("xyz", degrees, degrees=True).as_quat()
    return np.array([*position, *rotation, float(code[6] > 0), 1.0], np.float32)
