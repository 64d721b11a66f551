"""Plane geometry that mesh making needs and numpy lacks: convex hulls, and triangles for polygons with holes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""(K, 2) or (K, 3) coordinates in metres."""


def signed_area(loop: Points) -> float:
    """Area of a closed loop; positive when it runs counter-clockwise."""
    x, y = loop[:, 0], loop[:, 1]
    return float(0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def counter_clockwise(loop: Points) -> Points:
    return loop if signed_area(loop) > 0 else loop[::-1]


def clockwise(loop: Points) -> Points:
    return loop if signed_area(loop) < 0 else loop[::-1]


def convex_hull(points: Points) -> Points:
    """Counter-clockwise hull of points in the plane (Andrew's monotone chain)."""
    ordered = np.unique(points.round(9), axis=0)
    lower = _half_hull(ordered)
    upper = _half_hull(ordered[::-1])
    return np.array(lower[:-1] + upper[:-1])


def _half_hull(ordered: Points) -> list[Points]:
    chain: list[Points] = []
    for point in ordered:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 1e-12:
            chain.pop()
        chain.append(point)
    return chain


def triangulate(outer: Points, holes: Sequence[Points] = ()) -> NDArray[np.int64]:
    """Counter-clockwise triangles that fill `outer` minus `holes`.

    Indices count through the points of `counter_clockwise(outer)` and then of each `clockwise(hole)`.
    """
    loops = [counter_clockwise(outer), *(clockwise(hole) for hole in holes)]
    points = np.concatenate(loops)
    starts = np.cumsum([0, *(len(loop) for loop in loops)])
    rings = [list(range(start, end)) for start, end in pairwise(starts)]
    # The hole furthest right sees the outline directly, so bridging from right to left never crosses another hole.
    by_reach = sorted(rings[1:], key=lambda ring: -float(points[ring, 0].max()))
    walk = rings[0]
    for ring in by_reach:
        walk = _bridge(points, walk, ring)
    return np.array(_clip_ears(points, walk), dtype=np.int64)


def _bridge(points: Points, walk: list[int], hole: list[int]) -> list[int]:
    """Splice `hole` into `walk` through a cut that runs there and back, which turns two loops into one."""
    start = max(range(len(hole)), key=lambda at: points[hole[at], 0])
    turned = hole[start:] + hole[:start]
    tip = points[turned[0]]
    by_distance = sorted(range(len(walk)), key=lambda at: float(np.sum((points[walk[at]] - tip) ** 2)))
    for at in by_distance:
        if _opens_towards(points, walk, at, tip) and not _crosses(points, walk, hole, tip, points[walk[at]]):
            return walk[: at + 1] + turned + [turned[0]] + walk[at:]
    raise ValueError("a hole is not inside its outline: draw the hole within the outer loop")


def _opens_towards(points: Points, walk: list[int], at: int, target: Points) -> bool:
    """Whether `target` lies in the inner angle at a corner; a corner that a bridge visits twice has two such angles."""
    before, here, after = points[walk[at - 1]], points[walk[at]], points[walk[(at + 1) % len(walk)]]
    if _turn(before, here, after) > 0:
        return _turn(before, here, target) > 0 and _turn(here, after, target) > 0
    return _turn(before, here, target) > 0 or _turn(here, after, target) > 0


def _crosses(points: Points, walk: list[int], hole: list[int], start: Points, end: Points) -> bool:
    for loop in (walk, hole):
        a, b = points[loop], points[np.roll(loop, -1)]
        one_side = _turns(a, b, start) * _turns(a, b, end) < 0
        other_side = _turns_from(start, end, a) * _turns_from(start, end, b) < 0
        if bool(np.any(one_side & other_side)):
            return True
    return False


def _clip_ears(points: Points, walk: list[int]) -> list[tuple[int, int, int]]:
    triangles = []
    remaining = list(walk)
    while len(remaining) > 3:
        at = _next_ear(points, remaining)
        triangles.append((remaining[at - 1], remaining[at], remaining[(at + 1) % len(remaining)]))
        del remaining[at]
    triangles.append((remaining[0], remaining[1], remaining[2]))
    return triangles


def _next_ear(points: Points, remaining: list[int]) -> int:
    """The ear with the best-shaped triangle, because slivers shade badly and break on rounding."""
    best, best_quality = -1, 0.0
    for at in range(len(remaining)):
        a, b, c = (points[remaining[(at + step) % len(remaining)]] for step in (-1, 0, 1))
        doubled_area = _turn(a, b, c)
        longest = max(float(np.sum((p - q) ** 2)) for p, q in ((a, b), (b, c), (c, a)))
        quality = doubled_area / longest
        if quality > max(best_quality, 1e-9) and not _holds_a_corner(points, remaining, a, b, c):
            best, best_quality = at, quality
    if best < 0:
        raise ValueError("the outline crosses itself: list its corners once around without crossing")
    return best


def _holds_a_corner(points: Points, remaining: list[int], a: Points, b: Points, c: Points) -> bool:
    rest = points[remaining]
    inside = (_turns_from(a, b, rest) >= 0) & (_turns_from(b, c, rest) >= 0) & (_turns_from(c, a, rest) >= 0)
    own = np.zeros(len(rest), dtype=bool)
    for corner in (a, b, c):
        own |= np.all(rest == corner, axis=1)
    return bool(np.any(inside & ~own))


def _turn(a: Points, b: Points, c: Points) -> float:
    """Twice the area of the triangle a, b, c; positive for a left turn."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _turns(a: Points, b: Points, c: Points) -> Points:
    return np.asarray((b[:, 0] - a[:, 0]) * (c[1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[0] - a[:, 0]))


def _turns_from(a: Points, b: Points, c: Points) -> Points:
    return np.asarray((b[0] - a[0]) * (c[:, 1] - a[1]) - (b[1] - a[1]) * (c[:, 0] - a[0]))
