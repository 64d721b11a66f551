"""The table in MuJoCo: scene and edits become one MJCF text, and that alone decides what happens."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.cameras import View, lamp
from pytest_vla.kit.edits import LightEdit
from pytest_vla.kit.images import Image
from pytest_vla.sim.mujoco import MujocoStage, MujocoWorld, Snapshot
from pytest_vla.sim.pose import Vector

from . import rig
from .board import (
    BLOCK_KG,
    BOARD_M,
    STONE_FRICTION,
    STONE_HEIGHT_M,
    STONE_KG,
    STONE_RADIUS_M,
    TABLE_HALF_M,
    TABLE_REPEATS,
)
from .cameras import IMAGE_PX, views
from .edits import NEUTRAL, SceneEdits
from .scene import Block, Stone, StoneState, TableState
from .textures import BOARD_PX, STONE_COLOURS, STONE_PX, TABLE_PX, board_image, stone_image, table_image

STEP_S = 0.0025
SETTLE_STEPS = 60
STEPS_PER_RAMP = round(1 / rig.RAMP_HZ / STEP_S)
CARRIAGE_N_M = 3000.0
FINGER_N_M = 400.0
SPIN_FRICTION_M = 0.002
ROLL_FRICTION_M = 0.0001
AMBIENT, HEAD, LAMP = 0.38, 0.20, 0.50
SEE_THROUGH = 'contype="2" conaffinity="0" mass="0"'  # collides with nothing, yet rays find it
JOINTS = 5  # of the robot: x, y, z, left and right finger
FREE_POSITION, FREE_VELOCITY = 7, 6  # numbers for a body that moves freely


class MujocoTable:
    """One worker's table."""

    def __init__(self) -> None:
        self.world = MujocoWorld()
        self.stage = MujocoStage(IMAGE_PX, IMAGE_PX)

    @property
    def renderer(self) -> str:
        return f"mujoco-{self.stage.renderer}"

    def close(self) -> None:
        self.stage.close()

    def reset(self, stones: Sequence[Stone], edits: SceneEdits = NEUTRAL) -> None:
        self._labels = [stone.label for stone in stones]
        self._shadow = edits.light.shadow > 0
        textures = {
            "table": table_image(edits.table_texture, edits.table_colour),
            "board": board_image(edits.board_texture, edits.board_colour),
            "stone": stone_image(edits.stone_texture),
        }
        self.world.load(mjcf(stones, edits), textures)
        start = np.array([*(edits.tip_start_m or rig.START_M), rig.MAX_OPENING_M])
        data = self.world.data
        data.qpos[:JOINTS] = *start[:3], start[3] / 2, start[3] / 2
        self._aim(start)
        self.world.forward()
        self.world.step(SETTLE_STEPS)

    def act(self, action: NDArray[np.float32]) -> None:
        """Move the set point towards the action's target for one control period, and the physics with it."""
        target = rig.limited(action)
        for _ in range(rig.RAMP_HZ // rig.CONTROL_HZ):
            self._aim(rig.ramp(self._set_point, target, 1 / rig.RAMP_HZ))
            self.world.step(STEPS_PER_RAMP)

    def _aim(self, set_point: NDArray[np.float64]) -> None:
        self._set_point = set_point
        self.world.data.ctrl[:3] = set_point[:3]
        self.world.data.ctrl[3] = set_point[3] / 2

    def state(self) -> TableState:
        data, count = self.world.data, len(self._labels)
        places = data.qpos[JOINTS:].reshape(-1, FREE_POSITION)[:count, :3].tolist()
        speeds = data.qvel[JOINTS:].reshape(-1, FREE_VELOCITY)[:count, :3].tolist()
        x, y, z, left, right = data.qpos[:JOINTS].tolist()
        stones = {
            label: StoneState(tuple(place), math.hypot(*speed))
            for label, place, speed in zip(self._labels, places, speeds, strict=True)
        }
        return TableState(stones, (x, y, z), left + right)

    def snapshot(self) -> tuple[Snapshot, bool]:
        return self.world.snapshot(), self._shadow

    def picture(self, snapshot: tuple[Snapshot, bool], camera: str) -> Image:
        moment, shadow = snapshot
        return self.stage.picture(moment, camera, shadows=shadow)

    def digest(self) -> str:
        return self.world.digest()


def mjcf(stones: Sequence[Stone], edits: SceneEdits) -> str:
    """The scene as text. Joints come in this order: the carriage's x, y, z, the fingers, the stones, the blocks."""
    cameras = views(edits)
    return f"""
<mujoco model="bomb">
  <compiler angle="degree"/>
  <option timestep="{STEP_S}" integrator="implicitfast" cone="elliptic" impratio="10" iterations="20"/>
  <statistic extent="0.6" center="0 0 0"/>
  <visual>
    {_headlight(edits.light)}
    <map znear="0.01" zfar="5" shadowclip="1"/>
    <quality numslices="24" numstacks="12"/>
  </visual>
  <default>
    <geom friction="{STONE_FRICTION} {SPIN_FRICTION_M} {ROLL_FRICTION_M}" condim="4" solref="0.006 1"/>
  </default>
  <asset>
    <texture name="table" type="2d" builtin="flat" width="{TABLE_PX}" height="{TABLE_PX}"/>
    <texture name="board" type="2d" builtin="flat" width="{BOARD_PX}" height="{BOARD_PX}"/>
    <texture name="stone" type="2d" builtin="flat" width="{STONE_PX}" height="{STONE_PX}"/>
    <material name="table" texture="table" texrepeat="{TABLE_REPEATS} {TABLE_REPEATS}" specular="0" shininess="0"/>
    <material name="board" texture="board" {_gloss(edits.board_gloss)} reflectance="{0.3 * edits.board_gloss}"/>
    <material name="stone" texture="stone" {_gloss(edits.stone_gloss)}/>
    <material name="robot" specular="0.2" shininess="0.3"/>
  </asset>
  <worldbody>
    {_lamp(edits.light)}
    {_camera("front", cameras["front"])}
    <geom name="table" type="plane" size="{TABLE_HALF_M} {TABLE_HALF_M} 0.1" material="table"/>
    <geom name="board" type="box" size="{BOARD_M / 2} {BOARD_M / 2} 0.0005" material="board" {SEE_THROUGH}/>
    <body name="carriage" gravcomp="1">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <inertial pos="0 0 0.05" mass="{rig.CARRIAGE_KG}" diaginertia="1e-3 1e-3 1e-3"/>
      {_camera("wrist", cameras["wrist"])}
      {_parts("carriage")}
      <body name="left" gravcomp="1">
        <joint name="left" type="slide" axis="-1 0 0" range="0 {rig.MAX_OPENING_M / 2}" limited="true" damping="2"/>
        <inertial pos="0 0 0.016" mass="{rig.FINGER_KG}" diaginertia="1e-5 1e-5 1e-5"/>
        {_parts("left")}
      </body>
      <body name="right" gravcomp="1">
        <joint name="right" type="slide" axis="1 0 0" range="0 {rig.MAX_OPENING_M / 2}" limited="true" damping="2"/>
        <inertial pos="0 0 0.016" mass="{rig.FINGER_KG}" diaginertia="1e-5 1e-5 1e-5"/>
        {_parts("right")}
      </body>
    </body>
    {"".join(_stone(stone, edits) for stone in stones)}
    {"".join(_block(block) for block in edits.blocks)}
  </worldbody>
  <equality>
    <joint joint1="right" joint2="left" solref="0.005 1"/>
  </equality>
  <actuator>
    <position joint="x" kp="{CARRIAGE_N_M}" dampratio="1"/>
    <position joint="y" kp="{CARRIAGE_N_M}" dampratio="1"/>
    <position joint="z" kp="{CARRIAGE_N_M}" dampratio="1"/>
    <position joint="left" kp="{FINGER_N_M}" dampratio="1" forcerange="-{2 * rig.GRIP_N} {2 * rig.GRIP_N}"/>
  </actuator>
</mujoco>
"""


def _stone(stone: Stone, edits: SceneEdits) -> str:
    """A flat cylinder that collides, and the lens of the same size that is seen."""
    dx, dy = edits.shifts_m.get(stone.label, (0.0, 0.0))
    radius, half = STONE_RADIUS_M * edits.scale, STONE_HEIGHT_M / 2 * edits.scale
    friction = STONE_FRICTION * edits.friction
    colour = edits.stone_colours.get(stone.colour, STONE_COLOURS[stone.colour])
    return f"""
    <body name="{stone.label}" pos="{stone.spot[0] + dx} {stone.spot[1] + dy} {half}">
      <freejoint/>
      <geom type="cylinder" size="{radius} {half}" mass="{STONE_KG * edits.mass}" group="3" priority="1"
        friction="{friction} {SPIN_FRICTION_M} {ROLL_FRICTION_M}"/>
      <geom type="ellipsoid" size="{radius} {radius} {half}" material="stone" rgba="{_text(colour)} 1" {SEE_THROUGH}/>
    </body>"""


def _block(block: Block) -> str:
    x, y = block.spot
    return f"""
    <body name="{block.label}" pos="{x} {y} {block.half_size_m[2]}">
      <freejoint/>
      <geom type="box" size="{_text(block.half_size_m)}" mass="{BLOCK_KG}" material="robot"
        rgba="{_text(block.rgb)} 1"/>
    </body>"""


def _parts(carrier: rig.Carrier) -> str:
    return "\n      ".join(
        f'<geom type="box" pos="{_text(part.centre_m)}" size="{_text(part.half_m)}" material="robot" '
        f'rgba="{_text(part.rgb)} 1" {"" if part.solid else SEE_THROUGH}/>'
        for part in rig.PARTS
        if part.carrier == carrier
    )


def _camera(name: str, view: View) -> str:
    axes = f"{_text(view.right)} {_text(view.up)}"
    return f'<camera name="{name}" pos="{_text(view.position)}" xyaxes="{axes}" fovy="{view.fovy_deg}"/>'


def _headlight(light: LightEdit) -> str:
    ambient = _rgb(AMBIENT * (1 - light.shadow), light)
    return f'<headlight ambient="{ambient}" diffuse="{_rgb(HEAD, light)}" specular="0 0 0"/>'


def _lamp(light: LightEdit) -> str:
    x, y, z = lamp(light)
    diffuse, casts = _rgb(LAMP + AMBIENT * light.shadow, light), str(light.shadow > 0).lower()
    return (
        f'<light type="directional" pos="{x} {y} {z}" dir="{-x} {-y} {-z}" ambient="0 0 0" '
        f'diffuse="{diffuse}" specular="{_rgb(LAMP, light)}" castshadow="{casts}"/>'
    )


def _gloss(gloss: float) -> str:
    return f'specular="{gloss}" shininess="{0.1 + 0.6 * gloss}"'


def _rgb(strength: float, light: LightEdit) -> str:
    return _text(tuple(strength * light.brightness * c for c in light.colour))


def _text(vector: tuple[float, ...] | Vector) -> str:
    return " ".join(map(repr, vector))
