"""The robot of this suite: the kit's gantry with a workspace over the board, the same in both simulators."""

from __future__ import annotations

from pytest_vla.kit.gantry import GRIPPER, HEIGHT, Gantry

__all__ = ["GANTRY", "GRIPPER", "HEIGHT", "HIGH", "LOW", "START_M"]

GANTRY = Gantry(low_m=(-0.20, -0.14, 0.001), high_m=(0.20, 0.14, 0.120), start_m=(0.0, 0.12, 0.10))
LOW, HIGH, START_M = GANTRY.low, GANTRY.high, GANTRY.start_m
