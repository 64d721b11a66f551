"""Pictures drawn into arrays: dots, blocks and shapes whose meaning is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Rgb = tuple[int, int, int]

SIDE = 96  # px
COLOURS: Mapping[str, Rgb] = {
    "red": (200, 40, 40),
    "orange": (230, 130, 30),
    "yellow": (225, 210, 60),
    "green": (50, 150, 60),
    "cyan": (60, 190, 200),
    "blue": (40, 80, 200),
    "purple": (140, 60, 180),
    "brown": (120, 80, 40),
}
SHAPES = ("circle", "square", "triangle", "cross", "ring")
_ROWS, _COLUMNS = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32)


def blank(grey: int = 235) -> Image:
    return np.full((SIDE, SIDE, 3), grey, np.uint8)


def disc(image: Image, x: float, y: float, radius: float, colour: Rgb) -> None:
    image[(_COLUMNS - x) ** 2 + (_ROWS - y) ** 2 <= radius**2] = colour


def block(image: Image, x: float, y: float, half: float, colour: Rgb) -> None:
    left, right, top, bottom = (round(v) for v in (x - half, x + half, y - half, y + half))
    image[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = colour


def shape(image: Image, kind: str, x: float, y: float, radius: float, colour: Rgb) -> None:
    """One of SHAPES around a point."""
    across, down = _COLUMNS - x, _ROWS - y
    distance = across**2 + down**2
    inside = {
        "circle": distance <= radius**2,
        "ring": (distance <= radius**2) & (distance >= (0.6 * radius) ** 2),
        "square": np.maximum(abs(across), abs(down)) <= 0.85 * radius,
        "cross": (np.minimum(abs(across), abs(down)) <= 0.28 * radius) & (np.maximum(abs(across), abs(down)) <= radius),
        "triangle": (down <= 0.8 * radius) & (abs(across) <= (down + radius) * 0.55),
    }[kind]
    image[inside] = colour


def grid(columns: int, rows: int, things: Sequence[tuple[int, int, str, Rgb]]) -> Image:
    """A board with things on its squares: (column, row, shape, colour)."""
    image = blank(210)
    size = SIDE / max(columns, rows)
    for line in range(1, max(columns, rows)):
        at = int(line * size)
        image[at, :], image[:, at] = 180, 180
    for column, row, kind, colour in things:
        shape(image, kind, (column + 0.5) * size, (row + 0.5) * size, 0.4 * size, colour)
    return image
