"""Where objects may stand, read from the specification a second time: nothing here calls the suite's own sampling.

Free places are worked out as one interval in each row of the grid, because outlines are convex.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from pytest_vla.suites.vima.kit.scene import Thing
from pytest_vla.suites.vima.meshes import footprint_polygon, footprint_radius
from pytest_vla.suites.vima.objects import OBJECTS

CELL_M = 0.003125
X, Y = 0.25 + (np.arange(160) + 0.5) * CELL_M, -0.5 + (np.arange(320) + 0.5) * CELL_M
COLUMNS = np.arange(320)
SIZE_SHARES = np.linspace(0, 1, 9)  # where a nominal size is drawn from a range
PILES = [(0.5, -0.25), (0.5, 0.0), (0.5, 0.25)]
LISTED = ("follow_motion", "manipulate_old_neighbor", "pick_in_order_then_restore")


@dataclass
class Placement:
    """One object that was put on a table, and what its place had to respect."""

    role: str
    thing: Thing
    among: list[Thing]
    away: list[tuple[tuple[float, float], float]] = field(default_factory=list)
    """Further spots to keep a distance from (m)."""


def placements(task, episode):
    """Every object that was placed freely, in the order of placing."""
    things = episode.things
    if task.startswith("rearrange"):  # finds no room about once in 1,000 draws
        return rearranged(episode.instance) if episode.instance else []
    if task.startswith("same"):
        return gathered(things)
    if task == "follow_order":
        return one_by_one(things, first=len(PILES))
    if task in LISTED or task.startswith("sweep"):
        return []
    return one_by_one(things) + one_by_one(episode.scene, where="scene ")


def one_by_one(things, first=0, where=""):
    return [Placement(where + role(things[i].label), things[i], things[:i]) for i in range(first, len(things))]


def role(label):
    return label.rstrip("_0123456789")


def gathered(things):
    """Nothing starts within the tolerance of the base, nor the distractor within that of a target."""
    placed = one_by_one(things)
    for number, each in enumerate(placed[1:], 1):
        within = 0.0875 if things[0].look.shape == "bowl" else 0.125
        near = things[:number] if each.role == "distractor" else things[:1]
        each.away = [(other.spot, within) for other in near]
    return placed


def rearranged(instance):
    """Targets first; then the objects move from there to their starts, the last one first."""
    targets = list(instance.prompt.assets["scene"].things)
    starts = list(instance.things[: len(targets)])
    placed = one_by_one(targets, where="target ")

    def away(thing):
        return [(target.spot, max(0.1, clear_m(nominal(thing), nominal(target)))) for target in targets]

    for i in reversed(range(len(starts))):
        placed.append(Placement("start", starts[i], targets[: i + 1] + starts[i + 1 :], away(starts[i])))
    for distractor in instance.things[len(targets) :]:
        if distractor.spot == targets[0].spot:
            assert distractor.yaw == targets[0].yaw
        else:
            placed.append(Placement("distractor", distractor, starts, away(distractor)))
    return placed


def nominal(thing):
    return OBJECTS[thing.look.shape].size_high


def clear_m(size, other):
    return max((size[axis] + other[axis]) / 2 + 0.01 for axis in (0, 1))


def outline(thing):
    cos, sin = math.cos(thing.yaw), math.sin(thing.yaw)
    return footprint_polygon(thing.look.shape) @ np.array([[cos, sin], [-sin, cos]]) + thing.spot


def occupied(thing):
    """The first and the last column that the outline covers, for each row; none: infinities."""
    a = outline(thing)
    b = np.roll(a, -1, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        along = (X[:, None] - a[:, 0]) / (b - a)[:, 0]
        y = a[:, 1] + along * (b - a)[:, 1]
    crosses = (along >= 0) & (along <= 1)
    first = np.ceil((np.where(crosses, y, np.inf).min(axis=1) + 0.5) / CELL_M - 0.5)
    last = np.floor((np.where(crosses, y, -np.inf).max(axis=1) + 0.5) / CELL_M - 0.5)
    empty = first > last
    return np.where(empty, np.inf, first), np.where(empty, -np.inf, last)


def chances(placed):
    """How likely each cell of the grid is, by the specification."""
    spec, reach = OBJECTS[placed.thing.look.shape], outline(placed.thing) - placed.thing.spot
    box = [math.ceil(max(metres, 0) / CELL_M) for metres in (*-reach.min(axis=0), *reach.max(axis=0))]
    low, high = np.array(spec.size_low[:2]), np.array(spec.size_high[:2])
    sizes = [low] if (low == high).all() else [low + share * (high - low) for share in SIZE_SHARES]
    covered = [occupied(other) for other in placed.among]
    hollow = [other for other in placed.among if spec.hollow or OBJECTS[other.look.shape].hollow]
    total, by_side, in_box = np.zeros((len(X), len(Y))), {}, free(*box, covered)
    for size in sizes:
        side = round(math.hypot(*size) / CELL_M)
        before, after = side // 2, side - side // 2 - 1
        if side not in by_side:
            by_side[side] = free(before, before, after, after, covered) & in_box
        places = keep_away(by_side[side], [(other.spot, clear_m(size, nominal(other))) for other in hollow])
        total += places / max(places.sum(), 1)
    return keep_away(total, placed.away)


def free(up, left, down, right, covered):
    """Cells around which a box of so many cells, a cell off the edge of the table, meets nothing that is covered."""
    places = np.zeros((len(X), len(Y)), dtype=bool)
    places[up + 1 : len(X) - 1 - down, left + 1 : len(Y) - 1 - right] = True
    for first, last in covered:
        first, last = (np.pad(values, (up, down), constant_values=away) for values, away in
                       ((first, np.inf), (last, -np.inf)))  # fmt: skip
        first = sliding_window_view(first, up + down + 1).min(axis=1)
        last = sliding_window_view(last, up + down + 1).max(axis=1)
        rows = np.flatnonzero(first <= last)
        low, high = first[rows, None] - right, last[rows, None] + left
        places[rows] &= (low > COLUMNS) | (high < COLUMNS)
    return places


def keep_away(places, away):
    for (x, y), metres in away:
        places = places * (np.hypot(X[:, None] - x, Y[None, :] - y) > metres)
    return places


def sweep_allows(x, y, yaw, before, zone):
    """Whether a block may be put there: on the table, on none before it, and (with a zone) not in the zone; blocks that
    overlap not so near to the edge or the zone that they may be pushed there when they are parted."""
    allowed, crowded, parted, lost = x <= 0.75, *(np.zeros_like(x, dtype=bool) for _ in range(3))
    low, high, half = zone or (np.nan, np.nan, np.nan)  # nothing is in a zone that is not there
    for dx in (-0.015, 0.005):
        for dy in (-0.015, 0.005):
            at_x, at_y = x + math.cos(yaw) * dx - math.sin(yaw) * dy, y + math.sin(yaw) * dx + math.cos(yaw) * dy
            lost = lost | ((low <= at_x) & (at_x <= high) & (abs(at_y) <= half))

    def near(x, y):
        reach = 0.022 + 0.043 / 2
        return (x > 0.75 - 0.022) | ((low - reach <= x) & (x <= high + reach) & (abs(y) <= half + reach))

    for other in before:
        gap = np.hypot(x - other.spot[0], y - other.spot[1])
        allowed, overlap = allowed & (gap > 0.01), gap < 0.043
        crowded, parted = crowded | overlap, parted | (overlap & (near(x, y) | near(*other.spot)))
    return allowed & ~np.where(crowded, parted, lost)


def overlap_m(one, other):
    """How far two convex outlines reach into each other; the grid cannot tell less than a cell."""
    reach = footprint_radius(one.look.shape) + footprint_radius(other.look.shape)
    if math.dist(one.spot, other.spot) > reach:
        return 0.0
    a, b = outline(one), outline(other)
    edges = np.concatenate([np.roll(polygon, -1, axis=0) - polygon for polygon in (a, b)])
    normals = np.stack([edges[:, 1], -edges[:, 0]]) / np.linalg.norm(edges, axis=1)
    along_a, along_b = a @ normals, b @ normals
    return np.minimum(along_a.max(axis=0) - along_b.min(axis=0), along_b.max(axis=0) - along_a.min(axis=0)).min()
