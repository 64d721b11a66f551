"""Things with moving parts: buttons, drawers, panels on hinges, knobs, ropes, and handfuls of small things.

Each is a function of a label and a pose that returns its things; the part that moves has a joint of the label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pytest_vla.kit.hand import aim
from pytest_vla.kit.layout import Spot
from pytest_vla.kit.solids import ORIGIN, Piece, Pieces, box, cylinder, rod
from pytest_vla.kit.things import Joint, Thing
from pytest_vla.sim.pose import Pose, Vector, at, turn

DARK: Vector = (0.22, 0.23, 0.25)
BUTTON_TRAVEL_M = 0.010
HANDLE_FRICTION = 1.5
HANDLE_PITCH_RAD = 1.1  # an arm does not reach low handles with a level hand
CAP_M = 0.008
STIFF_NM = 0.5


def button(
    label: str, pose: Pose, rgb: Vector, *, base_m: Vector = (0.10, 0.10, 0.02), radius_m: float = 0.028, on: str = ""
) -> tuple[Thing, Thing]:
    """A sprung plunger over a base block; its joint goes down by at most a centimetre (m)."""
    base = Thing(f"{label}.base", pose, (box(base_m, (0, 0, base_m[2] / 2), DARK),), on=on, radius_m=base_m[0] * 0.7)
    sprung = Joint("slide", (0, 0, -1), (0.0, BUTTON_TRAVEL_M), stiffness=250.0, damping=6.25)
    middle = (0, 0, base_m[2] + BUTTON_TRAVEL_M + 0.002 - CAP_M / 2)
    cap = Thing(
        label, at(), (cylinder(radius_m, CAP_M, middle, rgb),), 0.02, joint=sprung, on=base.label, weightless=True
    )
    return base, cap


def button_top(base_m: Vector = (0.10, 0.10, 0.02)) -> float:
    """How high over its base's underside a finger meets the plunger."""
    return base_m[2] + BUTTON_TRAVEL_M + 0.002


def drawer(
    label: str, on: str, centre: Vector, size_m: Vector, rgb: Vector, *, travel_m: float = 0.25, handle_m: float = 0.05
) -> Thing:
    """A tray with an upright bar as its handle that slides out towards -x of what carries it (m)."""
    x, y, z = size_m
    wall, stand_off = 0.006, 0.045
    front, bar = -x / 2, -x / 2 - stand_off
    pieces: Pieces = (
        box((x, y - 0.01, wall), (0, 0, -z / 2 + wall / 2), rgb),
        box((wall, y, z), (front, 0, 0), rgb),
        box((wall, y - 0.01, z * 0.7), (x / 2 - wall, 0, -z * 0.15), rgb),
        box((x, wall, z * 0.7), (0, y / 2 - 0.01, -z * 0.15), rgb),
        box((x, wall, z * 0.7), (0, -y / 2 + 0.01, -z * 0.15), rgb),
        rod(0.0075, (bar, 0, -handle_m / 2), (bar, 0, handle_m / 2), DARK),
        *(rod(0.005, (front, 0, z), (bar, 0, z), DARK) for z in (-handle_m / 2, handle_m / 2)),
    )
    joint = Joint("slide", (-1, 0, 0), (0.0, travel_m), friction=1.0, damping=5.0)
    handle = Pose((bar, 0, 0), aim(0, HANDLE_PITCH_RAD))
    return Thing(label, Pose(centre), pieces, 0.6, joint=joint, on=on, friction=HANDLE_FRICTION, handle=handle)


def panel(
    label: str,
    on: str,
    hinge: Pose,
    pieces: Sequence[Piece],
    *,
    axis: Vector,
    open_rad: tuple[float, float],
    start: float,
    kg: float = 0.4,
    friction_nm: float = 0.05,
    damping: float = 0.05,
    weightless: bool = True,
) -> Thing:
    """A door, lid or seat that turns about the hinge's origin; its joint says how far it is open (rad)."""
    joint = Joint("hinge", axis, open_rad, start=start, friction=friction_nm, damping=damping)
    return Thing(label, hinge, tuple(pieces), kg, joint=joint, on=on, weightless=weightless, friction=HANDLE_FRICTION)


def lid(label: str, on: str, hinge: Pose, pieces: Sequence[Piece], most_rad: float, *, start: float = 0.0) -> Thing:
    """A panel that opens from -x up, about y of its hinge. It stays where it is left: a knock does not shut it."""
    swing = (0.0, most_rad)
    return panel(label, on, hinge, pieces, axis=(0, 1, 0), open_rad=swing, start=start, friction_nm=STIFF_NM)


def opened(hinge: Pose, angle_rad: float) -> Pose:
    """The frame of a lid that is open so far."""
    return hinge @ Pose((0, 0, 0), turn((0, 1, 0), angle_rad))


def knob(
    label: str,
    on: str,
    pose: Pose,
    pieces: Sequence[Piece],
    *,
    most_rad: float = math.pi,
    least_rad: float | None = None,
    friction_nm: float = 0.02,
    handle: Pose = ORIGIN,
) -> Thing:
    """Something that turns about z of its own frame; its joint says how far (rad)."""
    limits = (-most_rad if least_rad is None else least_rad, most_rad)
    joint = Joint("hinge", (0, 0, 1), limits, friction=friction_nm, damping=0.02)
    look: dict[str, Any] = {"weightless": True, "friction": HANDLE_FRICTION, "handle": handle}
    return Thing(label, pose, tuple(pieces), 0.05, joint=joint, on=on, **look)


def rope(
    label: str, points: Sequence[Spot], rgb: Vector, *, radius_m: float = 0.006, height_m: float | None = None
) -> list[Thing]:
    """Links from point to point along the table, joined by ball joints; the first is `label.0` and free."""
    z = radius_m if height_m is None else height_m
    links: list[Thing] = []
    last_yaw = 0.0
    for number, ((x, y), (nx, ny)) in enumerate(pairwise(points)):
        yaw, length = math.atan2(ny - y, nx - x), math.dist((x, y), (nx, ny))
        piece = rod(radius_m, (0.0, 0, 0), (length, 0, 0), rgb)
        name, ends = f"{label}.{number}", number in (0, len(points) - 2)
        common: dict[str, Any] = {"kg": 0.004, "graspable": ends, "friction": 0.6}
        if number == 0:
            links.append(Thing(name, at(x, y, z, yaw), (piece,), free=True, **common))
        else:
            joint = Joint("ball", damping=5e-4)
            before = f"{label}.{number - 1}"
            frame = at(math.dist(points[number - 1], points[number]), 0, 0, yaw - last_yaw)
            links.append(Thing(name, frame, (piece,), joint=joint, on=before, **common))
        last_yaw = yaw
    return links


def particles(label: str, poses: Sequence[Pose], size_m: float, rgb: Vector, *, kg: float = 0.002) -> list[Thing]:
    """Small loose cubes: dirt, drops."""
    cube = (box((size_m, size_m, size_m), rgb=rgb),)
    return [Thing(f"{label}.{number}", pose, cube, kg, free=True) for number, pose in enumerate(poses)]


CHEST_M, SHELF_M, LEGS_M = 0.30, 0.095, 0.04
CHEST_TOP_M = LEGS_M + 3 * SHELF_M + 0.02  # of a chest with three drawers


def chest(
    label: str,
    pose: Pose,
    drawers: Sequence[str],
    *,
    width_m: float = CHEST_M,
    shelf_m: float = SHELF_M,
    legs_m: float = LEGS_M,
) -> list[Thing]:
    """A chest on legs with drawers from the bottom up, which open towards -x; each is `label.NAME`."""
    wood, front = (0.62, 0.43, 0.26), (0.80, 0.62, 0.42)
    height, wall = shelf_m * len(drawers) + 0.02, 0.012
    half, middle = width_m / 2, legs_m + height / 2
    body: Pieces = (
        box((width_m, wall, height), (0, half - wall / 2, middle), wood),
        box((width_m, wall, height), (0, -half + wall / 2, middle), wood),
        box((wall, width_m, height), (half - wall / 2, 0, middle), wood),
        box((width_m, width_m, wall), (0, 0, legs_m + height - wall / 2), wood),
        box((width_m, width_m, wall / 2), (0, 0, legs_m), wood),
        *(box((0.03, 0.03, legs_m), (sx * (half - 0.015), sy * (half - 0.015), legs_m / 2), DARK)
          for sx in (-1, 1) for sy in (-1, 1)),
    )  # fmt: skip
    shell = Thing(label, pose, body, radius_m=half * 1.5)
    inner = (width_m - 2 * wall - 0.002, width_m - 2 * wall - 0.008, shelf_m - 0.014)
    return [
        shell,
        *(
            drawer(f"{label}.{name}", label, (-wall, 0, legs_m + 0.01 + shelf_m * (number + 0.5)), inner, front)
            for number, name in enumerate(drawers)
        ),
    ]
