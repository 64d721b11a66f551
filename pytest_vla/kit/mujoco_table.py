"""The gantry in MuJoCo: a robot that is added to a scene first, the light, and the table on which it acts."""

from __future__ import annotations

import numpy as np

from pytest_vla.kit.cameras import lamp
from pytest_vla.kit.edits import LightEdit
from pytest_vla.kit.gantry import BOXES, RAMP_HZ, Action, Array, Gantry, ramp_counts
from pytest_vla.kit.images import Image
from pytest_vla.kit.layout import Rim
from pytest_vla.kit.patterns import PATTERNS, painted
from pytest_vla.sim.mujoco import MujocoStage, MujocoWorld, Snapshot
from pytest_vla.sim.mujoco.scene import PAINT, STEP_S, Lights, Scene
from pytest_vla.sim.pose import Vector
from pytest_vla.sim.view import View

SETTLE_STEPS = 60
STEPS_PER_RAMP = round(1 / RAMP_HZ / STEP_S)
CARRIAGE_N_M = 3000.0
FINGER_N_M = 400.0
AMBIENT, HEAD, LAMP = 0.38, 0.20, 0.50
JOINTS = 5  # of the robot: x, y, z, left and right finger
BODIES = 3  # its carriage and fingers
BACKGROUND_PX = 256
BACKGROUND_PER_M = 2.0  # repeats of its pattern
BACKGROUND_M = 0.0001  # half its thickness


def add_gantry(scene: Scene, gantry: Gantry, wrist: View) -> None:
    """The robot, with a camera on its carriage. Its joints must be the first of the scene."""
    mj, spec = scene.mj, scene.spec
    scene.material(PAINT, gloss=(0.2, 0.3))
    carriage = scene.body("carriage", (0.0, 0.0, 0.0), gravcomp=1)
    for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
        scene.slide(carriage, name, axis)
    carriers = {"carriage": carriage}
    for name, axis in (("left", (-1, 0, 0)), ("right", (1, 0, 0))):
        finger = carriers[name] = carriage.add_body(name=name, gravcomp=1)
        scene.slide(finger, name, axis, range=(0, gantry.max_opening_m / 2), limited=True, damping=(2, 0, 0))
    scene.camera("wrist", wrist, carriage)
    for name, body in carriers.items():
        heavy = name == "carriage"
        body.explicitinertial, body.ipos = True, (0, 0, 0.05 if heavy else 0.016)
        body.mass, body.inertia = (gantry.carriage_kg, (1e-3,) * 3) if heavy else (gantry.finger_kg, (1e-5,) * 3)
        for box in BOXES:
            if box.carrier == name:
                scene.shape(body, "box", box.half_m, pos=box.centre_m, rgb=box.rgb, solid=box.solid)
    fingers = spec.add_equality(type=mj.mjtEq.mjEQ_JOINT, name1="right", name2="left", solref=(0.005, 1))
    fingers.data[:5] = 0, 1, 0, 0, 0
    for name in ("x", "y", "z", "left"):
        motor = spec.add_actuator(target=name, trntype=mj.mjtTrn.mjTRN_JOINT)
        motor.set_to_position(kp=FINGER_N_M if name == "left" else CARRIAGE_N_M, dampratio=1)
    motor.forcerange, motor.forcelimited = (-2 * gantry.grip_n, 2 * gantry.grip_n), True


def add_rim(scene: Scene, rim: Rim, look: tuple[str, Vector] | None) -> None:
    """What is around the working area in another look; without one the table goes on."""
    if look is None:
        return
    pattern, colour = look
    image = painted(PATTERNS[pattern](BACKGROUND_PX), colour)
    scene.material("background", image, texuniform=True, texrepeat=(BACKGROUND_PER_M,) * 2)
    for (x, y), (width, depth) in rim.strips():
        size, at = (width, depth, BACKGROUND_M), (x, y, BACKGROUND_M)
        scene.shape(scene.ground, "box", size, pos=at, material="background", solid=False)


def lights(edit: LightEdit) -> Lights:
    """The light of a scene under an edit."""

    def rgb(strength: float) -> Vector:
        red, green, blue = (strength * edit.brightness * channel for channel in edit.colour)
        return red, green, blue

    lamp_rgb, ambient = rgb(LAMP + AMBIENT * edit.shadow), rgb(AMBIENT * (1 - edit.shadow))
    return Lights(lamp(edit), lamp_rgb, rgb(LAMP), rgb(HEAD), ambient, edit.shadow > 0)


class MujocoTable:
    """One worker's table under a gantry."""

    def __init__(self, gantry: Gantry, image_px: int) -> None:
        self.gantry, self.world, self.stage = gantry, MujocoWorld(), MujocoStage(image_px, image_px)

    @property
    def renderer(self) -> str:
        return f"mujoco-{self.stage.renderer}"

    def close(self) -> None:
        self.stage.close()

    def load(self, scene: Scene, tip_m: Vector | None = None, action_time: float = 1.0) -> None:
        """Start from nothing but the scene, the open gripper at a point, and let everything come to rest."""
        self._counts = ramp_counts(action_time)
        self._shadows = scene.shadows
        self.world.load(scene.spec, scene.textures)
        start = np.array([*(tip_m or self.gantry.start_m), self.gantry.max_opening_m])
        self.world.data.qpos[:JOINTS] = *start[:3], start[3] / 2, start[3] / 2
        self._aim(start)
        self.world.forward()
        self.world.step(SETTLE_STEPS)

    def act(self, action: Action) -> None:
        """Move the set point towards the action's target for as long as an action lasts, and the physics with it."""
        for set_point in self.gantry.ramps(self._set_point, action, next(self._counts)):
            self._aim(set_point)
            self.world.step(STEPS_PER_RAMP)

    def _aim(self, set_point: Array) -> None:
        self._set_point = set_point
        self.world.data.ctrl[:3] = set_point[:3]
        self.world.data.ctrl[3] = set_point[3] / 2

    def hand(self) -> tuple[Vector, float]:
        """The tip, and how far the gripper is open."""
        x, y, z, left, right = self.world.data.qpos[:JOINTS].tolist()
        return (x, y, z), left + right

    def snapshot(self) -> tuple[Snapshot, bool]:
        return self.world.snapshot(), self._shadows

    def picture(self, snapshot: tuple[Snapshot, bool], camera: str) -> Image:
        moment, shadows = snapshot
        return self.stage.picture(moment, camera, shadows=shadows)

    def digest(self) -> str:
        return self.world.digest()
