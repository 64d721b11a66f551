"""Every object is a closed solid of the right size, and what physics touches is where cameras see it."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_vla.suites.vima import meshes
from pytest_vla.suites.vima.objects import OBJECTS

from pytest_vla.sim.meshes.polygons import convex_hull, signed_area, triangulate

# Sizes that are known better than to the camera pixel of the measurement.
EXACT_SIZE_M = {"block": (0.07, 0.07), "shorter block": (0.07, 0.07), "small block": (0.03, 0.03), "line": (0.25, 0.04)}
PAINTED = ("three-sided rectangle", "line")
WITH_PARTS = [name for name in OBJECTS if name not in PAINTED]
# 2 for each closed component without a hole, 0 for each with one.
EULER = {"pallet": 20, "pan": 2, "stand": 8} | dict.fromkeys(
    ("letter A", "letter R", "ring", "disk", "frame", "square"), 0
)


def welded(name: str) -> tuple[np.ndarray, np.ndarray]:
    mesh = meshes.visual_mesh(name)
    points, index = np.unique(mesh.vertices.round(7), axis=0, return_inverse=True)
    return points, index.ravel()[mesh.indices]


def directed_edges(triangles: np.ndarray) -> Counter[tuple[int, int]]:
    return Counter((int(t[i]), int(t[(i + 1) % 3])) for t in triangles for i in range(3))


def centroid_of_footprint(name: str) -> np.ndarray:
    """Of the top face, weighted by area."""
    mesh = meshes.visual_mesh(name)
    corners = mesh.vertices[mesh.indices]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2]
    weights = np.clip(cross, 0, None)
    return np.asarray((corners.mean(axis=1)[:, :2] * weights[:, None]).sum(axis=0) / weights.sum())


@pytest.mark.parametrize("name", OBJECTS)
def test_footprint_and_height_match_the_measurement(name: str) -> None:
    spec = OBJECTS[name]
    size = np.ptp(meshes.visual_mesh(name).vertices, axis=0)
    assert size[2] == pytest.approx(spec.height_m, abs=1e-9)
    if name in EXACT_SIZE_M:
        assert size[:2] == pytest.approx(EXACT_SIZE_M[name], abs=1e-9)
    else:
        assert size[:2] == pytest.approx(spec.footprint, abs=0.0021)


@pytest.mark.parametrize("name", OBJECTS)
def test_origin_is_the_centre(name: str) -> None:
    vertices = meshes.visual_mesh(name).vertices
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    assert middle[2] == pytest.approx(0, abs=1e-9)
    if name != "pan":  # its origin is the middle of the dish, where things are put
        assert middle[:2] == pytest.approx((0, 0), abs=1e-9)


@pytest.mark.parametrize("name", OBJECTS)
def test_mesh_is_watertight(name: str) -> None:
    edges = directed_edges(welded(name)[1])
    assert all(edges[end, start] == count for (start, end), count in edges.items())


@pytest.mark.parametrize("name", OBJECTS)
def test_mesh_has_the_holes_of_its_shape(name: str) -> None:
    points, triangles = welded(name)
    edges = {frozenset(edge) for edge in directed_edges(triangles)}
    assert len(points) - len(edges) + len(triangles) == EULER.get(name, 2)


@pytest.mark.parametrize("name", OBJECTS)
def test_faces_and_normals_point_outward(name: str) -> None:
    mesh = meshes.visual_mesh(name)
    a, b, c = np.moveaxis(mesh.vertices[mesh.indices], 1, 0)
    faces = np.cross(b - a, c - a)
    assert np.sum(a * np.cross(b, c)) / 6 > 0  # signed volume
    assert np.all(np.einsum("fi,fvi->fv", faces, mesh.normals[mesh.indices]) > 0)
    assert np.linalg.norm(mesh.normals, axis=1) == pytest.approx(1)


@pytest.mark.parametrize("name", OBJECTS)
def test_texture_coordinates_are_positive_and_to_scale_from_above(name: str) -> None:
    mesh = meshes.visual_mesh(name)
    assert mesh.uvs.shape == (len(mesh.vertices), 2)
    assert mesh.uvs.min() >= 0
    top = mesh.normals[:, 2] > 0.999
    shift = mesh.uvs[top] - mesh.vertices[top, :2] / meshes.TEXTURE_REPEAT_M
    assert np.ptp(shift, axis=0) == pytest.approx((0, 0), abs=1e-9)


def test_letters_read_upright_with_x_to_the_right_and_y_up() -> None:
    assert centroid_of_footprint("letter E")[0] < -0.003  # stem at the left
    assert centroid_of_footprint("letter R")[0] < -0.002
    assert (
        centroid_of_footprint("letter T")[0] > 0.01
    )  # but for this one, whose bar is at the right, as in the original
    assert centroid_of_footprint("letter A")[1] < -0.002  # feet at the bottom
    top_edge = [np.ptp(v[v[:, 1] > 0.045, 0]) for v in (meshes.visual_mesh(f"letter {x}").vertices for x in "AV")]
    assert top_edge[0] < 0.03 < 0.07 < top_edge[1]


def test_three_sided_rectangle_opens_to_positive_x() -> None:
    assert centroid_of_footprint("three-sided rectangle")[0] < -0.02


@given(depth=st.floats(0.1, 0.4), width=st.floats(0.1, 0.4))
def test_sweep_marks_come_in_any_size(depth: float, width: float) -> None:
    rectangle, line = meshes.three_sided_mesh(depth, width), meshes.line_mesh(depth)
    assert np.ptp(rectangle.vertices, axis=0)[:2] == pytest.approx((depth, width))
    assert np.ptp(line.vertices, axis=0)[:2] == pytest.approx((depth, meshes.BAR_M))


@pytest.mark.parametrize("name", PAINTED)
def test_painted_marks_have_no_collision(name: str) -> None:
    assert meshes.collision_parts(name) == ()


@pytest.mark.parametrize("name", WITH_PARTS)
def test_collision_stands_exactly_as_tall_as_it_looks(name: str) -> None:
    z = np.concatenate(meshes.collision_parts(name))[:, 2]
    half = OBJECTS[name].height_m / 2 - meshes.COLLISION_MARGIN_M
    assert (z.min(), z.max()) == pytest.approx((-half, half), abs=1e-9)


@pytest.mark.parametrize("name", WITH_PARTS)
def test_collision_lies_under_every_visible_pixel(name: str) -> None:
    mesh = meshes.visual_mesh(name)
    facing_up = mesh.normals[mesh.indices].mean(axis=1)[:, 2] > 0.2
    corners = mesh.vertices[mesh.indices[facing_up]]
    points = np.concatenate([corners.mean(axis=1), corners.reshape(-1, 3)])
    covered = np.zeros(len(points), dtype=bool)
    for part in meshes.collision_parts(name):
        reaches_up = points[:, 2] <= part[:, 2].max() + 0.002
        covered |= reaches_up & inside_hull(part[:, :2], points[:, :2], tolerance_m=0.002)
    assert covered.all()


def inside_hull(hull_points: np.ndarray, points: np.ndarray, tolerance_m: float) -> np.ndarray:
    hull = convex_hull(hull_points)
    along = np.roll(hull, -1, axis=0) - hull
    outward = np.column_stack([along[:, 1], -along[:, 0]]) / np.linalg.norm(along, axis=1, keepdims=True)
    distance = points @ outward.T - np.sum(hull * outward, axis=1)
    return np.asarray((distance <= tolerance_m).all(axis=1))


@pytest.mark.parametrize("name", [name for name, spec in OBJECTS.items() if spec.role == "dragged"])
def test_dragged_objects_are_one_convex_part(name: str) -> None:
    assert len(meshes.collision_parts(name)) == 1


@pytest.mark.parametrize("name", ["bowl", "container", "pan", "frame", "square"])
def test_bases_leave_room_for_what_is_put_into_them(name: str) -> None:
    floor_m = -OBJECTS[name].height_m / 2 + 0.007
    over_middle = [part for part in meshes.collision_parts(name) if inside_hull(part[:, :2], np.zeros((1, 2)), 0.0)[0]]
    assert all(part[:, 2].max() < floor_m for part in over_middle)


@pytest.mark.parametrize("name", OBJECTS)
def test_footprint_polygon_and_radius_enclose_the_mesh(name: str) -> None:
    xy = meshes.visual_mesh(name).vertices[:, :2]
    polygon = meshes.footprint_polygon(name)
    assert signed_area(polygon) > 0
    assert inside_hull(polygon, xy, tolerance_m=1e-6).all()
    assert meshes.footprint_radius(name) == pytest.approx(np.linalg.norm(xy, axis=1).max(), abs=1e-6)


def test_unknown_object_is_named_in_the_error() -> None:
    with pytest.raises(KeyError, match=r"teapot.*bowl"):
        meshes.visual_mesh("teapot")


def test_shared_meshes_cannot_be_changed() -> None:
    assert meshes.visual_mesh("bowl") is meshes.visual_mesh("bowl")
    with pytest.raises(ValueError, match="read-only"):
        meshes.visual_mesh("bowl").vertices[0] = 0


@given(reach=st.lists(st.floats(0.3, 1.0), min_size=3, max_size=16), hole=st.integers(3, 8))
def test_triangles_fill_an_outline_with_a_hole(reach: list[float], hole: int) -> None:
    angles = np.arange(len(reach)) * 2 * np.pi / len(reach)
    outer = np.column_stack([np.cos(angles), np.sin(angles)]) * np.array(reach)[:, None]
    turns = np.arange(hole) * 2 * np.pi / hole
    # A triangle of radius 0.3 still has an inner radius of 0.15 at its narrowest.
    inner = 0.1 * np.column_stack([np.cos(turns), np.sin(turns)])
    triangles = triangulate(outer, (inner,))
    points = np.concatenate([outer, inner[::-1]])
    areas = [signed_area(points[list(t)]) for t in triangles]
    assert min(areas) > 0
    assert sum(areas) == pytest.approx(signed_area(outer) - signed_area(inner))


def test_a_hole_outside_its_outline_is_refused() -> None:
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float)
    with pytest.raises(ValueError, match="not inside"):
        triangulate(square, (square + np.array([3.0, 0.4]),))
