"""Shapes for a simulator that takes triangles: what is seen of table, board, robot and stones, and what collides."""

from __future__ import annotations

from functools import cache

import numpy as np

from pytest_vla.sim.meshes.mesh import Array, Mesh, cube, sheet
from pytest_vla.sim.mujoco.scene import TABLE_REPEATS

from .board import BOARD_M, RIM, STONE_HEIGHT_M, STONE_RADIUS_M, TABLE_HALF_M

STONE_SIDES = 24
BACKGROUND_PER_M = 2.0  # repeats of its pattern
STONE_RINGS = 8


@cache
def load_mesh(name: str) -> Mesh:
    """The mesh `stone`, `box` (of half size 1), `board`, `background_side`, `background_end` or `table`."""
    if name == "stone":
        return _lens()
    if name == "box":
        return cube()
    if name == "board":
        return sheet((BOARD_M, BOARD_M), (1, 1))
    if name.startswith("background"):
        _, (width, depth) = RIM.strips()[0 if name.endswith("side") else -1]
        size = (2 * width, 2 * depth)
        return sheet(size, (BACKGROUND_PER_M * size[0], BACKGROUND_PER_M * size[1]))
    return sheet((2 * TABLE_HALF_M, 2 * TABLE_HALF_M), (TABLE_REPEATS, TABLE_REPEATS))


def stone_corners() -> Array:
    """A stone's solid: a flat cylinder with many sides."""
    angles = 2 * np.pi * np.arange(STONE_SIDES) / STONE_SIDES
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1) * STONE_RADIUS_M
    half = STONE_HEIGHT_M / 2
    return np.concatenate([np.column_stack([ring, np.full(STONE_SIDES, z)]) for z in (-half, half)])


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
