"""An arm of seven joints that carries the hand: geometry, inverse kinematics by `mink`, detours by `ompl`.

Lengths and limits are those of a Panda; its looks are our own. The same poses give the same joints in every process.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.hand import (
    BASE,
    DARK,
    HAND,
    HOME,
    POINT_S,
    ROBOT_BIT,
    WHITE,
    Unreachable,
    add_hand,
    eased,
    straight,
)
from pytest_vla.sim.mujoco import MujocoWorld, load_mujoco
from pytest_vla.sim.mujoco.scene import Scene
from pytest_vla.sim.pose import Pose, Vector

Array = NDArray[np.float64]

BASE_M: Vector = (*BASE, 0.02)  # so that the published home joints bring the tip where it was published
JOINTS = 7
TIP_M = 0.107 + 0.1034  # from the last joint along its axis
QUARTER = math.pi / 2
NEAR_M, NEAR_RAD = 5e-4, 5e-3
ITERATIONS, MORE_ITERATIONS = 15, 60
LEAP_RAD = 0.5  # between two points of a straight way: farther apart, the arm would have to fold over
MOST_RAD_S = 2.2
POINTS_PER_SOLVE = 4
SEEDS = 24
PLAN_CALLS = 3000
CHECK_RAD = 0.05
TOUCH_M = 1e-3


@dataclass(frozen=True, slots=True)
class Link:
    """A joint in the frame of the one before: its place, the turn of its frame about x, how far and hard it goes."""

    offset_m: Vector
    turn_rad: float
    limits_rad: tuple[float, float]
    torque_nm: float
    stiffness: float
    rods: tuple[tuple[float, Vector, Vector], ...]
    """Its looks: radius and ends of each rod."""


LINKS = (
    Link((0, 0, 0.333), 0.0, (-2.8973, 2.8973), 87, 4500, ((0.062, (0, 0, -0.18), (0, 0, -0.04)),)),
    Link((0, 0, 0), -QUARTER, (-1.7628, 1.7628), 87, 4500, ((0.064, (0, 0, -0.04), (0, 0, 0.04)),)),
    Link((0, -0.316, 0), QUARTER, (-2.8973, 2.8973), 87, 3500, ((0.056, (0, 0, -0.25), (0.03, 0, -0.06)),)),
    Link((0.0825, 0, 0), QUARTER, (-3.0718, -0.0698), 87, 3500, ((0.056, (0, 0, -0.04), (0, 0, 0.04)),)),
    Link(
        (-0.0825, 0.384, 0),
        -QUARTER,
        (-2.8973, 2.8973),
        30,
        2000,
        ((0.050, (0.05, 0, -0.34), (0, 0.02, -0.22)), (0.048, (0, 0.02, -0.22), (0, 0.03, -0.05))),
    ),
    Link((0, 0, 0), QUARTER, (-0.0175, 3.7525), 30, 2000, ((0.048, (0, 0, -0.02), (0.05, 0, 0.02)),)),
    Link((0.088, 0, 0), QUARTER, (-2.8973, 2.8973), 30, 2000, ((0.042, (0, 0, 0.01), (0, 0, 0.06)),)),
)
READY = np.radians([0.0, 10.0, 0.0, -50.0, 0.0, 70.0, 45.0])


def add_arm(ground: Any, mj: Any, shape: Any = None) -> Any:
    """The links from the base up; returns the body of the hand, whose frame is the tip's."""
    body = ground.add_body(name="arm", pos=BASE_M)
    if shape:
        shape(body, "cylinder", (0.075, 0.07), pos=(0, 0, 0.07), rgb=WHITE)
    for number, link in enumerate(LINKS):
        half = link.turn_rad / 2
        body = body.add_body(
            name=f"link_{number}", pos=link.offset_m, quat=(math.cos(half), math.sin(half), 0, 0), gravcomp=1
        )
        body.add_joint(
            name=f"joint_{number}",
            type=mj.mjtJoint.mjJNT_HINGE,
            axis=(0, 0, 1),
            range=link.limits_rad,
            limited=True,
            armature=0.1,
            damping=(2.0, 0, 0),
        )
        body.explicitinertial, body.mass, body.inertia, body.ipos = True, 2.0 - 0.2 * number, (0.01,) * 3, (0, 0, 0)
        for radius, start, end in link.rods if shape else ():
            colour = WHITE if number % 2 == 0 else DARK
            shape(body, "capsule", (radius,), fromto=(*start, *end), rgb=colour)
    turn = 3 * math.pi / 8  # half of it: at home the hand is turned as in the published home pose
    return body.add_body(name=HAND, pos=(0, 0, TIP_M), quat=(math.cos(turn), 0, 0, math.sin(turn)), gravcomp=1)


class Arm:
    """Carries the hand along straight ways where it can, and around things where it must."""

    def __init__(self) -> None:
        self._now = READY
        self._scratch: Any = None

    def add_to(self, scene: Scene) -> None:
        touch: dict[str, Any] = {"contype": ROBOT_BIT, "conaffinity": 0}

        def shape(body: Any, kind: Any, size: Sequence[float], **more: Any) -> None:
            scene.shape(body, kind, size, **touch, **more)

        add_hand(scene, add_arm(scene.ground, scene.mj, shape))
        for number, link in enumerate(LINKS):
            motor = scene.spec.add_actuator(target=f"joint_{number}", trntype=scene.mj.mjtTrn.mjTRN_JOINT)
            motor.set_to_position(kp=link.stiffness, dampratio=1.0)
            motor.forcerange, motor.forcelimited = (-link.torque_nm, link.torque_nm), True

    def start(self, world: MujocoWorld, home: Pose) -> None:
        joints = solver().solve(home, READY, MORE_ITERATIONS)
        if joints is None:
            raise Unreachable(f"the arm cannot start at {home.position}")
        world.data.qpos[:JOINTS] = self._now = joints
        self.aim(world, joints)

    def aim(self, world: MujocoWorld, point: Array) -> None:
        """Ask for a little more than the point while it moves: the motors' damping would let the arm lag behind."""
        gain, bias = world.model.actuator_gainprm[1 : JOINTS + 1, 0], world.model.actuator_biasprm[1 : JOINTS + 1, 2]
        world.data.ctrl[1 : JOINTS + 1] = point + (point - self._now) / POINT_S * (-bias / gain)
        self._now = point

    def way(self, world: MujocoWorld, target: Pose, *, ignore_collisions: bool) -> list[Array]:
        """Along the straight line; where that folds the arm or hits something, whichever way joins both ends."""
        line = self._line(target)
        if line is not None and (ignore_collisions or not self._hits(world, line)):
            return line
        goal = self._goal(world, target, ignore_collisions)
        if ignore_collisions:
            return timed([self._now, goal], POINT_S)
        return timed(self._around(world, goal), POINT_S)

    def aimed(self) -> Pose:
        return solver().pose(self._now)

    def nudge(self, target: Pose, count: int) -> list[Array]:
        joints = solver().solve(target, self._now, ITERATIONS)
        if joints is None or np.abs(joints - self._now).max() > LEAP_RAD:
            return [self._now] * count
        return [self._now + (joints - self._now) * number / count for number in range(1, count + 1)]

    def _line(self, target: Pose) -> list[Array] | None:
        poses = straight(self.aimed(), target)
        stops = [*poses[POINTS_PER_SOLVE - 1 :: POINTS_PER_SOLVE]]
        if len(poses) % POINTS_PER_SOLVE:
            stops.append(poses[-1])
        path = [self._now]
        for number, pose in enumerate(stops, 1):
            last = number == len(stops)
            joints = solver().solve(pose, path[-1], MORE_ITERATIONS if last else ITERATIONS)
            if joints is None or np.abs(joints - path[-1]).max() > LEAP_RAD:
                return None
            path.append(joints)
        return timed(path, POINT_S, least_s=len(poses) * POINT_S, even=True)

    def _goal(self, world: MujocoWorld, target: Pose, ignore_collisions: bool) -> Array:
        """Joints with the hand at the target: the first found from here, from ready, and from elsewhere."""
        low, high = np.array([link.limits_rad for link in LINKS]).T
        others = np.random.default_rng(0).uniform(low, high, (SEEDS, JOINTS))
        for seed in (self._now, READY, *others):
            joints = solver().solve(target, seed, MORE_ITERATIONS)
            if joints is not None and (ignore_collisions or not self._hits(world, [joints])):
                return joints
        x, y, z = target.position
        raise Unreachable(f"the arm cannot bring the hand to ({x:.3f}, {y:.3f}, {z:.3f}) over the table in that turn")

    # --- collisions and ways around them --------------------------------------------------------------------------

    def _hits(self, world: MujocoWorld, path: Sequence[Array]) -> bool:
        """Whether the arm runs into something anywhere on the path that it does not touch already."""
        touched = self._touching(world, self._now)
        step = POINTS_PER_SOLVE if len(path) > 1 else 1
        return any(self._touching(world, joints) - touched for joints in path[::step])

    def _touching(self, world: MujocoWorld, joints: Array) -> set[tuple[int, int]]:
        """The pairs of shapes, one of them the robot's, that overlap with these joints."""
        mj, model = load_mujoco(), world.model
        if self._scratch is None or self._scratch[0] is not model:
            self._scratch = model, mj.MjData(model), model.geom_contype == ROBOT_BIT
        _, data, robot = self._scratch
        data.qpos[:] = world.data.qpos
        data.qpos[:JOINTS] = joints
        mj.mj_kinematics(model, data)
        mj.mj_collision(model, data)
        one, other = data.contact.geom1, data.contact.geom2
        hit = (data.contact.dist < -TOUCH_M) & (robot[one] | robot[other]) if len(one) else np.zeros(0, bool)
        return set(zip(one[hit].tolist(), other[hit].tolist(), strict=True))

    def _around(self, world: MujocoWorld, goal: Array) -> list[Array]:
        from ompl import base, geometric, util

        util.setLogLevel(util.LogLevel.LOG_NONE)
        util.RNG.setSeed(1)
        space = base.RealVectorStateSpace(JOINTS)
        bounds = base.RealVectorBounds(JOINTS)
        for number, link in enumerate(LINKS):
            bounds.setLow(number, link.limits_rad[0])
            bounds.setHigh(number, link.limits_rad[1])
        space.setBounds(bounds)
        setup = geometric.SimpleSetup(space)

        def free(state: Any) -> bool:
            return not self._hits(world, [np.array([state[number] for number in range(JOINTS)])])

        setup.setStateValidityChecker(free)
        setup.getSpaceInformation().setStateValidityCheckingResolution(CHECK_RAD / space.getMaximumExtent())
        start, end = space.allocState(), space.allocState()
        for number in range(JOINTS):
            start[number], end[number] = float(self._now[number]), float(goal[number])
        setup.setStartAndGoalStates(start, end)
        setup.setPlanner(geometric.RRTConnect(setup.getSpaceInformation()))
        calls = iter(range(PLAN_CALLS))
        if not setup.solve(base.PlannerTerminationCondition(lambda: next(calls, None) is None)):
            raise Unreachable("every way there runs into something")
        setup.simplifySolution()
        states = setup.getSolutionPath().getStates()
        return [np.array([state[number] for number in range(JOINTS)]) for state in states]


def timed(path: Sequence[Array], every_s: float, *, least_s: float = 0.08, even: bool = False) -> list[Array]:
    """Points on a path, one every so often, that speed up and slow down and keep to the joints' speed.

    `even`: the path's own points are already spaced as a motion that does so.
    """
    legs = np.array([np.abs(b - a).max() for a, b in pairwise(path)])
    if even:
        marks = np.linspace(0, 1, len(path))
        seconds = max(least_s, float((legs * (len(path) - 1)).max()) / MOST_RAD_S)
    else:
        total = max(float(legs.sum()), 1e-9)
        marks = np.concatenate([[0.0], np.cumsum(legs) / total])
        seconds = max(least_s, 1.5 * total / MOST_RAD_S)
    count = math.ceil(seconds / every_s)
    shares = np.arange(1, count + 1) / count
    if not even:
        shares = np.array([eased(float(share)) for share in shares])
    columns = np.stack(path)
    mixed = np.stack([np.interp(shares, marks, columns[:, joint]) for joint in range(JOINTS)], axis=1)
    return list(mixed)


class Solver:
    """Inverse kinematics on the bare arm."""

    def __init__(self) -> None:
        import mink

        self._mink = mink
        mj = self._mj = load_mujoco()
        spec = mj.MjSpec()
        spec.compiler.degree = False
        add_arm(spec.worldbody, mj)
        self._model = spec.compile()
        self._arm = mink.Configuration(self._model)
        self._task = mink.FrameTask(HAND, "body", position_cost=1.0, orientation_cost=0.3, lm_damping=0.01)
        self._posture = mink.PostureTask(self._model, cost=1e-4)
        self._posture.set_target(READY)
        self._limits = [mink.ConfigurationLimit(self._model)]

    def pose(self, joints: Array) -> Pose:
        """Where the hand is with these joints."""
        self._arm.update(joints)
        body = self._arm.data.body(HAND)
        x, y, z = body.xpos.tolist()
        w, *turn = body.xquat.tolist()
        return Pose((x, y, z), (*turn, w))

    def solve(self, target: Pose, seed: Array, iterations: int) -> Array | None:
        """Joints near the seed with the hand at the target; None where they are not found."""
        mink, (x, y, z, w) = self._mink, target.rotation
        self._task.set_target(
            mink.SE3.from_rotation_and_translation(mink.SO3(np.array([w, x, y, z])), np.array(target.position))
        )
        self._arm.update(np.asarray(seed, dtype=float))
        for _ in range(iterations):
            try:
                velocity = mink.solve_ik(
                    self._arm, [self._task, self._posture], 1.0, "daqp", damping=1e-4, limits=self._limits
                )
            except mink.exceptions.NoSolutionFound:
                return None
            self._arm.integrate_inplace(velocity, 1.0)
            error = self._task.compute_error(self._arm)
            if np.linalg.norm(error[:3]) < NEAR_M and np.linalg.norm(error[3:]) < NEAR_RAD:
                found: Array = self._arm.q.copy()
                return found
        return None


@cache
def solver() -> Solver:
    """One for each process: it remembers nothing but the bare arm."""
    return Solver()


__all__ = ["HOME", "Arm", "Solver", "solver"]
