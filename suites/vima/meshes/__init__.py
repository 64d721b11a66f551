"""Draws every object of VIMABench from numbers, so that the suite needs no downloaded assets."""

from __future__ import annotations

from functools import cache

import numpy as np

from pytest_vla.sim.meshes.mesh import Mesh
from pytest_vla.sim.meshes.polygons import Points, convex_hull
from pytest_vla.sim.meshes.solids import TEXTURE_REPEAT_M

from .bodies import BAR_M, Body, build, line_mesh, three_sided_mesh

__all__ = [
    "BAR_M",
    "COLLISION_MARGIN_M",
    "TEXTURE_REPEAT_M",
    "Mesh",
    "collision_parts",
    "footprint_polygon",
    "footprint_radius",
    "line_mesh",
    "three_sided_mesh",
    "visual_mesh",
]

COLLISION_MARGIN_M = 0.001
"""How far around a convex part Bullet already reports contact."""


def visual_mesh(name: str) -> Mesh:
    """What cameras see: origin at the object's centre, z from -height/2 to height/2.

    At zero yaw a letter's right is +x and its top is +y, so it reads upright in prompt images, which turn objects by
    +90 degrees. The centre is that of the bounding box, except for the pan: its origin is the middle of the dish.
    """
    return _body(name).mesh


def collision_parts(name: str) -> tuple[Points, ...]:
    """What physics touches: convex point sets (k, 3) around the same origin; none for objects that are only painted.

    Each is thinner than it looks by `COLLISION_MARGIN_M` above and below, which Bullet adds back.
    """
    return _body(name).parts


@cache
def footprint_polygon(name: str) -> Points:
    """Counter-clockwise convex outline (K, 2) of the object seen from above, at zero yaw."""
    polygon = convex_hull(visual_mesh(name).vertices[:, :2])
    polygon.setflags(write=False)
    return polygon


@cache
def footprint_radius(name: str) -> float:
    """Radius (m) of the circle around the origin that the object never leaves, however it is turned."""
    return float(np.linalg.norm(footprint_polygon(name), axis=1).max())


@cache
def _body(name: str) -> Body:
    body = build(name)
    return Body(body.mesh, tuple(_thinned(part) for part in body.parts))


def _thinned(part: Points) -> Points:
    """The part without the margin that Bullet adds above and below, so that things rest where they seem to."""
    z = part[:, 2]
    middle, half = (z.max() + z.min()) / 2, (z.max() - z.min()) / 2
    thinned = np.column_stack([part[:, :2], middle + (z - middle) * (half - COLLISION_MARGIN_M) / half])
    thinned.setflags(write=False)
    return thinned
