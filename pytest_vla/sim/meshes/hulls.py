"""Convex point sets that stand in for a solid in contact physics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pytest_vla.sim.meshes.polygons import Points, convex_hull


def box_points(low: Sequence[float], high: Sequence[float]) -> Points:
    return np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])


def prism_points(outer: Points, bottom_m: float, top_m: float) -> Points:
    """Hull corners of an outline pulled straight up; notches in the outline are filled."""
    corners = convex_hull(outer)
    return np.concatenate([np.column_stack([corners, np.full(len(corners), z)]) for z in (bottom_m, top_m)])


def ring_wedges(section: Points, wedges: int) -> tuple[Points, ...]:
    """A (radius, z) cross-section turned around the axis, cut into equal wedges like an orange."""
    turns = np.arange(wedges + 1) * 2 * np.pi / wedges
    rings = [np.column_stack([section[:, 0] * np.cos(t), section[:, 0] * np.sin(t), section[:, 1]]) for t in turns]
    return tuple(np.concatenate(pair) for pair in pairwise(rings))


def outline_bars(outer_x_m: float, outer_y_m: float, bar_m: float, bottom_m: float, top_m: float) -> tuple[Points, ...]:
    """The four sides of a rectangular outline."""
    x, y = outer_x_m / 2, outer_y_m / 2
    return (
        box_points((-x, -y, bottom_m), (x, -y + bar_m, top_m)),
        box_points((-x, y - bar_m, bottom_m), (x, y, top_m)),
        box_points((-x, -y, bottom_m), (-x + bar_m, y, top_m)),
        box_points((x - bar_m, -y, bottom_m), (x, y, top_m)),
    )
