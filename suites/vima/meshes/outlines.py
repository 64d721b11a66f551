"""The flat shapes of the objects as prompt images show them from above: x to the right, y up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pytest_vla.sim.meshes.polygons import Points

_CURVE_POINTS = 40
_POLYGONS: dict[str, list[list[list[float]]]] = json.loads(
    (Path(__file__).parents[1] / "data" / "outlines.json").read_text(encoding="utf-8")
)
"""Outlines with straight edges: the outer corners, then those of each hole, in any unit."""


@dataclass(frozen=True)
class Outline:
    """A loop with holes, in metres, its bounding box centred on the origin."""

    outer: Points
    holes: tuple[Points, ...] = ()


def outline(name: str, size_x_m: float, size_y_m: float) -> Outline:
    """The named shape, stretched to fill exactly the given size."""
    drawing = _CURVED[name]() if name in _CURVED else _polygon(name)
    low, high = drawing.outer.min(axis=0), drawing.outer.max(axis=0)
    scale = np.array([size_x_m, size_y_m]) / (high - low)
    middle = (low + high) / 2
    return Outline((drawing.outer - middle) * scale, tuple((hole - middle) * scale for hole in drawing.holes))


def centred_rectangle(size_x_m: float, size_y_m: float) -> Points:
    x, y = size_x_m / 2, size_y_m / 2
    return np.array([(-x, -y), (x, -y), (x, y), (-x, y)])


def regular(corners: int, first_deg: float, radius_m: float = 1.0) -> Points:
    angles = np.deg2rad(first_deg) + np.arange(corners) * 2 * np.pi / corners
    return radius_m * np.column_stack([np.cos(angles), np.sin(angles)])


def circle(radius_m: float) -> Points:
    return regular(_CURVE_POINTS, 0, radius_m)


def shifted(loop: Points, x_m: float, y_m: float) -> Points:
    return np.asarray(loop + np.array([x_m, y_m]))


def _arc(
    centre: tuple[float, float], radii: tuple[float, float], start_deg: float, end_deg: float, points: int
) -> Points:
    angles = np.deg2rad(np.linspace(start_deg, end_deg, points))
    return np.column_stack([centre[0] + radii[0] * np.cos(angles), centre[1] + radii[1] * np.sin(angles)])


def _polygon(name: str) -> Outline:
    outer, *holes = (np.array(corners, float) for corners in _POLYGONS[name])
    return Outline(outer, tuple(holes))


def _letter_g() -> Outline:
    middle = (42.0, 54.0)
    outside = _arc(middle, (42, 54), 42, 360, 30)
    spur = [(44, 54), (44, 37), (61, 37)]
    inside = _arc(middle, (22, 34), -30, -318, 24)
    return Outline(np.concatenate([outside, np.array(spur, float), inside]))


def _letter_r() -> Outline:
    legs = [(0, 0), (19, 0), (19, 40), (28, 40), (49, 0), (72, 0), (51, 43.2)]
    bowl = _arc((43, 71), (29, 29), -65, 90, 14)
    hole = np.concatenate([[(19, 58)], _arc((41, 71), (13, 13), -90, 90, 11), [(19, 84)]])
    return Outline(np.concatenate([np.array(legs, float), bowl, [(0, 100)]]), (hole,))


def _flower() -> Outline:
    """Four round petals: the far side of their union, seen from the middle."""
    petal_radius, petal_offset = 0.44, 0.56
    angles = np.arange(12 * 4) * 2 * np.pi / (12 * 4)
    from_petal = (angles + np.pi / 4) % (np.pi / 2) - np.pi / 4
    reach = petal_offset * np.cos(from_petal) + np.sqrt(petal_radius**2 - (petal_offset * np.sin(from_petal)) ** 2)
    return Outline(np.column_stack([reach * np.cos(angles), reach * np.sin(angles)]))


def _heart() -> Outline:
    t = np.arange(_CURVE_POINTS) * 2 * np.pi / _CURVE_POINTS
    x = 16 * np.sin(t) ** 3
    y = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    return Outline(np.column_stack([x, y]))


def _star() -> Outline:
    tips, notches = regular(5, 0), regular(5, 36, 0.46)
    return Outline(np.stack([tips, notches], axis=1).reshape(-1, 2))


_CURVED: dict[str, Callable[[], Outline]] = {
    "letter G": _letter_g,
    "letter R": _letter_r,
    "diamond": lambda: Outline(regular(4, 0)),
    "flower": _flower,
    "heart": _heart,
    "hexagon": lambda: Outline(regular(6, 90)),
    "pentagon": lambda: Outline(regular(5, -90)),
    "round": lambda: Outline(circle(1)),
    "star": _star,
}
