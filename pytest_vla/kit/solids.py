"""What things are made of: boxes, cylinders, balls and rods, and the walls, rings and cups made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pytest_vla.sim.mujoco.scene import Shape
from pytest_vla.sim.pose import IDENTITY, Pose, Quaternion, Vector, at, multiply, turn, yaw_rotation

GREY: Vector = (0.45, 0.47, 0.50)
WALL_M = 0.004
SIDES = 10  # of what is round and hollow


@dataclass(frozen=True, slots=True)
class Piece:
    """A shape with half its sizes, in the frame of its thing. What is not solid is only seen."""

    shape: Shape
    half_m: tuple[float, ...]
    pose: Pose
    rgb: Vector = GREY
    solid: bool = True

    @property
    def volume_m3(self) -> float:
        a, *more = self.half_m
        if self.shape == "box":
            return 8 * a * more[0] * more[1]
        if self.shape == "sphere":
            return 4 / 3 * math.pi * a**3
        ends = 4 / 3 * math.pi * a**3 if self.shape == "capsule" else 0.0
        return 2 * math.pi * a * a * more[0] + ends

    def scaled(self, times: float) -> Piece:
        x, y, z = (times * value for value in self.pose.position)
        half = tuple(times * value for value in self.half_m)
        return replace(self, half_m=half, pose=Pose((x, y, z), self.pose.rotation))


Pieces = tuple[Piece, ...]


def box(size_m: Vector, centre: Vector = (0.0, 0.0, 0.0), rgb: Vector = GREY, *, yaw: float = 0.0) -> Piece:
    """A box by its full sizes."""
    x, y, z = (value / 2 for value in size_m)
    return Piece("box", (x, y, z), Pose(centre, yaw_rotation(yaw)), rgb)


def cylinder(radius_m: float, height_m: float, centre: Vector = (0.0, 0.0, 0.0), rgb: Vector = GREY) -> Piece:
    """A cylinder that stands."""
    return Piece("cylinder", (radius_m, height_m / 2), Pose(centre), rgb)


def ball(radius_m: float, centre: Vector = (0.0, 0.0, 0.0), rgb: Vector = GREY) -> Piece:
    return Piece("sphere", (radius_m,), Pose(centre), rgb)


def rod(radius_m: float, start: Vector, end: Vector, rgb: Vector = GREY, shape: Shape = "capsule") -> Piece:
    """A rod from one point to another; with round ends, unless it is to be a cylinder."""
    along = [b - a for a, b in zip(start, end, strict=True)]
    length = math.hypot(*along)
    x, y, z = ((a + b) / 2 for a, b in zip(start, end, strict=True))
    return Piece(shape, (radius_m, length / 2), Pose((x, y, z), _from_up(along, length)), rgb)


def _from_up(along: Sequence[float], length: float) -> Quaternion:
    """The rotation that lays the vertical along a direction."""
    x, y, z = (value / length for value in along)
    flat = math.hypot(x, y)
    return (
        turn((-y / flat, x / flat, 0.0), math.atan2(flat, z))
        if flat > 1e-9
        else turn((1, 0, 0), 0 if z > 0 else math.pi)
    )


def ring(
    inner_m: float,
    height_m: float,
    *,
    wall_m: float = WALL_M,
    centre: Vector = (0.0, 0.0, 0.0),
    rgb: Vector = GREY,
    flare_m: float = 0.0,
    sides: int = SIDES,
) -> Pieces:
    """A round wall by its inner radius at half its height; it may flare out towards the top."""
    tilt, middle = math.atan2(flare_m, height_m), inner_m + wall_m / 2
    half = ((inner_m + max(flare_m, 0) / 2 + wall_m) * math.tan(math.pi / sides), wall_m / 2, height_m / 2)
    pieces = []
    for side in range(sides):
        angle = 2 * math.pi * side / sides
        x, y, z = centre[0] + middle * math.cos(angle), centre[1] + middle * math.sin(angle), centre[2]
        rotation = multiply(yaw_rotation(angle - math.pi / 2), turn((1, 0, 0), -tilt))
        pieces.append(Piece("box", half, Pose((x, y, z), rotation), rgb))
    return tuple(pieces)


def cup(inner_m: float, height_m: float, rgb: Vector = GREY, *, wall_m: float = WALL_M, flare_m: float = 0.0) -> Pieces:
    """A round vessel with a floor; its origin is the middle of its underside."""
    floor = cylinder(inner_m - flare_m / 2 + wall_m / 2, wall_m, (0, 0, wall_m / 2), rgb)
    return (floor, *ring(inner_m, height_m, wall_m=wall_m, centre=(0, 0, height_m / 2), rgb=rgb, flare_m=flare_m))


def frame(hole_m: tuple[float, float], height_m: float, rgb: Vector = GREY, *, wall_m: float = WALL_M) -> Pieces:
    """Four walls around a hole, over an origin in the middle of the underside: a socket, a square ring."""
    x, y = hole_m
    long, short = (x + 2 * wall_m, wall_m, height_m), (wall_m, y, height_m)
    return (
        *(box(long, (0, s * (y + wall_m) / 2, height_m / 2), rgb) for s in (-1, 1)),
        *(box(short, (s * (x + wall_m) / 2, 0, height_m / 2), rgb) for s in (-1, 1)),
    )


def open_box(size_m: Vector, rgb: Vector = GREY, *, wall_m: float = WALL_M, open_side: str = "top") -> Pieces:
    """Five walls by their outer sizes over an origin in the middle of the underside; the front looks to -x."""
    x, y, z = size_m
    walls = {
        "bottom": box((x, y, wall_m), (0, 0, wall_m / 2), rgb),
        "top": box((x, y, wall_m), (0, 0, z - wall_m / 2), rgb),
        "front": box((wall_m, y, z), (-x / 2 + wall_m / 2, 0, z / 2), rgb),
        "back": box((wall_m, y, z), (x / 2 - wall_m / 2, 0, z / 2), rgb),
        "left": box((x, wall_m, z), (0, y / 2 - wall_m / 2, z / 2), rgb),
        "right": box((x, wall_m, z), (0, -y / 2 + wall_m / 2, z / 2), rgb),
    }
    return tuple(wall for side, wall in walls.items() if side != open_side)


def grid(
    count: int,
    cell_m: float,
    thick_m: float,
    holes: Iterable[tuple[int, int]],
    hole_m: float,
    centre: Vector = (0.0, 0.0, 0.0),
    rgb: Vector = GREY,
) -> Pieces:
    """A plate of square cells, some with a square hole; cells are counted from the middle one."""
    pieces, open_cells, half = [], set(holes), count // 2
    rim, away = (cell_m - hole_m) / 2, (cell_m + hole_m) / 4
    for column in range(-half, half + 1):
        for row in range(-half, half + 1):
            x, y, z = centre[0] + column * cell_m, centre[1] + row * cell_m, centre[2]
            if (column, row) not in open_cells:
                pieces.append(box((cell_m, cell_m, thick_m), (x, y, z), rgb))
                continue
            for side in (-1, 1):
                pieces.append(box((rim, cell_m, thick_m), (x + side * away, y, z), rgb))
                pieces.append(box((hole_m, rim, thick_m), (x, y + side * away, z), rgb))
    return tuple(pieces)


def moved(
    pieces: Sequence[Piece], x: float = 0.0, y: float = 0.0, z: float = 0.0, rotation: Quaternion = IDENTITY
) -> Pieces:
    """The pieces, turned and then shifted together."""
    frame = Pose((x, y, z), rotation)
    return tuple(replace(piece, pose=frame @ piece.pose) for piece in pieces)


def painted(pieces: Sequence[Piece], rgb: Vector) -> Pieces:
    return tuple(replace(piece, rgb=rgb) for piece in pieces)


def shown(*pieces: Piece) -> Pieces:
    """The pieces as decoration: seen, touched by nothing."""
    return tuple(replace(piece, solid=False) for piece in pieces)


ORIGIN = at()
