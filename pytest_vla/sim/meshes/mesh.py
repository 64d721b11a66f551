"""Triangles for a renderer that takes nothing else, and the simplest shapes made of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles, counter-clockwise seen from outside, with one normal and one texture coordinate a vertex."""

    vertices: Array
    indices: NDArray[np.int64]
    uvs: Array
    normals: Array

    def __post_init__(self) -> None:
        # Meshes are cached and shared, so nobody may change one in place.
        for array in (self.vertices, self.indices, self.uvs, self.normals):
            array.setflags(write=False)


def sheet(size_m: tuple[float, float], repeats: tuple[float, float]) -> Mesh:
    """A rectangle that is seen from above, its texture repeated along both sides."""
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=float)
    vertices = np.column_stack([(corners - 0.5) * size_m, np.zeros(4)])
    return Mesh(vertices, np.array([0, 1, 2, 0, 2, 3]), corners * repeats, np.array([(0.0, 0.0, 1.0)] * 4))


def cube() -> Mesh:
    """A box of half size 1, each face with its own normals."""
    vertices: list[Array] = []
    normals: list[Array] = []
    triangles: list[int] = []
    for axis, sign in product(range(3), (-1.0, 1.0)):
        normal = np.eye(3)[axis] * sign
        u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3] * sign
        first = len(vertices)
        vertices += [normal - u - v, normal + u - v, normal + u + v, normal - u + v]
        normals += [normal] * 4
        triangles += [first, first + 1, first + 2, first, first + 2, first + 3]
    return Mesh(np.array(vertices), np.array(triangles), np.zeros((24, 2)), np.array(normals))


def cube_corners() -> Array:
    """The corners of a box of half size 1."""
    return np.array(list(product((-1, 1), repeat=3)), dtype=float)
