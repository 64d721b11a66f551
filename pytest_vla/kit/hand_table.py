"""A table of things under a hand in MuJoCo: the hand goes to poses and holds what it closes around; judges look on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pytest_vla.kit.hand import (
    FINGER_M,
    FINGER_S,
    FINGERS,
    GRASP_ZONE,
    HAND,
    HOME,
    POINT_S,
    ROBOT_BIT,
    Robot,
    finger_way,
)
from pytest_vla.kit.images import Image
from pytest_vla.kit.things import Part, Thing, things_of
from pytest_vla.sim.mujoco import MujocoStage, MujocoWorld, Snapshot, load_mujoco
from pytest_vla.sim.mujoco.scene import PAINT, STEP_S, Scene
from pytest_vla.sim.pose import Pose

CHECK_S = 0.05  # how often a judge looks, unless it looks at every step
SETTLE_S = 0.25
REST_S = 0.05  # at the end of a motion
GRIP_S = 0.10  # until closed fingers hold, or what they let go is free
STEPS_PER_POINT = round(POINT_S / STEP_S)
POINTS_PER_CHECK = round(CHECK_S / POINT_S)
FINGER_STEP = POINT_S / FINGER_S
TOUCH_M = 0.001  # no need to know how far apart shapes are beyond this

Watch = Callable[[], bool]
"""Looks at a moment; true when it has seen enough."""


class HandTable:
    """One worker's table. It is what predicates ask and oracles look at."""

    def __init__(self, robot: Robot, image_px: int, scan_px: int | None = None) -> None:
        self.robot, self.world, self.stage = robot, MujocoWorld(), MujocoStage(image_px, image_px)
        self.scan_px = scan_px
        self._mj = load_mujoco()

    @property
    def renderer(self) -> str:
        return f"mujoco-{self.stage.renderer}"

    def close(self) -> None:
        self.stage.close()

    def load(self, scene: Scene, parts: Sequence[Part], home: Pose = HOME) -> None:
        """Start from nothing but the scene and the parts, the open hand at home, everything at rest."""
        mj = self._mj
        scene.material(PAINT, gloss=(0.2, 0.3))
        scene.spec.compiler.degree = False
        scene.spec.option.disableflags |= int(mj.mjtDisableBit.mjDSBL_AUTORESET)
        scene.spec.geom("table").conaffinity |= ROBOT_BIT
        self.robot.add_to(scene)
        for part in parts:
            part.add_to(scene)
        things = things_of(parts)
        self._grips = {thing.label: self._add_grip(scene, thing) for thing in things if thing.graspable}
        self._shadows, self._parts = scene.shadows, repr(parts).encode()
        self.world.load(scene.spec, scene.textures)
        model, data = self.world.model, self.world.data
        self._numbers = {label: model.equality(name).id for label, name in self._grips.items()}
        self._geoms = {thing.label: _solid_geoms(model, thing.label) for thing in things}
        self._zones: dict[str, int] = {}
        self._addresses = {t.label: self.world.joint(t.label) for t in things if t.joint and t.joint.kind != "ball"}
        for thing in things:
            if thing.joint is not None and thing.label in self._addresses:
                data.qpos[self._addresses[thing.label]] = thing.joint.start
        self._starts = {label: float(data.qpos[address]) for label, address in self._addresses.items()}
        self._graspable = [int(model.body(label).id) for label in self._grips]
        self._finger_bodies = [int(model.body(name).id) for name in FINGERS]
        self._fingers = [self.world.joint("left_finger"), self.world.joint("right_finger")]
        data.qpos[self._fingers] = FINGER_M
        self.opening, self.held = 1.0, frozenset[str]()
        self._grip = int(model.actuator("grip").id)
        self._squeeze(1.0)
        self.robot.start(self.world, home)
        self.world.forward()
        self.world.step(round(SETTLE_S / STEP_S))
        self.world.kinematics()

    def _add_grip(self, scene: Scene, thing: Thing) -> str:
        """The weld by which the hand will hold the thing."""
        mj, name = scene.mj, f"grip {thing.label}"
        weld = scene.spec.add_equality(
            name=name, type=mj.mjtEq.mjEQ_WELD, objtype=mj.mjtObj.mjOBJ_BODY, active=False, solref=(0.01, 1)
        )
        weld.name1, weld.name2 = HAND, thing.label
        weld.data[:11] = 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1
        return name

    # --- acting -------------------------------------------------------------------------------------------------------

    def go(self, target: Pose, watch: Watch, *, ignore_collisions: bool = True, every_step: bool = False) -> bool:
        """Move the hand to a pose; true where the watch ended it on the way. Raises Unreachable."""
        way = self.robot.way(self.world, target, ignore_collisions=ignore_collisions)
        return self._play([*way, *[way[-1]] * round(REST_S / POINT_S)], self._aim, watch, every_step)

    def grip(self, opening: float, watch: Watch, *, every_step: bool = False) -> bool:
        """Close or open the fingers; what they have closed around is held until they open."""
        if opening == self.opening:
            return False
        if opening > self.opening:
            self._let_go()
        points = [*finger_way(self.opening, opening), *[opening] * round(GRIP_S / POINT_S)]
        self.opening = opening
        for number, point in enumerate(points, 1):
            self._squeeze(point)
            self.world.step(STEPS_PER_POINT)
            pinched = opening == 0.0 and self._pinched()
            if pinched or number == len(points):
                if opening == 0.0:
                    self._hold()
                return watch()
            if (every_step or number % POINTS_PER_CHECK == 0) and watch():
                return True
        return False

    def servo(self, target: Pose, opening: float, watch: Watch, *, every_step: bool = False) -> bool:
        """Move the hand and the fingers towards both for one control period, `CHECK_S` long."""
        if opening > self.opening:
            self._let_go()
        self.opening = opening
        for point in self.robot.nudge(target, POINTS_PER_CHECK):
            self._aim(point)
            if not self.held:
                away = opening - self._fingers_at
                self._squeeze(self._fingers_at + min(max(away, -FINGER_STEP), FINGER_STEP))
            for _ in range(STEPS_PER_POINT if every_step else 1):
                self.world.step(1 if every_step else STEPS_PER_POINT)
                if every_step and watch():
                    return True
            closed = opening == 0.0 and not self.held
            if closed and (self._pinched() or self._fingers_at == 0.0):
                self._hold()
        return watch()

    def _pinched(self) -> bool:
        """Whether both fingers touch the same graspable thing."""
        contact, body = self.world.data.contact, self.world.model.geom_bodyid
        if not self._numbers or not len(contact.geom1):
            return False
        pairs = np.stack([body[contact.geom1], body[contact.geom2]])
        touched = [set(pairs[:, (pairs == finger).any(axis=0)].ravel().tolist()) for finger in self._finger_bodies]
        return any(number in touched[0] and number in touched[1] for number in self._graspable)

    def _aim(self, point: Any) -> None:
        self.robot.aim(self.world, point)

    def _squeeze(self, opening: float) -> None:
        self._fingers_at = opening
        self.world.data.ctrl[self._grip] = opening * FINGER_M

    def _play(self, points: Sequence[Any], aim: Callable[[Any], None], watch: Watch, every_step: bool) -> bool:
        for number, point in enumerate(points, 1):
            aim(point)
            for _ in range(STEPS_PER_POINT if every_step else 1):
                self.world.step(1 if every_step else STEPS_PER_POINT)
                if (every_step or number % POINTS_PER_CHECK == 0) and watch():
                    return True
        return watch()

    def _hold(self) -> None:
        """Hold every graspable thing that reaches into the space between the fingers, which stay as they are then.

        The fingers no longer push what is held: a squeeze would turn it out of the hand.
        """
        self.world.kinematics()
        hand = self.pose(HAND)
        for label, number in self._numbers.items():
            if self.overlap(label, GRASP_ZONE):
                x, y, z, w = (grip := hand.inverse() @ self.pose(label)).rotation
                self.world.model.eq_data[number][3:10] = *grip.position, w, x, y, z
                self.world.data.eq_active[number] = 1
                self.world.model.geom_conaffinity[self._geoms[label]] &= ~ROBOT_BIT
                self.held |= {label}
        if self.held:
            self._squeeze(self.finger_opening)

    def _let_go(self) -> None:
        for label in self.held:
            self.world.data.eq_active[self._numbers[label]] = 0
            self.world.model.geom_conaffinity[self._geoms[label]] |= ROBOT_BIT
        self.held = frozenset()

    def put(self, thing: str, pose: Pose) -> None:
        """Set a free thing down somewhere else, at rest."""
        joint = self.world.model.joint(thing)
        x, y, z, w = pose.rotation
        self.world.data.qpos[joint.qposadr[0] : joint.qposadr[0] + 7] = *pose.position, w, x, y, z
        self.world.data.qvel[joint.dofadr[0] : joint.dofadr[0] + 6] = 0
        self.world.kinematics()

    def set_joint(self, label: str, value: float) -> None:
        """Bring a joint to a place, at rest."""
        self.world.data.qpos[self._addresses[label]] = value
        self.world.data.qvel[self.world.model.joint(label).dofadr[0]] = 0
        self.world.kinematics()

    # --- what is the case, as of the last `kinematics` ----------------------------------------------------------------

    def look(self) -> HandTable:
        """This table, with everything where its joints say."""
        self.world.kinematics()
        return self

    @property
    def hand(self) -> Pose:
        return self.pose(HAND)

    def pose(self, thing: str) -> Pose:
        return self.world.pose(thing)

    def joint(self, label: str) -> float:
        return float(self.world.data.qpos[self._addresses[label]])

    def moved(self, joint: str) -> float:
        return self.joint(joint) - self._starts[joint]

    def overlap(self, thing: str, zone: str) -> bool:
        number = self._zone(zone)
        return any(self._bounds_gap(geom, number) <= 0 and self._touch(geom, number) for geom in self._geoms[thing])

    def distance(self, thing: str, zone: str) -> float:
        if self.overlap(thing, zone):
            return 0.0
        number = self._zone(zone)
        return min(max(self._bounds_gap(geom, number), TOUCH_M) for geom in self._geoms[thing])

    def tip_distance(self, zone: str) -> float:
        data, number = self.world.data, self._zone(zone)
        away = np.subtract(self.hand.position, data.geom_xpos[number]) @ data.geom_xmat[number].reshape(3, 3)
        return float(np.abs(away).max())

    def _zone(self, label: str) -> int:
        number = self._zones.get(label)
        if number is None:
            number = self._zones[label] = int(self.world.model.geom(label).id)
        return number

    def _touch(self, geom: int, other: int) -> bool:
        """Whether two shapes overlap. The library's newer solver says 0 of some boxes that do and some that do not."""
        ask, model, data = self._mj.mj_geomDistance, self.world.model, self.world.data
        gap = ask(model, data, geom, other, TOUCH_M, None)
        if gap == 0:
            older = int(self._mj.mjtDisableBit.mjDSBL_NATIVECCD)
            model.opt.disableflags |= older
            gap = ask(model, data, geom, other, TOUCH_M, None)
            model.opt.disableflags &= ~older
        return bool(gap <= 0)

    def _bounds_gap(self, geom: int, other: int) -> float:
        """How far the spheres around two shapes are apart."""
        places, bounds = self.world.data.geom_xpos, self.world.model.geom_rbound
        return math.dist(places[geom], places[other]) - float(bounds[geom] + bounds[other])

    @property
    def finger_opening(self) -> float:
        """How far the fingers are open, 0..1."""
        return float(np.mean(self.world.data.qpos[self._fingers])) / FINGER_M

    # --- pictures and digest ------------------------------------------------------------------------------------------

    def snapshot(self) -> tuple[Snapshot, bool]:
        return self.world.snapshot(), self._shadows

    def picture(self, snapshot: tuple[Snapshot, bool], camera: str) -> Image:
        moment, shadows = snapshot
        return self.stage.picture(moment, camera, shadows=shadows)

    def scan(self, snapshot: tuple[Snapshot, bool], camera: str) -> dict[str, Any]:
        """What a camera measures, as arrays: `things[n - 1]` is what has the number n in the mask.

        Depth is in metres along the line of sight (0: nothing there). The pose leads from the camera's frame (x right,
        y down, z forward) to the table's; the middle of the picture's first pixel is at (0.5, 0.5) for the intrinsics.
        """
        moment, _ = snapshot
        found = self.stage.scan(moment, camera, self.scan_px)
        numbers = np.zeros(moment.model.nbody + 1, np.int32)  # the last is that of body -1, which is none
        for number, label in enumerate(self._geoms, 1):
            numbers[moment.model.body(label).id] = number
        return {
            "depth": found.depth_m,
            "mask": numbers[found.body],
            "intrinsics": found.intrinsics.astype(np.float32),
            "pose": found.pose.astype(np.float32),
        }

    @property
    def things(self) -> list[str]:
        """The labels of what stands on the table."""
        return list(self._geoms)

    def digest(self) -> str:
        """Of what moves, and of the parts themselves: where something stands for good is no part of the former."""
        return hashlib.blake2b(self.world.digest().encode() + self._parts, digest_size=16).hexdigest()


def _solid_geoms(model: Any, body: str) -> list[int]:
    """The shapes of a body that touch other things."""
    one = model.body(body)
    first, count = int(one.geomadr[0]), int(one.geomnum[0])
    return [geom for geom in range(first, first + count) if model.geom_conaffinity[geom]]
