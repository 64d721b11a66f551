"""Everything with a pattern, painted by code: the board with its lines and numbers, tables, stones, goal pictures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from pytest_vla.kit.images import Image
from pytest_vla.kit.patterns import PATTERNS, Field, as_image, grid, painted
from pytest_vla.sim.pose import Vector

from .board import BOARD_M, POSITIONS, SIZE, STONE_RADIUS_M, Position, spot_of
from .scene import Colour

BOARD_PX = 512
TABLE_PX = 512
STONE_PX = 64
LINE_M = 0.0018
DOT_M = 0.0035
NUMBER_M = 0.098  # how far from the centre the rows' and columns' numbers stand
INK: Vector = (0.10, 0.07, 0.05)
BOARD_COLOUR: Vector = (0.86, 0.68, 0.42)
TABLE_COLOUR: Vector = (0.55, 0.60, 0.58)
STONE_COLOURS: Mapping[Colour, Vector] = {"black": (0.06, 0.06, 0.07), "white": (0.95, 0.95, 0.92)}

# The digits 0 to 4, five dots wide and seven high, a row in five bits.
DIGITS = (
    (0x0E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E),
    (0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E),
    (0x0E, 0x11, 0x01, 0x06, 0x08, 0x10, 0x1F),
    (0x1E, 0x01, 0x01, 0x0E, 0x01, 0x01, 0x1E),
    (0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02),
)
DOT_PX = 4


TABLE_TEXTURES = ("plain", "felt", "wood", "planks", "marble", "stripes", "checker")
BOARD_TEXTURES = ("wood", "plain", "planks", "marble")
STONE_TEXTURES = ("plain", "speckles", "stripes")


@lru_cache(maxsize=16)
def table_image(texture: str, colour: Vector | None) -> Image:
    return painted(PATTERNS[texture](TABLE_PX), colour or TABLE_COLOUR)


@lru_cache(maxsize=8)
def stone_image(texture: str) -> Image:
    """A pattern that the stone's colour is multiplied with."""
    return painted(PATTERNS[texture](STONE_PX), (1.0, 1.0, 1.0))


@lru_cache(maxsize=16)
def board_image(texture: str, colour: Vector | None, side: int = BOARD_PX) -> Image:
    """The board from above, row 0 at the top: five lines each way, the middle marked, rows and columns numbered."""
    image = painted(PATTERNS[texture](side), colour or BOARD_COLOUR) / 255
    x, y = _metres(side)
    reach = spot_of((0, SIZE - 1))[0] + LINE_M / 2
    for line, _ in (spot_of((0, column)) for column in range(SIZE)):
        image[(np.abs(x - line) <= LINE_M / 2) & (np.abs(y) <= reach)] = INK
        image[(np.abs(y - line) <= LINE_M / 2) & (np.abs(x) <= reach)] = INK
    image[np.hypot(x, y) <= DOT_M] = INK
    for number in range(SIZE):
        _write(image, number, (spot_of((0, number))[0], NUMBER_M))
        _write(image, number, (-NUMBER_M, spot_of((number, 0))[1]))
    return as_image(image)


def goal_picture(stones: Mapping[Position, Colour], side: int = 256) -> Image:
    """A board from above with these stones on it."""
    image = board_image("wood", None, 2 * side).reshape(side, 2, side, 2, 3).mean(axis=(1, 3)) / 255
    x, y = _metres(side)
    for position in POSITIONS:
        if position in stones:
            dx, dy = x - spot_of(position)[0], y - spot_of(position)[1]
            away = np.hypot(dx, dy) / STONE_RADIUS_M
            light = np.clip(1.08 - 0.25 * np.hypot(dx + 0.003, dy - 0.003) / STONE_RADIUS_M, 0.0, 1.0)
            rim = 0.0 if stones[position] == "black" else 0.25
            shade = light * np.where(away > 0.9, 1 - rim, 1.0)
            glow = 0.25 * np.clip(light - 0.8, 0, 1) if stones[position] == "black" else np.zeros_like(light)
            inside = away <= 1.0
            image[inside] = (shade[..., None] * STONE_COLOURS[stones[position]] + glow[..., None])[inside]
    return as_image(image)


def _metres(side: int) -> tuple[Field, Field]:
    across, down = grid(side)
    return (across - 0.5) * BOARD_M, (0.5 - down) * BOARD_M


def _write(image: Field, digit: int, centre: tuple[float, float]) -> None:
    """One digit in ink, its middle at a point of the board."""
    side = len(image)
    dots = np.array([[row >> (4 - bit) & 1 for bit in range(5)] for row in DIGITS[digit]], dtype=bool)
    size = DOT_PX * side // BOARD_PX
    ink = np.kron(dots, np.ones((size, size), dtype=bool))
    top = round((0.5 - centre[1] / BOARD_M) * side - ink.shape[0] / 2)
    left = round((0.5 + centre[0] / BOARD_M) * side - ink.shape[1] / 2)
    image[top : top + ink.shape[0], left : left + ink.shape[1]][ink] = INK
