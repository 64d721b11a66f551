"""Turns outlines and profiles into closed, textured triangle meshes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_vla.sim.meshes.mesh import Mesh
from pytest_vla.sim.meshes.polygons import Points, clockwise, counter_clockwise, triangulate

TEXTURE_REPEAT_M = 0.10
"""One texture repeat; texture patterns are drawn for this scale."""
_UV_OFFSET = 8.0  # whole repeats, so that no object ever has a negative texture coordinate
_CREASE_RAD = np.deg2rad(35)  # edges that turn by less look round, the others look sharp
_WALL_TILT = 0.35  # faces whose normal has less z than this are textured around the axis instead of from above
_ROUND_SEGMENTS = 36


def prism(outer: Points, holes: Sequence[Points] = (), *, bottom_m: float, top_m: float) -> Mesh:
    """An outline (with holes) pulled straight up from `bottom_m` to `top_m`."""
    parts = [_cap(outer, holes, top_m, up=True), _cap(outer, holes, bottom_m, up=False)]
    parts.append(_upright(counter_clockwise(outer), bottom_m, top_m))
    parts += [_upright(clockwise(hole), bottom_m, top_m) for hole in holes]
    return merge(parts)


def tray(outer: Points, rim: Points, floor: Points, *, bottom_m: float, floor_m: float, top_m: float) -> Mesh:
    """An open box: `outer` pulled up, with a hollow that narrows from `rim` at the top to `floor` at `floor_m`."""
    return merge(
        [
            _cap(outer, (), bottom_m, up=False),
            _upright(counter_clockwise(outer), bottom_m, top_m),
            _cap(outer, (rim,), top_m, up=True),
            _wall(clockwise(floor), clockwise(rim), floor_m, top_m),
            _cap(floor, (), floor_m, up=True),
        ]
    )


def box(low: Sequence[float], high: Sequence[float]) -> Mesh:
    """An axis-aligned box between two corners."""
    corners = np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])
    return prism(corners, bottom_m=low[2], top_m=high[2])


def lathe(profile: Points, *, closed: bool = False) -> Mesh:
    """A profile of (radius, z) turned around the z axis.

    The solid lies to the left of the profile's direction. An open profile starts and ends on the axis; a closed one
    goes around a cross-section that does not touch it.
    """
    starts, ends, start_normals, end_normals = _segments(profile, closed=closed)
    turns = np.linspace(0, 2 * np.pi, _ROUND_SEGMENTS + 1)
    turns[-1] = 0.0  # the last column must weld to the first exactly
    parts = []
    for start, end, start_normal, end_normal in zip(starts, ends, start_normals, end_normals, strict=True):
        rows = [_ring(start, start_normal, turns), _ring(end, end_normal, turns)]
        is_wall = abs(start_normal[1] + end_normal[1]) / 2 < _WALL_TILT
        uvs = (
            _around_uvs(start, end, len(turns))
            if is_wall
            else _from_above_uvs(np.concatenate([rows[0][0], rows[1][0]]))
        )
        parts.append(_strip(rows[0], rows[1], uvs))
    return merge(parts)


def merge(parts: Sequence[Mesh]) -> Mesh:
    offsets = np.cumsum([0, *(len(part.vertices) for part in parts)])
    return Mesh(
        vertices=np.concatenate([part.vertices for part in parts]),
        indices=np.concatenate([part.indices + offset for part, offset in zip(parts, offsets[:-1], strict=True)]),
        uvs=np.concatenate([part.uvs for part in parts]),
        normals=np.concatenate([part.normals for part in parts]),
    )


def _cap(outer: Points, holes: Sequence[Points], z: float, *, up: bool) -> Mesh:
    corners = np.concatenate([counter_clockwise(outer), *(clockwise(hole) for hole in holes)])
    triangles = triangulate(outer, holes)
    vertices = np.column_stack([corners, np.full(len(corners), z)])
    normals = np.tile([0.0, 0.0, 1.0 if up else -1.0], (len(corners), 1))
    return Mesh(vertices, triangles if up else triangles[:, ::-1].copy(), _from_above_uvs(vertices), normals)


def _upright(loop: Points, bottom_m: float, top_m: float) -> Mesh:
    return _wall(loop, loop, bottom_m, top_m)


def _wall(lower: Points, upper: Points, bottom_m: float, top_m: float) -> Mesh:
    """The band between two loops of as many points, facing to the right of their direction."""
    starts, ends, start_normals, end_normals = _segments(lower, closed=True)
    upper_starts, upper_ends = upper, np.roll(upper, -1, axis=0)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(ends - starts, axis=1))])
    # Stretching to a whole number of repeats hides the seam where the band meets itself.
    along *= max(1.0, np.round(along[-1] / TEXTURE_REPEAT_M)) * TEXTURE_REPEAT_M / along[-1]
    corners = [
        (starts, bottom_m, along[:-1], start_normals),
        (ends, bottom_m, along[1:], end_normals),
        (upper_ends, top_m, along[1:], end_normals),
        (upper_starts, top_m, along[:-1], start_normals),
    ]
    rise = _with_z(upper_starts + upper_ends - starts - ends, 2 * (top_m - bottom_m))
    quads = np.array([[0, 1, 2], [0, 2, 3]])
    return Mesh(
        vertices=_interleave([_with_z(xy, z) for xy, z, _, _ in corners]),
        indices=(quads[None] + 4 * np.arange(len(lower))[:, None, None]).reshape(-1, 3),
        # Half a repeat more puts the middle of the texture at half height of an object.
        uvs=_interleave([np.column_stack([s, np.full(len(s), z)]) for _, z, s, _ in corners]) / TEXTURE_REPEAT_M
        + (_UV_OFFSET + 0.5),
        normals=_interleave([_leaning(normals, rise) for _, _, _, normals in corners]),
    )


def _with_z(xy: Points, z: float) -> Points:
    return np.column_stack([xy, np.full(len(xy), z)])


def _interleave(corners: Sequence[Points]) -> Points:
    """Corner 0 of every quad, corner 1 of every quad, ... becomes quad after quad."""
    return np.stack(corners, axis=1).reshape(-1, corners[0].shape[1])


def _leaning(normals: Points, rise: Points) -> Points:
    """Horizontal normals tilted until they stand on a wall that rises along `rise`."""
    flat = _with_z(normals, 0.0)
    tilted = flat - rise * (np.sum(flat * rise, axis=1) / np.sum(rise * rise, axis=1))[:, None]
    return np.asarray(tilted / np.linalg.norm(tilted, axis=1, keepdims=True))


def _segments(line: Points, *, closed: bool) -> tuple[Points, Points, Points, Points]:
    """Start, end and the normals (to the right) at both, for each segment; normals blend across shallow corners."""
    starts = line if closed else line[:-1]
    ends = np.roll(line, -1, axis=0) if closed else line[1:]
    direction = (ends - starts) / np.linalg.norm(ends - starts, axis=1, keepdims=True)
    own = np.column_stack([direction[:, 1], -direction[:, 0]])
    before, after = np.roll(own, 1, axis=0), np.roll(own, -1, axis=0)
    if not closed:
        # At the axis a lathed surface meets its own mirror image, so its normal there points along the axis.
        before[0], after[-1] = own[0] * [-1, 1], own[-1] * [-1, 1]
    return starts, ends, _blend(own, before), _blend(own, after)


def _blend(own: Points, neighbour: Points) -> Points:
    mean = own + neighbour
    shallow = np.sum(own * neighbour, axis=1) > np.cos(_CREASE_RAD)
    blended = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)
    return np.asarray(np.where(shallow[:, None], blended, own))


def _ring(at: Points, normal: Points, turns: Points) -> tuple[Points, Points]:
    cos, sin = np.cos(turns), np.sin(turns)
    points = np.column_stack([at[0] * cos, at[0] * sin, np.full(len(turns), at[1])])
    normals = np.column_stack([normal[0] * cos, normal[0] * sin, np.full(len(turns), normal[1])])
    return points, normals


def _strip(lower: tuple[Points, Points], upper: tuple[Points, Points], uvs: Points) -> Mesh:
    """Triangles between two rings; where a ring has shrunk onto the axis its degenerate triangles are left out."""
    count = len(lower[0])
    here, there = np.arange(count - 1), np.arange(1, count)
    triangles = []
    if lower[0][0, 0] > 0:
        triangles.append(np.column_stack([here, there, there + count]))
    if upper[0][0, 0] > 0:
        triangles.append(np.column_stack([here, there + count, here + count]))
    return Mesh(
        np.concatenate([lower[0], upper[0]]),
        np.concatenate(triangles),
        uvs,
        np.concatenate([lower[1], upper[1]]),
    )


def _from_above_uvs(vertices: Points) -> Points:
    # Half a repeat more puts the middle of the texture on the middle of the object.
    return np.asarray(vertices[:, :2] / TEXTURE_REPEAT_M + _UV_OFFSET + 0.5)


def _around_uvs(start: Points, end: Points, count: int) -> Points:
    repeats = max(1.0, np.round(np.pi * (start[0] + end[0]) / TEXTURE_REPEAT_M))
    around = np.linspace(0, repeats, count)
    rise = np.linalg.norm(end - start) / TEXTURE_REPEAT_M
    bottom = start[1] / TEXTURE_REPEAT_M
    lower = np.column_stack([around, np.full(count, bottom)])
    upper = np.column_stack([around, np.full(count, bottom + rise)])
    return np.concatenate([lower, upper]) + (_UV_OFFSET + 0.5)
