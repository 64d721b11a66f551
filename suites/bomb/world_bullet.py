"""The table in PyBullet: the same scene, robot and cameras behind the same methods."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.cameras import lamp
from pytest_vla.kit.gantry import BOXES, RAMP_HZ, Box, ramp_counts
from pytest_vla.kit.images import Image
from pytest_vla.kit.layout import Spot
from pytest_vla.sim.bullet import BulletStage, BulletWorld, Camera, Light, Prop
from pytest_vla.sim.meshes.mesh import cube_corners
from pytest_vla.sim.pose import IDENTITY, Pose, Vector
from pytest_vla.sim.view import View

from .board import RIM, STONE_FRICTION, STONE_HEIGHT_M, STONE_KG
from .cameras import IMAGE_PX, views
from .edits import NEUTRAL, SceneEdits
from .meshes import load_mesh, stone_corners
from .rig import GANTRY
from .scene import Stone, StoneState, TableState
from .textures import BOARD_COLOUR, STONE_COLOURS, TABLE_COLOUR, board_image, stone_image, table_image

Array = NDArray[np.float64]

STEP_HZ = 250
SETTLE_STEPS = 40
STEPS_PER_RAMP = STEP_HZ // RAMP_HZ
SOLVER_ITERATIONS = 50
TABLE_FRICTION = FINGER_FRICTION = 1.0
SPIN_FRICTION = 0.002
ROLL_FRICTION = 0.0002
CARRIAGE_N, FINGER_N, GEAR_N = 200.0, GANTRY.grip_n, 50.0
BOARD_Z_M = 0.0005
BACKGROUND_Z_M = 0.0002
BOARD_PX = 192
WHITE: Vector = (1.0, 1.0, 1.0)
AMBIENT, DIFFUSE = 0.58, 0.50
MATT, GLOSSY = 0.05, 0.3  # specular
# Axis and parent (0: the ground, n: joint n - 1) of the slides x, y, z and of the two fingers.
JOINTS = (((1, 0, 0), 0), ((0, 1, 0), 1), ((0, 0, 1), 2), ((-1, 0, 0), 3), ((1, 0, 0), 3))
LEFT, RIGHT = 3, 4
ROBOT = "robot"


class GantryWorld(BulletWorld):
    """A Bullet world with the carriage in it: three slides, and two fingers that press with a limited force."""

    def reset(self) -> None:
        super().reset()
        self.p.setPhysicsEngineParameter(
            fixedTimeStep=1 / STEP_HZ, numSolverIterations=SOLVER_ITERATIONS, physicsClientId=self.id
        )
        self._robot = -1

    def add_robot(self, start: Array) -> None:
        p, c = self.p, self.id
        shapes = {part.carrier: self._box(part) for part in BOXES if part.solid}
        carried = [-1, -1, shapes["carriage"], shapes["left"], shapes["right"]]
        count = len(JOINTS)
        self._robot = p.createMultiBody(
            0, -1, -1, (0, 0, 0), IDENTITY,
            linkMasses=[0.1, 0.1, GANTRY.carriage_kg, GANTRY.finger_kg, GANTRY.finger_kg],
            linkCollisionShapeIndices=carried,
            linkVisualShapeIndices=[-1] * count,
            linkPositions=[(0, 0, 0)] * count,
            linkOrientations=[IDENTITY] * count,
            linkInertialFramePositions=[(0, 0, 0)] * count,
            linkInertialFrameOrientations=[IDENTITY] * count,
            linkParentIndices=[parent for _, parent in JOINTS],
            linkJointTypes=[p.JOINT_PRISMATIC] * count,
            linkJointAxis=[axis for axis, _ in JOINTS],
            physicsClientId=c,
        )  # fmt: skip
        for joint, value in enumerate((*start[:3], start[3] / 2, start[3] / 2)):
            p.resetJointState(self._robot, joint, float(value), physicsClientId=c)
            p.changeDynamics(
                self._robot, joint, lateralFriction=FINGER_FRICTION, linearDamping=0.0, jointDamping=0.0,
                physicsClientId=c,
            )  # fmt: skip
        gear = p.createConstraint(
            self._robot, LEFT, self._robot, RIGHT, p.JOINT_GEAR, (1, 0, 0), (0, 0, 0), (0, 0, 0), physicsClientId=c
        )
        p.changeConstraint(gear, gearRatio=-1, erp=0.2, maxForce=GEAR_N, physicsClientId=c)
        self._labels[self._robot] = ROBOT

    def _box(self, part: Box) -> int:
        shape: int = self.p.createCollisionShape(
            self.p.GEOM_BOX, halfExtents=part.half_m, collisionFramePosition=part.centre_m, physicsClientId=self.id
        )
        return shape

    def grind(self, label: str) -> None:
        """Give a body friction against spinning and rolling."""
        self.p.changeDynamics(
            self._bodies[label], -1, spinningFriction=SPIN_FRICTION, rollingFriction=ROLL_FRICTION,
            linearDamping=0.0, angularDamping=0.0, physicsClientId=self.id,
        )  # fmt: skip

    def aim(self, set_point: Array) -> None:
        """Where the joints' motors pull from now on."""
        half = float(set_point[3]) / 2
        self.p.setJointMotorControlArray(
            self._robot, range(len(JOINTS)), self.p.POSITION_CONTROL,
            targetPositions=[*(float(v) for v in set_point[:3]), half, half],
            forces=[CARRIAGE_N, CARRIAGE_N, CARRIAGE_N, FINGER_N, FINGER_N],
            positionGains=[0.3, 0.3, 0.3, 0.2, 0.2],
            physicsClientId=self.id,
        )  # fmt: skip

    def joints(self) -> list[float]:
        states = self.p.getJointStates(self._robot, range(len(JOINTS)), physicsClientId=self.id)
        return [state[0] for state in states]

    def digest(self) -> str:
        """A hash of every body and of the robot's joints."""
        states = self.p.getJointStates(self._robot, range(len(JOINTS)), physicsClientId=self.id)
        text = hashlib.blake2b(super().digest().encode(), digest_size=16)
        text.update(struct.pack("<10d", *(value for state in states for value in state[:2])))
        return text.hexdigest()


@dataclass(frozen=True, eq=False, slots=True)
class Moment:
    """Everything a picture needs: the props of one moment, the cameras, the light."""

    props: tuple[Prop, ...]
    cameras: dict[str, Camera]
    light: Light


class BulletBoard:
    """One worker's table."""

    renderer = "bullet-tiny"

    def __init__(self) -> None:
        self.world = GantryWorld()
        self.stage = BulletStage(load_mesh, _load_texture)

    def close(self) -> None:
        self.world.close()
        self.stage.close()

    def reset(self, stones: Sequence[Stone], edits: SceneEdits = NEUTRAL) -> None:
        self._stones, self._edits, world = tuple(stones), edits, self.world
        self._views = views(edits)
        self._light = _light(edits)
        self._counts = ramp_counts(edits.action_time)
        world.reset()
        world.add_floor("table", 0.0, TABLE_FRICTION)
        self._set_point = np.array([*(edits.tip_start_m or GANTRY.start_m), GANTRY.max_opening_m])
        world.add_robot(self._set_point)
        half = STONE_HEIGHT_M / 2 * edits.scale
        for stone in stones:
            dx, dy = edits.shifts_m.get(stone.label, (0.0, 0.0))
            world.add_solid(
                stone.label, "stone", lambda: [stone_corners()], Pose((stone.spot[0] + dx, stone.spot[1] + dy, half)),
                mass_kg=STONE_KG * edits.mass, friction=STONE_FRICTION * edits.friction, scale=(edits.scale,) * 3,
            )  # fmt: skip
            world.grind(stone.label)
        for block in edits.blocks:
            pose = Pose((*block.spot, block.half_m[2]))
            world.add_solid(block.label, "block", lambda: [cube_corners()], pose, mass_kg=block.kg, scale=block.half_m)
        world.aim(self._set_point)
        for _ in range(SETTLE_STEPS):
            world.step()

    def act(self, action: NDArray[np.float32]) -> None:
        """Move the set point towards the action's target for as long as an action lasts, and the physics with it."""
        for set_point in GANTRY.ramps(self._set_point, action, next(self._counts)):
            self._set_point = set_point
            self.world.aim(set_point)
            for _ in range(STEPS_PER_RAMP):
                self.world.step()

    def push(self, label: str, by_m: Spot) -> None:
        """Let a stone lie elsewhere from one moment to the next."""
        pose = self.world.pose(label)
        x, y, z = pose.position
        self.world.set_pose(label, replace(pose, position=(x + by_m[0], y + by_m[1], z)))

    def state(self) -> TableState:
        stones = {}
        for stone in self._stones:
            linear, _ = self.world.velocity(stone.label)
            stones[stone.label] = StoneState(self.world.pose(stone.label).position, math.hypot(*linear))
        x, y, z, left, right = self.world.joints()
        return TableState(stones, (x, y, z), left + right)

    def digest(self) -> str:
        text = self.world.digest().encode() + self._set_point.tobytes()
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    # --- pictures -----------------------------------------------------------------------------------------------------

    def snapshot(self) -> Moment:
        x, y, z, left, right = self.world.joints()
        edits, scale = self._edits, (self._edits.scale,) * 3
        table, board = edits.table_colour or TABLE_COLOUR, edits.board_colour or BOARD_COLOUR
        props = [
            Prop("table", Pose((0.0, 0.0, 0.0)), f"table|{edits.table_texture}", self._tinted(table)),
            Prop("board", Pose((*edits.board_m, BOARD_Z_M)), f"board|{edits.board_texture}", self._tinted(board)),
        ]
        props += self._rim()
        shifts = {"carriage": 0.0, "left": -left, "right": right}
        for part in BOXES:
            cx, cy, cz = part.centre_m
            pose = Pose((x + shifts[part.carrier] + cx, y + cy, z + cz))
            props.append(Prop("box", pose, None, self._tinted(part.rgb), part.half_m))
        for stone in self._stones:
            colour = edits.stone_colours.get(stone.colour, STONE_COLOURS[stone.colour])
            skin = f"stone|{edits.stone_texture}"
            props.append(Prop("stone", self.world.pose(stone.label), skin, self._tinted(colour), scale))
        for block in edits.blocks:
            props.append(Prop("box", self.world.pose(block.label), None, self._tinted(block.rgb), block.half_m))
        cameras = {
            "front": _camera(self._views["front"], (0.0, 0.0, 0.0)),
            "wrist": _camera(self._views["wrist"], (x, y, z)),
        }
        return Moment(tuple(props), cameras, self._light)

    def labelled(self, camera: str) -> tuple[NDArray[np.int32], Sequence[str]]:
        """What each pixel shows, as a row of a list of labels: stones, blocks, the robot; the first is none of them."""
        moment = self.snapshot()
        self.stage.show(moment.props)
        seen = self.stage.picture(moment.cameras[camera], moment.light).props
        blocks = [block.label for block in self._edits.blocks]
        things = [*[ROBOT] * len(BOXES), *(stone.label for stone in self._stones), *blocks]
        flat = len(moment.props) - len(things)  # table, board and rim come first
        return np.maximum(seen - flat + 1, 0).astype(np.int32), ["", *things]

    def _rim(self) -> list[Prop]:
        if self._edits.background is None:
            return []
        pattern, colour = self._edits.background
        skin, tint = f"background|{pattern}", self._tinted(colour)
        strips = zip(("side", "side", "end", "end"), RIM.strips(), strict=True)
        return [Prop(f"background_{mesh}", Pose((*middle, BACKGROUND_Z_M)), skin, tint) for mesh, (middle, _) in strips]

    def _tinted(self, rgb: Vector) -> tuple[float, float, float, float]:
        """A colour under this light: the renderer's own light colour leaves the ambient part white."""
        red, green, blue = (a * b for a, b in zip(rgb, self._edits.light.colour, strict=True))
        return red, green, blue, 1.0

    def picture(self, snapshot: Moment, camera: str) -> Image:
        self.stage.show(snapshot.props)
        return self.stage.picture(snapshot.cameras[camera], snapshot.light).rgb


def _camera(view: View, carrier: Vector) -> Camera:
    x, y, z = (a + b for a, b in zip(view.position, carrier, strict=True))
    focal_px = IMAGE_PX / 2 / math.tan(math.radians(view.fovy_deg) / 2)
    return Camera((x, y, z), view.forward, view.up, focal_px, 0.01, 5.0, IMAGE_PX, IMAGE_PX)


def _light(edits: SceneEdits) -> Light:
    """One lamp; gloss is drawn as its highlight, on everything alike. Its colour is in the props (see `_tinted`)."""
    gloss = (edits.board_gloss - NEUTRAL.board_gloss + edits.stone_gloss - NEUTRAL.stone_gloss) / 2
    moved = AMBIENT * edits.light.shadow  # it casts no shadows; light that would cast them leaves faces darker
    return Light(
        direction=lamp(edits.light),
        ambient=(AMBIENT - moved) * edits.light.brightness,
        diffuse=(DIFFUSE + moved) * edits.light.brightness,
        specular=MATT + GLOSSY * max(gloss, 0.0),
    )


def _load_texture(name: str) -> Image:
    """A pattern on white: its colour is the prop's, so that a few textures serve every episode."""
    kind, texture = name.split("|")
    if kind == "stone":
        return stone_image(texture)
    if kind in ("table", "background"):
        return table_image(texture, WHITE)
    # This renderer takes the nearest texel: with lines blurred to its pixels' size, none falls between two of them.
    fine = board_image(texture, WHITE, 3 * BOARD_PX)
    blurred: Image = np.rint(fine.reshape(BOARD_PX, 3, BOARD_PX, 3, 3).mean(axis=(1, 3))).astype(np.uint8)
    return blurred
