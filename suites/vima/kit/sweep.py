"""Sweeping: small blocks, a zone they belong in and a line they must not touch; the judge, and the oracle's pushes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.goals import ALMOST, Verdict, Ways
from pytest_vla.kit.layout import Spot, distance
from pytest_vla.sim.pose import Pose

from .moves import Move
from .scene import STAY_ON_TABLE, WORKSPACE_X_M, WORKSPACE_Y_M, Instance, TableState

SAMPLE_OFFSETS_M = (-0.015, 0.005)  # of the protocol: a block is looked at in 8 points, not quite around its centre
SAMPLES_M = tuple(product(SAMPLE_OFFSETS_M, repeat=3))


class Area(NamedTuple):
    """An upright rectangle on the table."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    @classmethod
    def around(cls, centre: Spot, depth_m: float, width_m: float) -> Area:
        x, y = centre
        return cls(x - depth_m / 2, x + depth_m / 2, y - width_m / 2, y + width_m / 2)

    def samples_in(self, pose: Pose) -> int:
        """How many of a block's 8 points lie in here."""
        x, y, z, w = pose.rotation
        row_x = (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y))
        row_y = (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x))
        count = 0
        for a, b, c in SAMPLES_M:
            at_x = pose.position[0] + row_x[0] * a + row_x[1] * b + row_x[2] * c
            at_y = pose.position[1] + row_y[0] * a + row_y[1] * b + row_y[2] * c
            count += self.x_low <= at_x <= self.x_high and self.y_low <= at_y <= self.y_high
        return count

    def near(self, pose: Pose, within_m: float) -> bool:
        x, y = pose.xy
        return (
            self.x_low - within_m <= x <= self.x_high + within_m
            and self.y_low - within_m <= y <= self.y_high + within_m
        )


_BLOCK_REACH_M = 0.03  # no sample point is farther from a block's centre


LOOK_EVERY = 25  # simulator steps between two looks at the line


class SweepJudge:
    """Exactly `number` of the targets swept into the zone, none of the others in it, and no target ever on the line.

    A target that was in counts as swept for good, a look is taken at the line every few moments, and only a target that
    is still wanted may not leave the table. Strict rules want the number in the zone at the end, look all the time, and
    want every block to stay on the table.
    """

    def __init__(
        self,
        targets: Iterable[str],
        others: Iterable[str],
        number: int,
        zone: Area,
        line: Area,
        *,
        strict: bool = False,
    ) -> None:
        self.targets, self.others = tuple(targets), tuple(others)
        self.number, self.zone, self.line, self.strict = number, zone, line, strict
        self.look_every = 1 if strict else LOOK_EVERY
        self._swept: set[str] = set()
        self._touched = ""
        self._ways = Ways()

    def look_at_line(self, state: TableState) -> None:
        """What happens on the way counts here: called every `look_every` simulator steps of a motion."""
        if not self._touched:
            for label in self.targets:
                pose = state[label]
                if self.line.near(pose, _BLOCK_REACH_M) and self.line.samples_in(pose):
                    self._touched = label

    def update(self, state: TableState) -> Verdict:
        self.look_at_line(state)
        inside = self.inside(state)
        if not self.strict:
            self._swept.update(inside)
        if self._touched:
            return Verdict(failure=f"{self._touched} came onto the line")
        if any(self.zone.samples_in(state[label]) for label in self.others):
            return Verdict(failure="a block of the other texture was swept in")
        if len(inside) > self.number:
            return Verdict(failure=f"{len(inside)} blocks were swept in, {self.number} were asked for")
        done = len(inside) == self.number
        left = next((label for label in self._to_stay(done) if not STAY_ON_TABLE.holds(state[label])), None)
        if left:
            return Verdict(failure=f"{left} left the workspace")
        return Verdict(success=done)

    def _to_stay(self, done: bool) -> Iterable[str]:
        """The blocks that may not leave the table now."""
        if self.strict:
            return (*self.targets, *self.others)
        return () if done else [label for label in self.targets if label not in self._swept]

    def inside(self, state: TableState) -> list[str]:
        """The targets that count as swept in."""
        return [
            label
            for label in self.targets
            if label in self._swept or self.zone.samples_in(state[label]) == len(SAMPLES_M)
        ]

    def progress(self, state: TableState) -> float:
        """Blocks that are in, plus how near the next ones have come, out of the number asked for."""
        inside = self.inside(state)
        ways = []
        for label in self.targets:
            made = self._ways.made(label, self._gap(state[label]))
            if label not in inside:
                ways.append(ALMOST * made)
        best = sorted(ways, reverse=True)[: max(self.number - len(inside), 0)]
        return min((len(inside) + sum(best)) / self.number, 1.0)

    def _gap(self, pose: Pose) -> float:
        x, y = pose.xy
        dx = max(self.zone.x_low - x, x - self.zone.x_high, 0.0)
        dy = max(self.zone.y_low - y, y - self.zone.y_high, 0.0)
        return math.hypot(dx, dy)


# --- the oracle -------------------------------------------------------------------------------------------------------

BLADE_HALF_M = 0.025
BLOCK_HALF_M = 0.0215  # half a diagonal
START_BEHIND_M = 0.034  # the blade comes down this far behind a block's centre ...
BACKS_M = (START_BEHIND_M - 0.02, 0.007, 0.0)  # ... or nearer, where a move would have to begin off the table
REST_AHEAD_M = 0.021  # a pushed block comes to rest about this far ahead of the blade
LANES_M = (0.0, 0.008, -0.008, 0.016, -0.016)  # how far off a block's centre the blade may push
ROOM_M = 0.004  # what a push should leave to everything that must stay where it is ...
NO_ROOM_M = -0.02  # ... and what is hopeless
DETOURS = 30
Grid = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Push:
    """One way to push a block, and how much room it leaves to everything that must stay where it is."""

    label: str
    target: Spot
    lane_m: float
    room_m: float

    def move(self, state: TableState) -> Move:
        block = np.asarray(state[self.label].xy)
        ahead = np.asarray(self.target) - block
        ahead /= np.linalg.norm(ahead)
        side = np.array([-ahead[1], ahead[0]]) * self.lane_m
        backs = (block + side - back * ahead for back in BACKS_M)
        start = next((spot for spot in backs if _on_table(spot)), block + side)
        end = np.asarray(self.target) + side + (0.05 - REST_AHEAD_M) * ahead
        return Move((float(start[0]), float(start[1])), (float(end[0]), float(end[1])))


def _on_table(spot: Grid) -> bool:
    return bool(WORKSPACE_X_M[0] <= spot[0] <= WORKSPACE_X_M[1] and WORKSPACE_Y_M[0] <= spot[1] <= WORKSPACE_Y_M[1])


def plan_push(instance: Instance, state: TableState) -> Move | None:
    """The next push: a wanted block straight in, else to where that will be possible, else something out of the way."""
    judge = instance.judge
    assert isinstance(judge, SweepJudge), "sweeping needs a SweepJudge"
    outside = [label for label in judge.targets if label not in judge.inside(state)]
    inside, table = _grid_in(judge.zone), _open_table(judge.zone)
    direct = _best(push for label in outside for push in _pushes(judge, state, label, inside, most=1))
    if direct and direct.room_m > ROOM_M:
        return direct.move(state)
    detours = [push for label in outside for push in _pushes(judge, state, label, table, most=DETOURS)]
    for push in sorted(detours, key=lambda push: -push.room_m):
        if push.room_m > ROOM_M and _leads_in(judge, state, push, inside):
            return push.move(state)
    crowding = sorted({other for label in outside for other in _neighbours(judge, state, label)})
    clearing = _best(push for label in crowding for push in _pushes(judge, state, label, table, most=1))
    best = _best(push for push in (direct, clearing) if push)
    return best.move(state) if best else None


def _best(pushes: Iterable[_Push]) -> _Push | None:
    return max(pushes, key=lambda push: push.room_m, default=None)


def _neighbours(judge: SweepJudge, state: TableState, label: str, within_m: float = 0.09) -> list[str]:
    """Blocks that stand so near that a push of this one would catch them."""
    blocks = (*judge.targets, *judge.others)
    return [b for b in blocks if b != label and distance(state[b].xy, state[label].xy) < within_m]


def _leads_in(judge: SweepJudge, state: TableState, push: _Push, inside: Grid) -> bool:
    """Whether a block that was pushed there could be pushed straight in."""
    after = {**state, push.label: Pose((*push.target, state[push.label].position[2]))}
    return any(onwards.room_m > ROOM_M for onwards in _pushes(judge, after, push.label, inside, most=1))


def _pushes(judge: SweepJudge, state: TableState, label: str, targets: Grid, most: int) -> list[_Push]:
    """The roomiest pushes of one block to a grid of targets, in any lane, that keep off the line."""
    block = np.asarray(state[label].xy)
    way = targets - block
    length = np.linalg.norm(way, axis=1)
    keep = length > 0.03
    targets, ahead, length = targets[keep], way[keep] / length[keep, None], length[keep]
    room = np.full(len(targets), 0.03)
    if label in judge.targets:
        room = np.minimum(room, _room_to_line(judge.line, block, targets))
    start = block - START_BEHIND_M * ahead
    others = np.array([state[other].xy for other in (*judge.targets, *judge.others) if other != label]).reshape(-1, 2)
    lanes = np.asarray(LANES_M)[:, None]
    free = room - 0.3 * np.abs(lanes)
    side = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
    for other in others:
        offset = other - start
        along, across = (offset * ahead).sum(axis=1), np.abs((offset * side).sum(axis=1) - lanes)
        beside = across - BLADE_HALF_M - BLOCK_HALF_M
        before = np.maximum(-along, along - length - START_BEHIND_M) - BLOCK_HALF_M
        free = np.minimum(free, np.maximum(beside, before))
    order = np.argsort(-free, axis=None, kind="stable")[:most]
    picked = [divmod(int(flat), len(targets)) for flat in order]
    return [
        _Push(label, (float(targets[t][0]), float(targets[t][1])), LANES_M[lane], float(free[lane, t]))
        for lane, t in picked
        if free[lane, t] > NO_ROOM_M
    ]


def _room_to_line(line: Area, block: Grid, targets: Grid) -> Grid:
    """How far a block's way stays from the line, sampled along the way."""
    steps = np.linspace(0, 1, 25)[:, None, None]
    way = block + (targets - block) * steps
    dx = np.maximum(line.x_low - way[..., 0], way[..., 0] - line.x_high)
    dy = np.maximum(line.y_low - way[..., 1], way[..., 1] - line.y_high)
    return np.asarray(np.maximum(dx, dy).min(axis=0)) - BLOCK_HALF_M


@cache
def _grid_in(zone: Area) -> Grid:
    """Where a block's centre may come to rest in the zone, with room for a few millimetres of error."""
    low, high, slack = -SAMPLE_OFFSETS_M[0], SAMPLE_OFFSETS_M[1], 0.012
    x = np.linspace(zone.x_low + low + slack, zone.x_high - high - slack, 5)
    y = np.linspace(zone.y_low + low + slack, zone.y_high - high - slack, 9)
    return np.array([(a, b) for a in x for b in y])


@cache
def _open_table(zone: Area) -> Grid:
    """Places in front of the zone and beside it."""
    x, y = np.linspace(0.52, 0.70, 7), np.linspace(-0.34, 0.34, 15)
    spots = np.array([(a, b) for a in x for b in y])
    out = (spots[:, 0] > zone.x_high + 0.03) | (spots[:, 1] < zone.y_low - 0.03) | (spots[:, 1] > zone.y_high + 0.03)
    return np.asarray(spots[out])
