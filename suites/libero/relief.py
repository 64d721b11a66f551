"""The heights of a piece of the scene, cast by rays from above, and the grasps that are to be found on them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

Array = Any

TIP_M = 0.011  # the fingers' ends are that far below the point that is steered
PALM_M = 0.036  # and the palm that far above it
GRID_M = 0.004
SPAN_M = 0.13  # of a map, to each side
YAWS_DEG = tuple(range(-90, 90, 15))


@dataclass(frozen=True)
class Grasp:
    """Where the point between the fingers goes, how the hand is turned about the vertical, and how good that is."""

    position: Array
    yaw: float
    score: float


class Relief:
    """The heights of a piece of the scene, seen from above, and which of them belong to one thing."""

    def __init__(
        self,
        model: Any,
        data: Any,
        centre: Array,
        own: set[int],
        without: set[int],
        span: float = SPAN_M,
        grid: float = GRID_M,
    ) -> None:
        self.centre = np.asarray(centre)
        steps = np.arange(-span, span + grid / 2, grid)
        self.x, self.y = np.meshgrid(centre[0] + steps, centre[1] + steps, indexing="ij")
        self.heights = np.zeros_like(self.x)
        self.own = np.zeros(self.x.shape, dtype=bool)
        groups, colours = model.geom_group.copy(), model.geom_rgba.copy()
        model.geom_group[list(without)] = 5
        model.geom_rgba[:, 3] = 1.0  # rays go through what cannot be seen
        try:
            self._cast(model, data, own)
        finally:
            model.geom_group[:], model.geom_rgba[:] = groups, colours

    def _cast(self, model: Any, data: Any, own: set[int]) -> None:
        only, hit, down, top = (
            np.array([1, 0, 0, 0, 0, 0], np.uint8),
            np.zeros(1, np.int32),
            np.array([0, 0, -1.0]),
            2.0,
        )
        for index in np.ndindex(self.x.shape):
            start = np.array([self.x[index], self.y[index], top])
            distance = mujoco.mj_ray(model, data, start, down, only, 1, -1, hit)
            if distance >= 0:
                self.heights[index] = top - distance
                self.own[index] = int(hit[0]) in own

    def under_palm(self, yaw: float) -> float:
        """The highest of what is under a hand in the middle that is turned like this."""
        off = np.stack([self.x - self.centre[0], self.y - self.centre[1]], -1)
        u = off @ [-math.sin(yaw), math.cos(yaw)]
        v = off @ [math.cos(yaw), math.sin(yaw)]
        return float(self.heights[(np.abs(v) < 0.035) & (np.abs(u) < 0.11)].max())

    def grasps(self, middle: Array) -> Iterator[Grasp]:
        """Every place and turn of the hand at which the fingers are clear and something is between them."""
        if not self.own.any():
            return
        xs, ys = self.x[self.own], self.y[self.own]
        points = np.stack([self.x.ravel(), self.y.ravel()], 1)
        heights, own = self.heights.ravel(), self.own.ravel()
        candidates = np.stack([xs, ys], 1)[:: max(1, len(xs) // 150)]
        for yaw_deg in YAWS_DEG:
            yaw = math.radians(yaw_deg)
            across = np.array([-math.sin(yaw), math.cos(yaw)])  # along which the fingers close
            along = np.array([math.cos(yaw), math.sin(yaw)])
            for spot in candidates:
                off = points - spot
                u, v = off @ across, off @ along
                grasp = _judge(u, v, heights, own, spot, yaw, middle)
                if grasp is not None:
                    yield grasp


def _judge(u: Array, v: Array, heights: Array, own: Array, spot: Array, yaw: float, middle: Array) -> Grasp | None:
    narrow = np.abs(v) < 0.012
    fingers = narrow & (np.abs(u) > 0.034) & (np.abs(u) < 0.056)
    between = (np.abs(v) < 0.009) & (np.abs(u) < 0.032)
    held = between & own
    if not held.any() or not fingers.any():
        return None
    floor = heights[fingers].max() + 0.003
    top = np.percentile(heights[held], 90)
    palm = heights[(np.abs(v) < 0.05) & (np.abs(u) < 0.11)].max()
    tip = max(floor, top - 0.030, palm - PALM_M - TIP_M)
    depth = top - tip
    if depth < 0.008:
        return None
    solid = held & (heights > tip + 0.004)
    if solid.sum() < 4 or np.ptp(v[solid]) < 0.010:
        return None
    lopsided = abs(float((u[solid].max() + u[solid].min()) / 2))
    away = float(np.hypot(*(spot - middle[:2])))
    score = min(depth, 0.025) * 40 - 4 * away - 15 * lopsided - 0.15 * abs(yaw)
    return Grasp(np.array([*spot, tip + TIP_M]), yaw, score)
