"""The figures of the protocol, room, cameras and how many actions there are, and what a task is written with."""

from __future__ import annotations

from functools import partial

from pytest_vla.kit.hand_task import Draw, HandTask, Instance, hand_task
from pytest_vla.kit.room import Room
from pytest_vla.sim.view import looking_at

__all__ = ["KEYFRAMES", "ROOM", "SCAN_PX", "SMALL_STEPS", "Draw", "HandTask", "Instance", "task"]

KEYFRAMES = 25
SMALL_STEPS = 600  # half a minute
SCAN_PX = 128  # what a depth picture and its masks have each way, however large the pictures are
TABLE_M = 0.752

ROOM = Room(
    table_m=TABLE_M,
    low_m=(-0.275, -0.655, TABLE_M),
    high_m=(0.775, 0.655, TABLE_M + 1.0),
    cameras={
        "front": looking_at((1.35, 0.0, 0.828), (0.444, 0.0, 0.405), 40.0),
        "left_shoulder": looking_at((-0.175, 0.2, 1.228), (0.241, 0.127, 0.322), 40.0),
        "right_shoulder": looking_at((-0.175, -0.2, 1.228), (0.241, -0.127, 0.322), 40.0),
        "overhead": looking_at((0.10, 0.0, 1.35), (0.25, 0.0, 0.0), 42.0),
    },
    watched="front",
    centre=(0.25, 0.0),
    things_m=((0.0, -0.45), (0.5, 0.45)),
    spare_m=((0.02, -0.42), (0.48, 0.42)),
)

task = partial(hand_task, KEYFRAMES)
"""`@task(PARTITION, variations=N)` makes a function that draws an episode the task of its name."""
