"""Where in a picture it matters: a coarse grid of patches first, then finer ones where there was an effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_vla.explain.interventions import Box

COARSE = 8  # cells along the shorter side of a picture
FINEST = 128  # the same, at the end
LEAST_PX = 2
SHARE = 0.02  # of the largest effect: a patch with less is not looked into
ROWS = 640  # patches of a moment, over all cameras

Place = tuple[str, Box]  # camera, box
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cell:
    """A patch and its effect."""

    camera: str
    box: Box
    effect: float


def grid(size: tuple[int, int], patch: int, stride: int | None = None) -> list[Box]:
    """Patches of so many pixels from the upper left; at the right and lower edge they are cut off."""
    height, width = size
    step = stride or patch
    return [
        (x, y, min(x + patch, width), min(y + patch, height))
        for y in range(0, height, step)
        for x in range(0, width, step)
    ]


def plain(
    sizes: Mapping[str, tuple[int, int]], ask: Callable[[Sequence[Place]], Floats], patch: int, stride: int | None
) -> list[Cell]:
    """One grid over every camera, all in one go."""
    places = [(camera, box) for camera, size in sizes.items() for box in grid(size, patch, stride)]
    return _cells(places, ask(places))


def refined(
    sizes: Mapping[str, tuple[int, int]], ask: Callable[[Sequence[Place]], Floats], rows: int = ROWS, finest: int = 0
) -> tuple[list[Cell], list[Cell]]:
    """The coarse grid, and the cells that it became: each where it matters in four, the largest effects first."""
    places = [(camera, box) for camera, size in sizes.items() for box in grid(size, coarse_px(size))]
    leaves = coarse = _cells(places, ask(places))
    least = {camera: finest or max(LEAST_PX, min(size) // FINEST) for camera, size in sizes.items()}
    left = rows - len(places)
    while left >= 4:
        worth = SHARE * max(cell.effect for cell in leaves)
        split = [
            cell
            for cell in sorted(leaves, key=lambda each: -each.effect)
            if cell.effect > max(worth, 0.0) and _side(cell.box) >= 2 * least[cell.camera]
        ][: left // 4]
        if not split:
            break
        finer = [(cell.camera, box) for cell in split for box in quarters(cell.box)]
        chosen = {(cell.camera, cell.box) for cell in split}
        leaves = [cell for cell in leaves if (cell.camera, cell.box) not in chosen] + _cells(finer, ask(finer))
        left -= len(finer)
    return coarse, leaves


def coarse_px(size: tuple[int, int]) -> int:
    """The side of a first patch: a power of two, so that it can be halved."""
    side = max(min(size) // COARSE, LEAST_PX)
    return int(2 ** np.ceil(np.log2(side)))


def quarters(box: Box) -> list[Box]:
    x0, y0, x1, y1 = box
    x, y = (x0 + x1 + 1) // 2, (y0 + y1 + 1) // 2
    parts = [(x0, y0, x, y), (x, y0, x1, y), (x0, y, x, y1), (x, y, x1, y1)]
    return [part for part in parts if part[0] < part[2] and part[1] < part[3]]


def heat(cells: Sequence[Cell], camera: str, size: tuple[int, int]) -> Floats:
    """Effect a pixel: what a patch has is spread over it; where patches overlap, their mean."""
    total, count = np.zeros(size), np.zeros(size)
    for cell in cells:
        if cell.camera == camera:
            x0, y0, x1, y1 = cell.box
            total[y0:y1, x0:x1] += max(cell.effect, 0.0) / ((x1 - x0) * (y1 - y0))
            count[y0:y1, x0:x1] += 1
    return total / np.maximum(count, 1)


def _cells(places: Sequence[Place], effects: Floats) -> list[Cell]:
    return [Cell(camera, box, float(effect)) for (camera, box), effect in zip(places, effects, strict=True)]


def _side(box: Box) -> int:
    return min(box[2] - box[0], box[3] - box[1])
