"""The table in MuJoCo: stones and edits become a scene, and that alone decides what happens."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.layout import Spot
from pytest_vla.kit.mujoco_table import JOINTS, MujocoTable, add_gantry, add_rim, lights
from pytest_vla.sim.mujoco.scene import Scene, friction

from .board import BOARD_M, RIM, STONE_FRICTION, STONE_HEIGHT_M, STONE_KG, STONE_RADIUS_M, TABLE_HALF_M
from .cameras import IMAGE_PX, views
from .edits import NEUTRAL, SceneEdits
from .rig import GANTRY
from .scene import Stone, StoneState, TableState
from .textures import STONE_COLOURS, board_image, stone_image, table_image

FREE_POSITION, FREE_VELOCITY = 7, 6  # numbers for a body that moves freely


class MujocoBoard(MujocoTable):
    """One worker's table with the board let into it."""

    def __init__(self) -> None:
        super().__init__(GANTRY, IMAGE_PX)

    def reset(self, stones: Sequence[Stone], edits: SceneEdits = NEUTRAL) -> None:
        self._labels = [stone.label for stone in stones]
        self.load(scene_of(stones, edits), edits.tip_start_m, edits.action_time)

    def push(self, label: str, by_m: Spot) -> None:
        """Let a stone lie elsewhere from one moment to the next."""
        first = JOINTS + FREE_POSITION * self._labels.index(label)
        self.world.data.qpos[first : first + 2] += by_m
        self.world.forward()

    def labelled(self, camera: str) -> tuple[NDArray[np.int32], Sequence[str]]:
        """What each pixel shows, as a row of a list of labels: stones, blocks, the robot; the first is none."""
        model = self.world.snapshot().model
        body = self.stage.scan(self.world.snapshot(), camera).body
        names = [model.body(number).name for number in range(1, model.nbody)]
        return np.maximum(body, 0), ["", *names]

    def state(self) -> TableState:
        data, count = self.world.data, len(self._labels)
        places = data.qpos[JOINTS:].reshape(-1, FREE_POSITION)[:count, :3].tolist()
        speeds = data.qvel[JOINTS:].reshape(-1, FREE_VELOCITY)[:count, :3].tolist()
        stones = {
            label: StoneState(tuple(place), math.hypot(*speed))
            for label, place, speed in zip(self._labels, places, speeds, strict=True)
        }
        return TableState(stones, *self.hand())


def scene_of(stones: Sequence[Stone], edits: SceneEdits) -> Scene:
    """Joints come in this order: the robot's, the stones', the blocks'."""
    scene, cameras = Scene(lights(edits.light)), views(edits)
    scene.table(TABLE_HALF_M, table_image(edits.table_texture, edits.table_colour))
    add_rim(scene, RIM, edits.background)
    gloss, board = edits.board_gloss, board_image(edits.board_texture, edits.board_colour)
    scene.material("board", board, gloss=_shine(gloss), reflectance=0.3 * gloss)
    scene.material("stone", stone_image(edits.stone_texture), gloss=_shine(edits.stone_gloss))
    scene.camera("front", cameras["front"])
    at, size = (*edits.board_m, 0.0), (BOARD_M / 2, BOARD_M / 2, 0.0005)
    scene.shape(scene.ground, "box", size, pos=at, material="board", solid=False, name="board")
    add_gantry(scene, GANTRY, cameras["wrist"])
    for stone in stones:
        _add_stone(scene, stone, edits)
    for block in edits.blocks:
        block.add_to(scene)
    return scene


def _add_stone(scene: Scene, stone: Stone, edits: SceneEdits) -> None:
    """A flat cylinder that collides, and the lens of the same size that is seen."""
    (x, y), (dx, dy) = stone.spot, edits.shifts_m.get(stone.label, (0.0, 0.0))
    radius, half = STONE_RADIUS_M * edits.scale, STONE_HEIGHT_M / 2 * edits.scale
    body, grip = scene.body(stone.label, (x + dx, y + dy, half), free=True), friction(STONE_FRICTION * edits.friction)
    mass = STONE_KG * edits.mass
    scene.shape(body, "cylinder", (radius, half), material="", mass=mass, group=3, priority=1, friction=grip)
    colour = edits.stone_colours.get(stone.colour, STONE_COLOURS[stone.colour])
    scene.shape(body, "ellipsoid", (radius, radius, half), material="stone", rgb=colour, solid=False)


def _shine(gloss: float) -> tuple[float, float]:
    return gloss, 0.1 + 0.6 * gloss
