"""Which thing each pixel shows, by what it is for in the episode: the stone, its target, the gripper, the rest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.sim.pose import Vector
from pytest_vla.sim.view import View

from .board import BOARD_M, spot_of
from .cameras import IMAGE_PX, views
from .scene import Put, stone_of

if TYPE_CHECKING:
    from .env import BombEnv

NAMES = ("table", "board", "gripper", "stone", "target", "other stones", "distractors")
TABLE, BOARD, GRIPPER, STONE, TARGET, OTHERS, DISTRACTORS = range(len(NAMES))
TARGET_M = 0.016  # radius of what counts as the target: the lines that cross there, and a stone's width


def segments(env: BombEnv, camera: str) -> tuple[NDArray[np.int32], dict[int, str]]:
    """Numbers by pixel and their names; a stone that a goal is about is `stone`, where it belongs is `target`."""
    stones = {stone.label for stone in (*env.instance.stones, *env.edits.extra_stones)}
    meant = {stone_of(env.instance, goal).label for goal in env.instance.goals}
    blocks = {block.label for block in env.edits.blocks}
    ids, labels = env.world.labelled(camera)
    role = {label: STONE if label in meant else OTHERS for label in stones} | dict.fromkeys(blocks, DISTRACTORS)
    numbers = np.array([role.get(label, GRIPPER if label else TABLE) for label in labels], np.int32)
    made = numbers[ids]
    x, y = table_points(views(env.edits)[camera], env.state.tip if camera == "wrist" else (0.0, 0.0, 0.0))
    flat = made == TABLE
    board_x, board_y = env.edits.board_m
    made[flat & (np.maximum(abs(x - board_x), abs(y - board_y)) <= BOARD_M / 2)] = BOARD
    for goal in env.instance.goals:
        if isinstance(goal, Put):
            target_x, target_y = spot_of(goal.position, env.edits.board_m)
            made[(np.hypot(x - target_x, y - target_y) < TARGET_M) & ((made == BOARD) | (made == TABLE))] = TARGET
    return made, dict(enumerate(NAMES))


def table_points(view: View, carrier: Vector) -> tuple[Any, Any]:
    """Where on the table's plane each pixel looks (x, y in metres); far away where it looks past it."""
    eye = np.add(view.position, carrier)
    reach = math.tan(math.radians(view.fovy_deg) / 2)
    across = ((np.arange(IMAGE_PX) + 0.5) / IMAGE_PX * 2 - 1) * reach
    rays = (
        np.asarray(view.forward)
        + across[None, :, None] * np.asarray(view.right)
        - across[:, None, None] * np.asarray(view.up)
    )
    down = np.minimum(rays[..., 2], -1e-6)
    far = -eye[2] / down
    return eye[0] + far * rays[..., 0], eye[1] + far * rays[..., 1]
