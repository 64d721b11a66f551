"""Shapes for a simulator that takes triangles: what is seen of table, board, robot and stones, and what collides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .board import BOARD_M, STONE_HEIGHT_M, STONE_RADIUS_M, TABLE_HALF_M, TABLE_REPEATS

Array = NDArray[np.float64]

STONE_SIDES = 24
STONE_RINGS = 8


@dataclass(frozen=True, eq=False, slots=True)
class Mesh:
    """Triangles with texture coordinates."""

    vertices: Array
    indices: NDArray[np.int64]
    uvs: Array
    normals: Array


@cache
def load_mesh(name: str) -> Mesh:
    """The mesh `stone`, `box` (of half size 1), `table` or `board`."""
    if name == "stone":
        return _lens()
    if name == "box":
        return _cube()
    return _sheet(2 * TABLE_HALF_M, TABLE_REPEATS) if name == "table" else _sheet(BOARD_M, 1)


def stone_corners() -> Array:
    """A stone's solid: a flat cylinder with many sides."""
    angles = 2 * np.pi * np.arange(STONE_SIDES) / STONE_SIDES
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1) * STONE_RADIUS_M
    half = STONE_HEIGHT_M / 2
    return np.concatenate([np.column_stack([ring, np.full(STONE_SIDES, z)]) for z in (-half, half)])


def block_corners() -> Array:
    return np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


def _sheet(side_m: float, repeats: int) -> Mesh:
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=float)
    vertices = np.column_stack([(corners - 0.5) * side_m, np.zeros(4)])
    return Mesh(vertices, np.array([0, 1, 2, 0, 2, 3]), corners * repeats, np.array([(0.0, 0.0, 1.0)] * 4))


def _lens() -> Mesh:
    """A stone as it is seen: a flattened ball."""
    down = np.linspace(0, np.pi, STONE_RINGS + 1)
    around = 2 * np.pi * np.arange(STONE_SIDES + 1) / STONE_SIDES
    polar, azimuth = (part.ravel() for part in np.meshgrid(down, around, indexing="ij"))
    ball = np.stack([np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)], axis=-1)
    radii = np.array([STONE_RADIUS_M, STONE_RADIUS_M, STONE_HEIGHT_M / 2])
    normals = ball / radii
    row = STONE_SIDES + 1
    firsts = [ring * row + side for ring in range(STONE_RINGS) for side in range(STONE_SIDES)]
    triangles = [(a, a + row, a + 1, a + 1, a + row, a + row + 1) for a in firsts]
    return Mesh(
        ball * radii,
        np.array(triangles).ravel(),
        ball[:, :2] / 2 + 0.5,
        normals / np.linalg.norm(normals, axis=1, keepdims=True),
    )


def _cube() -> Mesh:
    """A box of half size 1, each face with its own normals."""
    vertices: list[Array] = []
    normals: list[Array] = []
    triangles: list[int] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal = np.eye(3)[axis] * sign
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3] * sign
            first = len(vertices)
            vertices += [normal - u - v, normal + u - v, normal + u + v, normal - u + v]
            normals += [normal] * 4
            triangles += [first, first + 1, first + 2, first, first + 2, first + 3]
    return Mesh(np.array(vertices), np.array(triangles), np.zeros((24, 2)), np.array(normals))
