"""Paints the seamless patterns that textures are made of; every feature is at least a tenth of the tile."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.patterns import grid, smooth

Canvas = NDArray[np.float64]
"""(size, size, 3) colours 0..255, or (size, size) values."""
Colour = Sequence[float]

_CREAM: Colour = (250, 244, 226)
_WHITE: Colour = (250, 250, 250)
_BLACK: Colour = (18, 18, 20)


# Patterns of named colours.


def stripe(size: int, first: Colour, second: Colour) -> Canvas:
    """Two broad stripes of each colour a tile."""
    u, _ = grid(size)
    return _choose(np.sin(4 * np.pi * u) > 0, first, second)


def polka_dot(size: int, ground: Colour, dot: Colour) -> Canvas:
    return _choose(_dots(size), dot, ground)


def swirl(size: int, colour: Colour) -> Canvas:
    """A two-armed spiral on white, as large as the tile."""
    u, v = grid(size)
    x, y = u - 0.5, v - 0.5
    radius = np.hypot(x, y)
    arms = np.sin(2 * np.arctan2(y, x) + 2 * np.pi * radius / 0.26) > 0
    return _choose(arms & (radius < 0.47), colour, _WHITE)


def paisley(size: int, colour: Colour) -> Canvas:
    """Bent cream drops with a dark eye, every other one upside down."""
    shade = [channel * 0.45 for channel in colour]
    canvas = _choose(np.zeros((size, size), dtype=bool), colour, colour)
    for at, way in (((0.5, 0.5), 1), ((0.0, 0.0), 1), ((0.0, 0.5), -1), ((0.5, 0.0), -1)):
        x, y = _centred(size, at)
        canvas = _over(canvas, _drop(way * x, way * y, 0.72), _CREAM)
        canvas = _over(canvas, _drop(way * x, way * y, 0.38), shade)
    return canvas


def _drop(x: Canvas, y: Canvas, scale: float) -> NDArray[np.bool_]:
    """A comma: discs that shrink along a path which bends aside."""
    inside = np.zeros(x.shape, dtype=bool)
    for t in np.linspace(0, 1, 24):
        centre_x, centre_y, radius = 0.30 * t**2, -0.34 * t, 0.17 * (1 - t) ** 0.7
        inside |= np.hypot(x - scale * centre_x, y - scale * centre_y) < scale * radius
    return inside


# Materials.


def _brick(size: int) -> Canvas:
    """Four courses, every other one shifted by half a brick."""
    u, v = grid(size)
    course = np.floor(v * 4)
    along = (u * 2 + 0.5 * (course % 2)) % 1
    joint = (along < 0.14) | (v * 4 % 1 < 0.27)
    number = (np.floor(u * 2 + 0.5 * (course % 2)) % 2 + 2 * course).astype(int)
    tone = _random("brick").uniform(0.8, 1.1, 8)[number]
    return _over(np.array([168, 62, 44]) * tone[..., None], joint, (214, 206, 196))


def _tiles(size: int) -> Canvas:
    """Large glazed squares in two blues with a white joint."""
    u, v = grid(size)
    odd = (np.floor(u * 2) + np.floor(v * 2)) % 2 > 0
    joint = (u * 2 % 1 < 0.2) | (v * 2 % 1 < 0.2)
    return _over(_choose(odd, (64, 156, 196), (24, 104, 150)), joint, (240, 244, 244))


def _wooden(size: int) -> Canvas:
    """Planks with wavy grain."""
    u, v = grid(size)
    plank = np.floor(v * 2)
    wave = 0.22 * np.sin(2 * np.pi * (u + 0.37 * plank)) + 0.5 * _noise(size, 4, "wooden")
    grain = 0.5 + 0.5 * np.sin(2 * np.pi * (v * 6 + wave))
    canvas = _mix(grain, (120, 72, 34), (186, 128, 72))
    return _over(canvas, v * 2 % 1 < 0.1, (70, 40, 18))


def _granite(size: int) -> Canvas:
    """Grey stone with black and pale grains."""
    canvas = _mix(_noise(size, 4, "granite"), (120, 118, 122), (160, 156, 156))
    canvas = _over(canvas, _noise(size, 9, "granite black") > 0.66, (44, 42, 48))
    return _over(canvas, _noise(size, 9, "granite pale") > 0.7, (226, 220, 216))


def _plastic(size: int) -> Canvas:
    """Smooth pale plastic with one soft band of gloss."""
    u, v = grid(size)
    gloss = (0.5 + 0.5 * np.cos(2 * np.pi * (u + v))) ** 2
    return _mix(gloss, (176, 196, 214), (255, 255, 255))


def _polka_dot(size: int) -> Canvas:
    return _choose(_dots(size), (206, 30, 134), _WHITE)


def _checkerboard(size: int) -> Canvas:
    u, v = grid(size)
    return _choose((np.floor(u * 4) + np.floor(v * 4)) % 2 > 0, _BLACK, _WHITE)


def _tiger(size: int) -> Canvas:
    """Black stripes on orange that waver, swell and break off."""
    u, v = grid(size)
    waver = 0.35 * np.sin(2 * np.pi * v) + 0.9 * (_noise(size, 4, "tiger") - 0.5)
    swell = 0.25 + 0.75 * np.sin(2 * np.pi * (v + 0.5 * np.floor(u * 3 + waver) + 0.1))
    return _choose(np.cos(2 * np.pi * (3 * u + waver)) > 0.55 - 0.55 * swell, _BLACK, (236, 140, 36))


def _magma(size: int) -> Canvas:
    """Black plates with glowing cracks between them."""
    seeds = _random("magma").uniform(0, 1, (6, 2))
    reach = np.stack([np.hypot(*_centred(size, (at[0], at[1]))) for at in seeds])
    nearest, second = np.sort(reach, axis=0)[:2]
    crack = np.clip(1 - (second - nearest) / 0.17, 0, 1)
    canvas = _mix(np.clip(crack * 2.2, 0, 1), (30, 14, 16), (206, 30, 12))
    glow = np.clip(crack * 2.4 - 1.2, 0, 1)[..., None]
    return np.asarray(canvas * (1 - glow) + np.array([255, 196, 40]) * glow)


def _rainbow(size: int) -> Canvas:
    bands = [
        (228, 30, 38), (247, 140, 30), (252, 230, 40), (50, 170, 70), (40, 170, 226), (50, 70, 180), (140, 50, 160),
    ]  # fmt: skip
    _, v = grid(size)
    return np.asarray(np.array(bands, dtype=np.float64)[np.floor(v * len(bands)).astype(int)])


COLOURED: dict[str, Callable[..., Canvas]] = {
    "stripe": stripe,
    "polka-dot": polka_dot,
    "swirl": swirl,
    "paisley": paisley,
}
MATERIALS: dict[str, Callable[[int], Canvas]] = {
    "brick": _brick,
    "tiles": _tiles,
    "wooden": _wooden,
    "granite": _granite,
    "plastic": _plastic,
    "polka dot": _polka_dot,
    "checkerboard": _checkerboard,
    "tiger": _tiger,
    "magma": _magma,
    "rainbow": _rainbow,
}


# Brushes.


def _centred(size: int, at: tuple[float, float]) -> tuple[Canvas, Canvas]:
    """Offsets from a point the short way around, so that shapes may cross the tile's edge."""
    u, v = grid(size)
    return (u - at[0] + 0.5) % 1 - 0.5, (v - at[1] + 0.5) % 1 - 0.5


def _dots(size: int) -> NDArray[np.bool_]:
    """Eight staggered dots a tile, one in its middle; small and thin objects show at least part of one."""
    u, v = grid(size)
    x, y = 4 * u, 4 * v
    near_even = np.hypot((x + 1) % 2 - 1, (y + 1) % 2 - 1)
    near_odd = np.hypot(x % 2 - 1, y % 2 - 1)
    return np.asarray(np.minimum(near_even, near_odd) < 0.47)


def _noise(size: int, cells: int, name: str) -> Canvas:
    """Smooth seamless noise 0..1 with `cells` bumps a side."""
    knots = _random(name).uniform(0, 1, (cells, cells))
    return smooth(knots, (np.arange(size) + 0.5) / size * cells)


def _random(name: str) -> np.random.Generator:
    """Seeded by the name alone, because Python's own hash differs between runs."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))


def _choose(mask: NDArray[np.bool_], yes: Colour, no: Colour) -> Canvas:
    return np.where(mask[..., None], np.array(yes, dtype=np.float64), np.array(no, dtype=np.float64))


def _over(canvas: Canvas, mask: NDArray[np.bool_], colour: Colour) -> Canvas:
    return np.where(mask[..., None], np.array(colour, dtype=np.float64), canvas)


def _mix(amount: Canvas, none: Colour, full: Colour) -> Canvas:
    share = amount[..., None]
    return np.asarray(np.array(none) * (1 - share) + np.array(full) * share)
