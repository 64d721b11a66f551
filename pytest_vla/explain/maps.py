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
SHARE = 0.02  # of the largest: a patch with less is not looked into
TOGETHER = 0.1  # of a patch's effect: where its quarters have less in all, it stays whole
ROWS = 900  # patches of a moment, over all cameras

Place = tuple[str, Box]  # camera, box
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cell:
    """A patch and its effect.

    The share is its part in the effect of the coarse patch that it came from: what a few pixels do by themselves says
    where it matters, not how much.
    """

    camera: str
    box: Box
    effect: float
    share: float


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
    """The coarse grid, and the cells that it became: each where it matters in four, the largest shares first."""
    places = [(camera, box) for camera, size in sizes.items() for box in grid(size, coarse_px(size))]
    leaves = coarse = _cells(places, ask(places))
    least = {camera: finest or max(LEAST_PX, min(size) // FINEST) for camera, size in sizes.items()}
    left, whole = rows - len(places), set[Place]()
    while left >= 4:
        worth = SHARE * max(cell.share for cell in leaves)
        open_ones = [cell for cell in leaves if cell.share > worth and (cell.camera, cell.box) not in whole]
        split = [cell for cell in open_ones if _side(cell.box) >= 2 * least[cell.camera]]
        split = sorted(split or _edges(leaves, open_ones, worth, least), key=lambda each: -each.share)[: left // 4]
        if not split:
            break
        finer = [quarters(cell.box) for cell in split]
        effects = iter(ask([(cell.camera, box) for cell, boxes in zip(split, finer, strict=True) for box in boxes]))
        left -= sum(map(len, finer))
        for cell, boxes in zip(split, finer, strict=True):
            parts = _shared(cell, boxes, [float(next(effects)) for _ in boxes])
            if parts:
                leaves = [each for each in leaves if each is not cell] + parts
            else:
                whole.add((cell.camera, cell.box))
    return coarse, leaves


def _shared(cell: Cell, boxes: Sequence[Box], effects: Sequence[float]) -> list[Cell]:
    """The parts of a cell; none where they do nothing by themselves and only the whole of it matters."""
    total = sum(max(effect, 0.0) for effect in effects)
    if total < TOGETHER * cell.effect:
        return []
    return [
        Cell(cell.camera, box, effect, cell.share * max(effect, 0.0) / total)
        for box, effect in zip(boxes, effects, strict=True)
    ]


def _edges(leaves: Sequence[Cell], open_ones: Sequence[Cell], worth: float, least: Mapping[str, int]) -> list[Cell]:
    """The finest cells that border on nothing: half of such a cell may be nothing too, so it is looked into once."""
    found = []
    for camera in dict.fromkeys(cell.camera for cell in open_ones):
        idle = np.array([cell.box for cell in leaves if cell.camera == camera and cell.share <= worth]).reshape(-1, 4)
        for cell in open_ones:
            x0, y0, x1, y1 = cell.box
            if cell.camera == camera and max(least[camera], 2) <= _side(cell.box):
                near = (idle[:, 0] <= x1) & (idle[:, 2] >= x0) & (idle[:, 1] <= y1) & (idle[:, 3] >= y0)
                found += [cell] if near.any() else []
    return found


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
    """Effect a pixel: the share of a patch is spread over it; where patches overlap, their mean."""
    total, count = np.zeros(size), np.zeros(size)
    for cell in cells:
        if cell.camera == camera:
            x0, y0, x1, y1 = cell.box
            total[y0:y1, x0:x1] += cell.share / ((x1 - x0) * (y1 - y0))
            count[y0:y1, x0:x1] += 1
    return total / np.maximum(count, 1)


def _cells(places: Sequence[Place], effects: Floats) -> list[Cell]:
    return [
        Cell(camera, box, float(effect), max(float(effect), 0.0))
        for (camera, box), effect in zip(places, effects, strict=True)
    ]


def _side(box: Box) -> int:
    return min(box[2] - box[0], box[3] - box[1])
