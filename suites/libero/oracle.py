"""A scripted expert for LIBERO that knows where everything is; used by `world`, in the environment's interpreter.

It reads the goal's predicates and makes them true one after the other: it opens and closes drawers, turns knobs, and
picks things up from above to put them where they belong. Grasps are found on a map of heights, cast by rays, so that a
new thing needs no entry of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import mujoco
import numpy as np

Array = Any
Actions = Iterator[Array]

OPEN, CLOSED = -1.0, 1.0
REACH_M, REACH_RAD = 0.05, 0.5  # what an action of 1 asks for
DOWN = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])  # the hand as it starts: fingers along y
TIP_M = 0.011  # the fingers' ends are that far below the point that is steered
PALM_M = 0.036  # and the palm that far above it
GRID_M = 0.004
SPAN_M = 0.13  # of a map, to each side
YAWS_DEG = tuple(range(-90, 90, 15))
CLOSING_STEPS, HALF_CLOSING_STEPS, OPENING_STEPS = 14, 6, 8
ROUNDS = 6
SETTLING_STEPS = 30
FLAT_M = 0.02  # no higher than a plate
PATIENCE = 10  # steps without coming nearer
LEAN_RAD = 0.6  # of a hand that pushes a drawer in, away from the handles above


@dataclass(frozen=True)
class Grasp:
    """Where the point between the fingers goes, how the hand is turned about the vertical, and how good that is."""

    position: Array
    yaw: float
    score: float


class Oracle:
    """The next action, step by step; when everything was tried it stands still."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.model, self.data = env.sim.model._model, env.sim.data._data
        self.site = env.robots[0].eef_site_id
        self.gripper = OPEN
        self.failed: dict[str, list[Array]] = {}
        self._actions = self._solve()

    def act(self) -> Array:
        return next(self._actions, self._still())

    # --- what to do --------------------------------------------------------------------------------------------------

    def _solve(self) -> Actions:
        yield from self._settle()
        for _ in range(ROUNDS):
            for goal in sorted(self.env.parsed_problem["goal_state"], key=self._order):
                if not self.holds(goal):
                    yield from self._achieve(goal)

    def _settle(self) -> Actions:
        """Wait for what still flies: some init states have things half in the table, which throws them up."""
        for _ in range(SETTLING_STEPS):
            free = self.model.jnt_dofadr[self.model.jnt_type == mujoco.mjtJoint.mjJNT_FREE]
            if max((float(np.abs(self.data.qvel[dof : dof + 3]).max()) for dof in free), default=0.0) < 0.05:
                return
            yield self._still()

    def _order(self, goal: list[str]) -> tuple[int, int]:
        """What must be open is opened first and closed last; what carries other things is put down before them."""
        kind = goal[0].lower()
        rank = {"open": 0, "turnon": 1, "turnoff": 1, "close": 3}.get(kind, 2)
        goals = self.env.parsed_problem["goal_state"]
        carried = sum(1 for other in goals if len(other) == 3 and len(goal) == 3 and goal[2].startswith(other[1]))
        return rank, carried

    def _achieve(self, goal: list[str]) -> Actions:
        kind, *names = goal
        if kind.lower() in ("on", "in"):
            yield from self._move_thing(names[0], names[1], inside=kind.lower() == "in")
        elif kind.lower() in ("turnon", "turnoff"):
            yield from self._turn(names[0], on=kind.lower() == "turnon")
        else:
            yield from self._slide(names[0], opened=kind.lower() == "open")

    def holds(self, goal: list[str]) -> bool:
        return bool(self.env._eval_predicate(goal))

    # --- pick and place ----------------------------------------------------------------------------------------------

    def _move_thing(self, thing: str, target: str, *, inside: bool) -> Actions:
        body = self.env.obj_body_id[thing]
        if inside and self._is_drawer(target) and not self.holds(["open", target]):
            yield from self._slide(target, opened=True)
        if self._is_flat(body) and self._is_on_table(target):
            yield from self._drag(body, target)
            return
        grasp = self._best_grasp(thing, body)
        if grasp is None:
            yield from self._rise(self.travel_height())
            return
        turned = rotation(grasp.yaw)
        yield from self._rise(grasp.position[2] + 0.10)
        yield from self._go(grasp.position + [0, 0, 0.10], turned, tolerance=0.02)
        yield from self._go(grasp.position, turned, tolerance=0.004, steps=40)
        yield from self._grip(CLOSED, CLOSING_STEPS)
        before = self.data.xpos[body][2]
        yield from self._go(self.position + [0, 0, 0.08], turned, tolerance=0.02)
        if self.data.xpos[body][2] < before + 0.04:
            self.failed.setdefault(thing, []).append(np.append(grasp.position - self.data.xpos[body], grasp.yaw))
            yield from self._grip(OPEN, OPENING_STEPS)
            return
        yield from self._put_down(body, target, turned, inside=inside)

    def _is_flat(self, body: int) -> bool:
        geoms = [g for g in self._of(body) if self.model.geom_group[g] == 0]
        return max(_highest(self.model, self.data, g) for g in geoms) - self._bottom(body) < FLAT_M

    def _is_on_table(self, target: str) -> bool:
        site = self.env.object_sites_dict.get(target)
        return site is not None and site.parent_name is None

    def _drag(self, body: int, target: str) -> Actions:
        """Move a plate over the table with a closed hand in it, against its rim."""
        start, place = self.data.xpos[body].copy(), self._place(target)
        way = (place - start) * [1, 1, 0]
        ahead = 0.03 * way / max(float(np.linalg.norm(way)), 1e-6)
        turned = rotation(0.0)
        yield from self._grip(CLOSED, 4)
        yield from self._rise(start[2] + 0.15)
        low = start + ahead + [0, 0, TIP_M - 0.006]
        yield from self._go(low + [0, 0, 0.1], turned, tolerance=0.015)
        yield from self._go(low, turned, tolerance=0.004, steps=30)
        done = partial(self._is_within, body, target)
        for share in np.linspace(0.0, 1.3, 14)[1:]:
            yield from self._go(low + share * way, turned, tolerance=0.012, steps=12, until=done)
        yield from self._go(self.position + [0, 0, 0.12], turned, tolerance=0.03)
        yield from self._grip(OPEN, 4)

    def _is_within(self, body: int, target: str) -> bool:
        return bool(np.linalg.norm((self.data.xpos[body] - self._place(target))[:2]) < 0.015)

    def _is_drawer(self, target: str) -> bool:
        site = self.env.object_sites_dict.get(target)
        return bool(site is not None and site.parent_name in self.env.fixtures_dict and site.joints)

    def _put_down(self, body: int, target: str, turned: Array, *, inside: bool) -> Actions:
        for _ in range(2):  # the second time corrects what slipped in the hand
            place = self._place(target)
            held = self.data.xpos[body] - self.position
            bottom = min(self._bottom(body) - self.position[2], -TIP_M)
            height = self._highest_on_the_way(place, body) - bottom + 0.02
            if self.position[2] < height:
                yield from self._go([*self.position[:2], height], turned, tolerance=0.015)
            above = [*(place - held)[:2], max(height, self.position[2])]
            yield from self._go(above, turned, tolerance=0.008, steps=90)
        held = self.data.xpos[body] - self.position
        bottom = self._bottom(body) - self.position[2]
        place = self._place(target)
        spot = place - held
        under = self._relief(place[:2], body, 0.03)
        hand = self._relief(spot[:2], body, 0.11)
        height = under.heights.max() - bottom + (0.01 if inside else 0.004)
        highest = hand.under_palm(math.atan2(-turned[0, 0], turned[1, 0]))
        height = max(height, highest + (TIP_M + 0.005 if self._may_tip_over(target) else 0.01 - PALM_M))
        yield from self._go([*spot[:2], height], turned, tolerance=0.004, steps=40)
        yield from self._grip(OPEN, OPENING_STEPS)
        yield from self._go(self.position + [0, 0, 0.1], turned, tolerance=0.03)

    def _may_tip_over(self, target: str) -> bool:
        """Fingers that open inside a basket would lift it."""
        site = self.env.object_sites_dict.get(target)
        return site is not None and site.parent_name in self.env.objects_dict

    def _highest_on_the_way(self, place: Array, body: int) -> float:
        ends = np.stack([self.position[:2], place[:2]])
        middle, half = ends.mean(0), np.abs(ends[1] - ends[0]).max() / 2
        return float(self._relief(middle, body, half + 0.08).heights.max())

    def _place(self, target: str) -> Array:
        """Where the thing's own origin belongs."""
        if target in self.env.object_sites_dict:
            return np.array(self.env.sim.data.get_site_xpos(target))
        return np.array(self.data.xpos[self.env.obj_body_id[target]])

    def _best_grasp(self, thing: str, body: int) -> Grasp | None:
        relief = Relief(self.model, self.data, self.data.xpos[body][:2], self._of(body), self._robot())
        grasps = sorted(relief.grasps(self.data.xipos[body]), key=lambda grasp: -grasp.score)
        for grasp in grasps:
            tried = np.append(grasp.position - self.data.xpos[body], grasp.yaw)
            if all(np.abs(tried - old).max() > 0.012 for old in self.failed.get(thing, ())):
                return grasp
        return grasps[0] if grasps else None

    # --- drawers, doors and knobs ------------------------------------------------------------------------------------

    def _slide(self, name: str, *, opened: bool) -> Actions:
        """Pull a drawer by its handle, or push it in."""
        joint = self._joint_of(name)
        if self.model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_SLIDE:
            return
        low, high = self.model.jnt_range[joint]
        out = self.data.xaxis[joint] * (-1.0 if abs(low) > abs(high) else 1.0)
        handle, top = self._handle(joint, out)
        across = np.array([-out[1], out[0], 0.0])
        yaw = wrapped(math.atan2(-out[0], out[1]))
        if opened:
            yield from self._pull(handle, top, out, yaw, name)
            return
        turned = about(across, LEAN_RAD) @ rotation(wrapped(yaw + math.pi / 2))
        before = handle + 0.05 * out
        yield from self._grip(CLOSED, 4)
        yield from self._rise(handle[2] + 0.25)
        yield from self._go([*before[:2], max(self.position[2], handle[2] + 0.2)], turned, tolerance=0.02)
        yield from self._go(before, turned, tolerance=0.015)
        yield from self._go(
            before - 0.27 * out, turned, tolerance=0.01, steps=50, until=lambda: self.holds(["close", name])
        )
        yield from self._go(self.position + 0.05 * out + [0, 0, 0.03], turned, tolerance=0.02)
        yield from self._grip(OPEN, 4)

    def _pull(self, handle: Array, top: float, out: Array, yaw: float, name: str) -> Actions:
        """Take a bar with little room behind it: the fingers are half closed before they come down."""
        turned = rotation(yaw)
        grip = np.array([*handle[:2], max(handle[2] - 0.002, top - PALM_M + 0.004)]) + 0.002 * out
        yield from self._rise(grip[2] + 0.12)
        yield from self._go(grip + [0, 0, 0.1], turned, tolerance=0.006)
        yield from self._grip(CLOSED, HALF_CLOSING_STEPS)
        yield from self._grip(0.0, 4)
        yield from self._go(grip + [0, 0, 0.03], turned, tolerance=0.003, steps=30)
        yield from self._go(grip, turned, tolerance=0.003, steps=30)
        yield from self._grip(CLOSED, CLOSING_STEPS)
        is_open = partial(self.holds, ["open", name])
        yield from self._go(grip + 0.22 * out, turned, tolerance=0.01, steps=60, until=is_open)
        yield from self._grip(OPEN, OPENING_STEPS)
        yield from self._go(self.position + [0, 0, 0.12], turned, tolerance=0.03)

    def _turn(self, name: str, *, on: bool) -> Actions:
        """Take the ridge of a knob and turn it."""
        joint = self._joint_of(name)
        body = int(self.model.jnt_bodyid[joint])
        geoms = [
            g for g in range(self.model.ngeom) if self.model.geom_bodyid[g] == body and not self.model.geom_group[g]
        ]
        top = max(_highest(self.model, self.data, g) for g in geoms)
        angle = float(self.data.qpos[self.model.jnt_qposadr[joint]])
        spot = np.array([*self.data.xanchor[joint][:2], top - 0.012 + TIP_M])
        held = rotation(wrapped(angle))
        yield from self._rise(spot[2] + 0.12)
        yield from self._go(spot + [0, 0, 0.1], held, tolerance=0.015)
        yield from self._go(spot, held, tolerance=0.006, steps=40)
        yield from self._grip(CLOSED, CLOSING_STEPS)
        turned = about([0, 0, 1], 1.2 if on else -angle - 0.2) @ held
        goal = ["turnon" if on else "turnoff", name]
        yield from self._go(spot, turned, tolerance=0.002, steps=40, until=lambda: self.holds(goal))
        yield from self._grip(OPEN, OPENING_STEPS)
        yield from self._go(self.position + [0, 0, 0.12], self.turned, tolerance=0.03)

    def _joint_of(self, name: str) -> int:
        found = self.env.get_object(name)
        return int(mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, found.joints[0]))

    def _handle(self, joint: int, out: Array) -> tuple[Array, float]:
        """The middle of what is furthest out of a drawer, and the height of the furniture it is in."""
        body = int(self.model.jnt_bodyid[joint])
        geoms = [g for g in self._of(body) if not self.model.geom_group[g]]
        own = [g for g in geoms if self.model.geom_bodyid[g] == body]
        reach = {g: float(self.data.geom_xpos[g] @ out) for g in own}
        furthest = max(reach.values())
        bar = [g for g in own if reach[g] > furthest - 0.006]
        middle = np.mean([self.data.geom_xpos[g] for g in bar], axis=0)
        return middle, max(_highest(self.model, self.data, g) for g in geoms)

    # --- motions -----------------------------------------------------------------------------------------------------

    def _go(
        self,
        to: Any,
        turned: Array,
        *,
        tolerance: float,
        steps: int = 60,
        until: Callable[[], bool] | None = None,
    ) -> Actions:
        """Go there in a straight line; what comes no nearer any more is as near as it gets."""
        to, best, since = np.asarray(to, dtype=float), math.inf, 0
        for _ in range(steps):
            if until is not None and until():
                return
            off, angle = to - self.position, rotation_vector(turned @ self.turned.T)
            if np.linalg.norm(off) < tolerance and np.linalg.norm(angle) < 0.1:
                return
            left = float(np.linalg.norm(off) + 0.1 * np.linalg.norm(angle))
            best, since = (left, 0) if left < best - 0.001 else (best, since + 1)
            if since > PATIENCE:
                return
            yield self._action(off, angle)

    def _rise(self, height: float) -> Actions:
        if self.position[2] < height:
            yield from self._go([*self.position[:2], height], self.turned.copy(), tolerance=0.03)

    def _grip(self, gripper: float, steps: int) -> Actions:
        self.gripper = gripper
        for _ in range(steps):
            yield self._still()

    def _still(self) -> Array:
        return np.array([0.0] * 6 + [self.gripper])

    def _action(self, off: Array, angle: Array) -> Array:
        move = np.clip(2.0 * off / REACH_M, -1, 1)
        turn = np.clip(1.5 * angle / REACH_RAD, -1, 1)
        return np.concatenate([move, turn, [self.gripper]])

    # --- where things are --------------------------------------------------------------------------------------------

    @property
    def position(self) -> Array:
        return self.data.site_xpos[self.site].copy()

    @property
    def turned(self) -> Array:
        return self.data.site_xmat[self.site].reshape(3, 3).copy()

    def travel_height(self) -> float:
        return float(self.position[2] + 0.05)

    def _of(self, body: int) -> set[int]:
        """The geoms of a body and of what hangs on it."""
        root = self.model.body_rootid
        return {g for g in range(self.model.ngeom) if root[self.model.geom_bodyid[g]] == root[body]}

    def _robot(self) -> set[int]:
        names = ("robot0_", "gripper0_", "mount0_")
        bodies = {b for b in range(self.model.nbody) if (_name(self.model, "body", b) or "").startswith(names)}
        return {g for g in range(self.model.ngeom) if self.model.geom_bodyid[g] in bodies}

    def _bottom(self, body: int) -> float:
        """The lowest point of a thing."""
        return min(_lowest(self.model, self.data, g) for g in self._of(body) if self.model.geom_group[g] == 0)

    def _relief(self, at: Array, body: int, span: float) -> Relief:
        """How high things stand near a place, apart from the robot and from what it holds."""
        without = self._robot() | self._of(body)
        return Relief(self.model, self.data, at, set(), without, span=span, grid=max(0.01, span / 10))


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


def rotation(yaw: float) -> Array:
    """The hand pointing down, turned about the vertical."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ DOWN


def about(axis: Any, angle: float) -> Array:
    quaternion, matrix = np.zeros(4), np.zeros(9)
    mujoco.mju_axisAngle2Quat(quaternion, np.asarray(axis, dtype=float), angle)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def wrapped(yaw: float) -> float:
    """The same grip with the hand turned least: half a turn changes nothing."""
    return (yaw + math.pi / 2) % math.pi - math.pi / 2


def rotation_vector(matrix: Array) -> Array:
    quaternion, vector = np.zeros(4), np.zeros(3)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(matrix).ravel())
    mujoco.mju_quat2Vel(vector, quaternion, 1.0)
    return vector


def _lowest(model: Any, data: Any, geom: int) -> float:
    """Of the box around a geom, which is the geom itself where it is a box."""
    centre, half = model.geom_aabb[geom][:3], model.geom_aabb[geom][3:]
    matrix = data.geom_xmat[geom].reshape(3, 3)
    return float((data.geom_xpos[geom] + matrix @ centre)[2] - np.abs(matrix[2]) @ half)


def _highest(model: Any, data: Any, geom: int) -> float:
    centre, half = model.geom_aabb[geom][:3], model.geom_aabb[geom][3:]
    matrix = data.geom_xmat[geom].reshape(3, 3)
    return float((data.geom_xpos[geom] + matrix @ centre)[2] + np.abs(matrix[2]) @ half)


def _name(model: Any, kind: str, number: int) -> str:
    return mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), number) or ""
