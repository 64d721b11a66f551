"""Each object's body: the mesh that cameras see and the convex parts that physics touches, from the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pytest_vla.sim.meshes.hulls import box_points, outline_bars, prism_points, ring_wedges
from pytest_vla.sim.meshes.mesh import Mesh
from pytest_vla.sim.meshes.polygons import Points
from pytest_vla.sim.meshes.solids import box, lathe, merge, prism, tray

from ..objects import OBJECTS
from .outlines import centred_rectangle, circle, outline, regular, shifted

BAR_M = 0.04
"""Width of the bars of square, line and three-sided rectangle; the sweep tasks test against the same width."""

# The footprint was measured to one camera pixel (4 mm). These sizes are known better, or keep a shape regular.
_DRAWN_SIZE_M: dict[str, tuple[float, float]] = {
    "block": (0.07, 0.07),
    "shorter block": (0.07, 0.07),
    "small block": (0.03, 0.03),
    "line": (0.25, BAR_M),
    "bowl": (0.2012, 0.2012),
    "frame": (0.181, 0.181),
    "container": (0.155, 0.155),
    "three-sided rectangle": (0.222, 0.242),
    "square": (0.242, 0.242),
    "pentagon": (0.1014, 0.0978),
    "star": (0.1015, 0.1067),
    "hexagon": (0.0932, 0.1076),
}


@dataclass(frozen=True)
class Body:
    mesh: Mesh
    parts: tuple[Points, ...]


def build(name: str) -> Body:
    if name not in OBJECTS:
        raise KeyError(f"no object is called {name!r}; known are {', '.join(OBJECTS)}")
    if name in _SPECIAL:
        return _SPECIAL[name]()
    return _flat(name)


def three_sided_mesh(depth_m: float, width_m: float) -> Mesh:
    """Three bars around a rectangle of this outer size that is open towards +x."""
    x, y = depth_m / 2, width_m / 2
    inner_x, inner_y = -x + BAR_M, y - BAR_M
    loop = [(-x, -y), (x, -y), (x, -inner_y), (inner_x, -inner_y), (inner_x, inner_y), (x, inner_y), (x, y), (-x, y)]
    half = OBJECTS["three-sided rectangle"].height_m / 2
    return prism(np.array(loop), bottom_m=-half, top_m=half)


def line_mesh(length_m: float) -> Mesh:
    """A flat bar along x."""
    half = OBJECTS["line"].height_m / 2
    return prism(centred_rectangle(length_m, BAR_M), bottom_m=-half, top_m=half)


def _size(name: str) -> tuple[float, float]:
    return _DRAWN_SIZE_M.get(name, OBJECTS[name].footprint)


def _flat(name: str) -> Body:
    """One outline pulled up.

    Physics gets one hull, notches filled: it rests and stacks the same, several times faster than an exact one, and a
    suction cup that meets a notch holds on, as it does in the original.
    """
    shape = outline(name, *_size(name))
    half = OBJECTS[name].height_m / 2
    mesh = prism(shape.outer, shape.holes, bottom_m=-half, top_m=half)
    return Body(mesh, (prism_points(shape.outer, -half, half),))


def _washer(name: str, hole_radius_m: float, chamfer_m: float) -> Body:
    """A ring with rounded-off rims; its top stays flat so that things can stand on it."""
    outer, inner, half, cut = _size(name)[0] / 2, hole_radius_m, OBJECTS[name].height_m / 2, chamfer_m
    section = [
        (inner + cut, -half),
        (outer - cut, -half),
        (outer, -half + cut),
        (outer, half - cut),
        (outer - cut, half),
        (inner + cut, half),
        (inner, half - cut),
        (inner, -half + cut),
    ]
    # As for flat shapes the hull fills the hole; twelve exact wedges made a stack of three rings ten times slower.
    return Body(lathe(np.array(section), closed=True), (prism_points(circle(outer), -half, half),))


def _bowl() -> Body:
    radius, foot, wall, floor = _size("bowl")[0] / 2, 0.055, 0.005, 0.006
    half = OBJECTS["bowl"].height_m / 2
    rise = np.linspace(0, np.pi / 2, 7)
    outside = np.column_stack([foot + (radius - foot) * np.sin(rise), -half + 2 * half * (1 - np.cos(rise))])
    inside = np.column_stack([outside[:, 0] - wall, -half + floor + (2 * half - floor) * (1 - np.cos(rise))])
    profile = np.concatenate([[(0, -half)], outside, inside[::-1], [(0, -half + floor)]])
    # The wall curves; cut at half its rise, each piece is nearly straight and its hull stays close to it.
    lower, upper = slice(0, 4), slice(3, 7)
    wedges = [w for band in (lower, upper) for w in ring_wedges(np.concatenate([outside[band], inside[band]]), 16)]
    base = prism_points(circle(foot), -half, -half + floor)
    return Body(lathe(profile), (base, *wedges))


def _pan() -> Body:
    """A dish around the origin, where things are put, and a handle towards +x."""
    length, width = _size("pan")
    radius, base_radius, wall, floor = width / 2, 0.070, 0.005, 0.006
    half = OBJECTS["pan"].height_m / 2
    outside = np.array([(base_radius, -half), (base_radius + 0.006, -half + 0.004), (radius, half)])
    inside = np.array(
        [(base_radius - wall, -half + floor), (base_radius + 0.002, -half + floor + 0.004), (radius - wall, half)]
    )
    profile = np.concatenate([[(0, -half)], outside, inside[::-1], [(0, -half + floor)]])
    handle_low, handle_top, handle_half = half - 0.016, half - 0.004, 0.013
    # The handle starts inside the wall, so that no gap shows where it leaves the dish.
    start, end = radius - 0.004, length - radius
    tip = shifted(regular(24, 0, handle_half), end - handle_half, 0)
    round_end = tip[(tip[:, 0] >= end - handle_half - 1e-9)]
    round_end = round_end[np.argsort(np.arctan2(round_end[:, 1], round_end[:, 0] - end + handle_half))]
    grip = np.concatenate([[(start, 0.009)], [(start, -0.009)], round_end])
    hanging_hole = shifted(regular(12, 0, 0.006), end - handle_half, 0)
    handle = prism(grip, (hanging_hole,), bottom_m=handle_low, top_m=handle_top)
    parts = (
        prism_points(circle(base_radius), -half, -half + floor),
        *ring_wedges(np.concatenate([outside, inside]), 16),
        prism_points(grip, handle_low, handle_top),
    )
    return Body(merge([lathe(profile), handle]), parts)


def _container() -> Body:
    """An open box; its inner walls lean, so that a camera right above still sees that it is hollow."""
    outer, rim, slope, floor = _size("container")[0], 0.004, 0.005, 0.005
    half = OBJECTS["container"].height_m / 2
    rim_size, floor_size = outer - 2 * rim, outer - 2 * (rim + slope)
    mesh = tray(
        centred_rectangle(outer, outer),
        centred_rectangle(rim_size, rim_size),
        centred_rectangle(floor_size, floor_size),
        bottom_m=-half,
        floor_m=-half + floor,
        top_m=half,
    )
    edge, low, plate_top = outer / 2, -half, -half + floor
    plate = box_points((-edge, -edge, low), (edge, edge, plate_top))
    cross_section = [(edge, low), (edge, half), (rim_size / 2, half), (floor_size / 2, plate_top)]
    side = np.array([(x, y, z) for x, z in cross_section for y in (-edge, edge)])
    quarter_turn = np.array([(0, 1, 0), (-1, 0, 0), (0, 0, 1)])
    walls = [side]
    for _ in range(3):
        walls.append(walls[-1] @ quarter_turn)
    return Body(mesh, (plate, *walls))


def _pallet() -> Body:
    """Seven deck boards along y on three runners along x. Physics gets the block around it: nothing falls between."""
    size_x, size_y = _size("pallet")
    half = OBJECTS["pallet"].height_m / 2
    boards, board_m, runner_m, deck_m = 7, 0.021, 0.02, 0.009
    pitch = (size_x - board_m) / (boards - 1)
    board_starts = [-size_x / 2 + at * pitch for at in range(boards)]
    runner_starts = [-size_y / 2 + 0.004, -runner_m / 2, size_y / 2 - 0.004 - runner_m]
    deck = [box((x, -size_y / 2, half - deck_m), (x + board_m, size_y / 2, half)) for x in board_starts]
    runners = [
        box((-size_x / 2 + 0.003, y, -half), (size_x / 2 - 0.003, y + runner_m, half - deck_m)) for y in runner_starts
    ]
    block = box_points((-size_x / 2, -size_y / 2, -half), (size_x / 2, size_y / 2, half))
    return Body(merge(deck + runners), (block,))


def _square_outline(name: str, bar_m: float) -> Body:
    size_x, size_y = _size(name)
    half = OBJECTS[name].height_m / 2
    hole = centred_rectangle(size_x - 2 * bar_m, size_y - 2 * bar_m)
    mesh = prism(centred_rectangle(size_x, size_y), (hole,), bottom_m=-half, top_m=half)
    return Body(mesh, outline_bars(size_x, size_y, bar_m, -half, half))


def _stand() -> Body:
    """A plate with three pegs, for rings to be stacked on."""
    size_x, size_y = _size("stand")
    half, plate_m, peg_radius_m = OBJECTS["stand"].height_m / 2, 0.02, 0.014
    low, high = (-size_x / 2, -size_y / 2, -half), (size_x / 2, size_y / 2, -half + plate_m)
    pegs = [shifted(circle(peg_radius_m), 0, at) for at in (-size_y / 3, 0.0, size_y / 3)]
    mesh = merge([box(low, high), *(prism(peg, bottom_m=-half + plate_m, top_m=half) for peg in pegs)])
    return Body(mesh, (box_points(low, high), *(prism_points(peg, -half + plate_m, half) for peg in pegs)))


_SPECIAL: dict[str, Callable[[], Body]] = {
    "ring": lambda: _washer("ring", hole_radius_m=0.024, chamfer_m=0.007),
    "disk": lambda: _washer("disk", hole_radius_m=0.018, chamfer_m=0.001),
    "bowl": _bowl,
    "pan": _pan,
    "container": _container,
    "pallet": _pallet,
    "frame": lambda: _square_outline("frame", bar_m=0.0085),
    "square": lambda: _square_outline("square", bar_m=BAR_M),
    "three-sided rectangle": lambda: Body(three_sided_mesh(*_size("three-sided rectangle")), ()),
    "line": lambda: Body(line_mesh(_size("line")[0]), ()),
    "stand": _stand,
}
