"""Seamless patterns painted by code: shades 0..1 that any colour is multiplied with, and the brushes for more."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.images import Image
from pytest_vla.sim.pose import Vector

Field = NDArray[np.float64]
Pattern = Callable[[int], Field]


def painted(pattern: Field, colour: Vector) -> Image:
    """A colour in the shades of a pattern."""
    return as_image(pattern[..., None] * colour)


def as_image(canvas: Field) -> Image:
    """Colours 0..1 as bytes."""
    return np.rint(np.clip(canvas, 0.0, 1.0) * 255).astype(np.uint8)


# --- brushes ----------------------------------------------------------------------------------------------------------


def grid(side: int) -> tuple[Field, Field]:
    """Coordinates 0..1 of the pixel centres, across and down."""
    centres = (np.arange(side) + 0.5) / side
    across, down = np.meshgrid(centres, centres)
    return across, down


def smooth(knots: Field, at: Field) -> Field:
    """Seamless noise through a square of knots, looked at in some places (in knots) both across and down."""
    low = np.floor(at).astype(int)
    high, part = (low + 1) % len(knots), at - low
    part = part * part * (3 - 2 * part)
    rows = knots[low] * (1 - part[:, None]) + knots[high] * part[:, None]
    return np.asarray(rows[:, low] * (1 - part) + rows[:, high] * part)


def _noise(side: int, cells: int, seed: int) -> Field:
    """Smooth seamless noise -1..1."""
    knots = np.random.default_rng(seed).uniform(-1, 1, (cells, cells))
    return smooth(knots, np.arange(side) * cells / side)


# --- patterns ---------------------------------------------------------------------------------------------------------


def _plain(side: int) -> Field:
    return np.ones((side, side))


def _wood(side: int) -> Field:
    across, down = grid(side)
    rings = np.sin(2 * np.pi * (12 * across + 0.6 * _noise(side, 4, 1) + 0.1 * np.sin(2 * np.pi * down)))
    return 0.94 + 0.05 * rings + 0.02 * _noise(side, 64, 2)


def _checker(side: int) -> Field:
    across, down = grid(side)
    return np.where((np.floor(across * 16) + np.floor(down * 16)) % 2 == 0, 1.0, 0.72)


def _stripes(side: int) -> Field:
    across, down = grid(side)
    return np.where(np.floor((across + down) * 16) % 2 == 0, 1.0, 0.75)


def _marble(side: int) -> Field:
    across, _ = grid(side)
    veins = np.abs(np.sin(np.pi * (6 * across + 1.5 * _noise(side, 8, 3) + 0.6 * _noise(side, 32, 4))))
    return 0.72 + 0.28 * np.sqrt(veins)


def _felt(side: int) -> Field:
    return 0.92 + 0.08 * _noise(side, side // 2, 5)


def _planks(side: int) -> Field:
    _, down = grid(side)
    gaps = np.where(np.abs((down * 8) % 1 - 0.5) > 0.47, 0.55, 1.0)
    shades = 1 + 0.12 * np.sin(1 + 37.0 * np.floor(down * 8))
    return gaps * shades * _wood(side).T * 0.9


def _speckles(side: int) -> Field:
    return np.where(_noise(side, side // 4, 6) > 0.35, 0.72, 1.0)


PATTERNS: Mapping[str, Pattern] = {
    "plain": _plain,
    "felt": _felt,
    "wood": _wood,
    "planks": _planks,
    "marble": _marble,
    "stripes": _stripes,
    "checker": _checker,
    "speckles": _speckles,
}
