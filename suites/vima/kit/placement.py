"""Free places on the table, found on an occupancy grid instead of in a picture.

The rule is the specification's: a place is free for an object when no occupied cell lies in the square around it whose
side is the diagonal of the object's nominal size; among the free cells one is drawn uniformly. An object may reach out
of that square (`square` and `pan` do), so the box around it, turned as it is, must be free too: nothing overlaps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.draw import Redraw
from pytest_vla.kit.layout import Spot

from ..meshes import footprint_polygon
from ..objects import OBJECTS
from .scene import WORKSPACE_X_M, WORKSPACE_Y_M, Look, Thing

CELL_M = 0.003125
ROWS = round((WORKSPACE_X_M[1] - WORKSPACE_X_M[0]) / CELL_M)
COLUMNS = round((WORKSPACE_Y_M[1] - WORKSPACE_Y_M[0]) / CELL_M)
CLEAR_GAP_M = 0.01

_X = WORKSPACE_X_M[0] + (np.arange(ROWS) + 0.5) * CELL_M
_Y = WORKSPACE_Y_M[0] + (np.arange(COLUMNS) + 0.5) * CELL_M


_BORDER = np.ones((ROWS, COLUMNS), dtype=bool)
_BORDER[1:-1, 1:-1] = False


class NoRoom(Redraw):
    """The table is too full for another object; the episode is drawn again."""


def free_spot(rng: np.random.Generator, look: Look, yaw: float, things: Iterable[Thing]) -> Spot:
    """A place for `look`, turned by `yaw`, among things: uniform over all there are."""
    return draw_spot(rng, free_cells(look, yaw, things, nominal_size(rng, look.shape)))


def nominal_size(rng: np.random.Generator, shape: str) -> Spot:
    """The size that placement reckons with; some objects have a range of it."""
    low, high = OBJECTS[shape].size_low, OBJECTS[shape].size_high
    if low == high:
        return low[0], low[1]
    share = float(rng.uniform())
    return low[0] + share * (high[0] - low[0]), low[1] + share * (high[1] - low[1])


def draw_spot(rng: np.random.Generator, free: NDArray[np.bool_]) -> Spot:
    cells = np.flatnonzero(free)
    if not len(cells):
        raise NoRoom
    row, column = divmod(int(cells[int(rng.integers(len(cells)))]), COLUMNS)
    return float(_X[row]), float(_Y[column])


def free_cells(look: Look, yaw: float, things: Iterable[Thing], size: Spot) -> NDArray[np.bool_]:
    """Which cells could hold the centre of an object of that nominal size."""
    occupied = _BORDER.copy()
    far: NDArray[np.bool_] | None = None
    hollow = OBJECTS[look.shape].hollow
    for thing in things:
        _mark(occupied, thing)
        if hollow or OBJECTS[thing.look.shape].hollow:
            clear_m = clear_distance(size, OBJECTS[thing.look.shape].size_high)
            away = (_X[:, None] - thing.spot[0]) ** 2 + (_Y[None, :] - thing.spot[1]) ** 2 > clear_m**2
            far = away if far is None else far & away
    side = round(math.hypot(*size) / CELL_M)
    outline = _outline(look.shape, yaw)
    low, high = (
        [math.ceil(max(reach, 0.0) / CELL_M) for reach in reaches]
        for reaches in (-outline.min(axis=0), outline.max(axis=0))
    )
    before, after = side // 2, side - side // 2 - 1
    free = _clear(occupied, (before, before), (after, after))
    if max(low) > before or max(high) > after:
        free &= _clear(occupied, (low[0], low[1]), (high[0], high[1]))
    return free if far is None else free & far


def clear_distance(size: Sequence[float], other: Sequence[float]) -> float:
    """How far the centres of two nominal sizes stay apart where free cells alone would let one lie in the other."""
    return max(size[0] + other[0], size[1] + other[1]) / 2 + CLEAR_GAP_M


def _mark(occupied: NDArray[np.bool_], thing: Thing) -> None:
    """Occupy the cells whose centre lies in the thing's convex outline."""
    rows, columns, inside = _covered(thing.look.shape, thing.yaw, thing.spot)
    occupied[rows, columns] |= inside


@lru_cache(maxsize=32)
def _covered(shape: str, yaw: float, spot: Spot) -> tuple[slice, slice, NDArray[np.bool_]]:
    """Rows, columns, and which cells in them a thing covers; it is asked for again with every thing that follows."""
    outline = _outline(shape, yaw) + np.asarray(spot)
    (low_x, low_y), (high_x, high_y) = outline.min(axis=0), outline.max(axis=0)
    rows, columns = slice(*_X.searchsorted((low_x, high_x))), slice(*_Y.searchsorted((low_y, high_y)))
    x, y = _X[rows, None], _Y[None, columns]
    a = outline[:, :, None, None]
    way = np.concatenate((outline[1:], outline[:1]))[:, :, None, None] - a
    return rows, columns, (way[:, 0] * (y - a[:, 1]) - way[:, 1] * (x - a[:, 0]) >= 0).all(axis=0)


@lru_cache(maxsize=8)
def _outline(shape: str, yaw: float) -> NDArray[np.float64]:
    """The convex outline of a turned shape around its own origin; asked for before it has a place and after."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.asarray(footprint_polygon(shape) @ np.array([[cos, sin], [-sin, cos]]))


def _clear(occupied: NDArray[np.bool_], before: tuple[int, int], after: tuple[int, int]) -> NDArray[np.bool_]:
    """Cells around which nothing is occupied, so many cells before and after it along both axes.

    The border is always occupied, so a box that sticks out of the grid is not clear.
    """
    rows, columns = before[0] + after[0] + 1, before[1] + after[1] + 1
    result = np.zeros((ROWS, COLUMNS), dtype=bool)
    if rows <= ROWS and columns <= COLUMNS:
        taken = _any_of(_any_of(occupied, rows).T, columns).T
        result[before[0] : before[0] + len(taken), before[1] : before[1] + taken.shape[1]] = ~taken
    return result


def _any_of(lines: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
    """From each line on, what is true in any of so many lines: windows of twice the width from two of the last."""
    known = 1
    while known < width:
        more = min(known, width - known)
        lines = lines[:-more] | lines[more:]
        known += more
    return lines
