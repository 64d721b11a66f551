"""A scripted expert for LIBERO that knows where everything is; used by `world`, in the environment's interpreter.

It reads the goal's predicates and makes them true one after the other: it opens and closes drawers, turns knobs, and
picks things up from above to put them where they belong. `scene` is what it knows, `hand` how it moves, `relief` how it
finds a grasp (a new thing needs no entry of its own), `fixtures` how it handles furniture.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import mujoco
import numpy as np

# Beside this file, which is no package.
fixtures, hand, relief, scene = (importlib.import_module(name) for name in ("fixtures", "hand", "relief", "scene"))

Array = Any
Actions = Iterator[Array]

CLOSING_STEPS, OPENING_STEPS = fixtures.CLOSING_STEPS, fixtures.OPENING_STEPS
ROUNDS = 6
SETTLING_STEPS = 30


class Oracle:
    """The next action, step by step; when everything was tried it stands still."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.hand, self.scene = hand.Hand(env), scene.Scene(env)
        self.fixtures = fixtures.Fixtures(self.hand, self.scene)
        self.failed: dict[str, list[Array]] = {}
        self._actions = self._solve()

    def act(self) -> Array:
        return next(self._actions, self.hand.still())

    # --- what to do --------------------------------------------------------------------------------------------------

    def _solve(self) -> Actions:
        yield from self._settle()
        for _ in range(ROUNDS):
            for goal in sorted(self.env.parsed_problem["goal_state"], key=self._order):
                if not self.scene.holds(goal):
                    yield from self._achieve(goal)

    def _settle(self) -> Actions:
        """Wait for what still flies: some init states have things half in the table, which throws them up."""
        for _ in range(SETTLING_STEPS):
            free = self.scene.model.jnt_dofadr[self.scene.model.jnt_type == mujoco.mjtJoint.mjJNT_FREE]
            if max((float(np.abs(self.scene.data.qvel[dof : dof + 3]).max()) for dof in free), default=0.0) < 0.05:
                return
            yield self.hand.still()

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
            yield from self.fixtures.turn(names[0], on=kind.lower() == "turnon")
        else:
            yield from self.fixtures.slide(names[0], opened=kind.lower() == "open")

    def _move_thing(self, thing: str, target: str, *, inside: bool) -> Actions:
        body = self.env.obj_body_id[thing]
        if inside and self.scene.is_drawer(target) and not self.scene.holds(["open", target]):
            yield from self.fixtures.slide(target, opened=True)
        if self.scene.is_flat(body) and self.scene.is_on_table(target):
            yield from self._drag(body, target)
            return
        grasp = self._best_grasp(thing, body)
        if grasp is None:
            yield from self.hand.rise(self.hand.position[2] + 0.05)
            return
        turned = hand.rotation(grasp.yaw)
        yield from self.hand.rise(grasp.position[2] + 0.10)
        yield from self.hand.go(grasp.position + [0, 0, 0.10], turned, tolerance=0.02)
        yield from self.hand.go(grasp.position, turned, tolerance=0.004, steps=40)
        yield from self.hand.grip(hand.CLOSED, CLOSING_STEPS)
        before = self.scene.data.xpos[body][2]
        yield from self.hand.go(self.hand.position + [0, 0, 0.08], turned, tolerance=0.02)
        if self.scene.data.xpos[body][2] < before + 0.04:
            self.failed.setdefault(thing, []).append(np.append(grasp.position - self.scene.data.xpos[body], grasp.yaw))
            yield from self.hand.grip(hand.OPEN, OPENING_STEPS)
            return
        yield from self._put_down(body, target, turned, inside=inside)

    def _drag(self, body: int, target: str) -> Actions:
        """Move a plate over the table with a closed hand in it, against its rim."""
        start, place = self.scene.data.xpos[body].copy(), self.scene.place(target)
        way = (place - start) * [1, 1, 0]
        ahead = 0.03 * way / max(float(np.linalg.norm(way)), 1e-6)
        turned = hand.rotation(0.0)
        yield from self.hand.grip(hand.CLOSED, 4)
        yield from self.hand.rise(start[2] + 0.15)
        low = start + ahead + [0, 0, relief.TIP_M - 0.006]
        yield from self.hand.go(low + [0, 0, 0.1], turned, tolerance=0.015)
        yield from self.hand.go(low, turned, tolerance=0.004, steps=30)
        done = partial(self.scene.is_within, body, target)
        for share in np.linspace(0.0, 1.3, 14)[1:]:
            yield from self.hand.go(low + share * way, turned, tolerance=0.012, steps=12, until=done)
        yield from self.hand.go(self.hand.position + [0, 0, 0.12], turned, tolerance=0.03)
        yield from self.hand.grip(hand.OPEN, 4)

    def _put_down(self, body: int, target: str, turned: Array, *, inside: bool) -> Actions:
        for _ in range(2):  # the second time corrects what slipped in the hand
            place = self.scene.place(target)
            held = self.scene.data.xpos[body] - self.hand.position
            bottom = min(self.scene.bottom(body) - self.hand.position[2], -relief.TIP_M)
            height = self._highest_on_the_way(place, body) - bottom + 0.02
            if self.hand.position[2] < height:
                yield from self.hand.go([*self.hand.position[:2], height], turned, tolerance=0.015)
            above = [*(place - held)[:2], max(height, self.hand.position[2])]
            yield from self.hand.go(above, turned, tolerance=0.008, steps=90)
        held = self.scene.data.xpos[body] - self.hand.position
        bottom = self.scene.bottom(body) - self.hand.position[2]
        place = self.scene.place(target)
        spot = place - held
        under = self.scene.relief(place[:2], body, 0.03)
        over = self.scene.relief(spot[:2], body, 0.11)
        height = under.heights.max() - bottom + (0.01 if inside else 0.004)
        highest = over.under_palm(math.atan2(-turned[0, 0], turned[1, 0]))
        height = max(
            height, highest + (relief.TIP_M + 0.005 if self.scene.may_tip_over(target) else 0.01 - relief.PALM_M)
        )
        yield from self.hand.go([*spot[:2], height], turned, tolerance=0.004, steps=40)
        yield from self.hand.grip(hand.OPEN, OPENING_STEPS)
        yield from self.hand.go(self.hand.position + [0, 0, 0.1], turned, tolerance=0.03)

    def _highest_on_the_way(self, place: Array, body: int) -> float:
        ends = np.stack([self.hand.position[:2], place[:2]])
        middle, half = ends.mean(0), np.abs(ends[1] - ends[0]).max() / 2
        return float(self.scene.relief(middle, body, half + 0.08).heights.max())

    def _best_grasp(self, thing: str, body: int) -> Any:
        heights = relief.Relief(
            self.scene.model, self.scene.data, self.scene.data.xpos[body][:2], self.scene.of(body), self.scene.robot()
        )
        grasps = sorted(heights.grasps(self.scene.data.xipos[body]), key=lambda grasp: -grasp.score)
        for grasp in grasps:
            tried = np.append(grasp.position - self.scene.data.xpos[body], grasp.yaw)
            if all(np.abs(tried - old).max() > 0.012 for old in self.failed.get(thing, ())):
                return grasp
        return grasps[0] if grasps else None
