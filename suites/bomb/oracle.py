"""A privileged policy that solves every episode from the table's true state, through the actions any policy has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.policies.base import Observation, Policy

from . import rig
from .board import BESIDE_X_M, BESIDE_Y_M, Spot, distance, far_from, spot_of
from .scene import Goal, Put, TableState, Vector

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey

    from .env import BombEnv

TRAVEL_M = 0.045  # height above the table at which it crosses the board
GRASP_M = 0.001
PLACE_M = 0.002
THERE_M = 0.0012
PATIENCE = 14  # actions after which a waypoint is given up
GRASP_ACTIONS = 3
RELEASE_ACTIONS = 2
OPEN, CLOSED = 1.0, 0.0
DUMPS = [(side * x, y) for x in np.linspace(*BESIDE_X_M, 3) for side in (-1, 1) for y in np.linspace(*BESIDE_Y_M, 7)]


@dataclass
class Plan:
    """What the oracle remembers of an episode: the waypoints still to come, and how long it has been at this one."""

    waypoints: Iterator[Waypoint] | None = None
    current: Waypoint | None = None
    spent: int = 0


@dataclass(frozen=True, slots=True)
class Waypoint:
    """Where to go with the gripper open or closed; done when there, and after so many actions."""

    tip: Vector
    opening: float
    least: int = 1

    def reached(self, state: TableState) -> bool:
        return max(abs(a - b) for a, b in zip(self.tip, state.tip, strict=True)) <= THERE_M


class Oracle(Policy):
    """Picks the stone of the first open goal and puts it where it belongs, until nothing is left; draws nothing."""

    def __init__(self, env: BombEnv) -> None:
        self.env = env

    def reset(self, episode: EpisodeKey) -> Plan:
        return Plan()

    def act(self, observations: Sequence[Observation], states: Sequence[Plan]) -> Sequence[Any]:
        return [self._act(plan) for plan in states]

    def _act(self, plan: Plan) -> Any:
        state, now = self.env.world.state(), plan.current
        if now is not None and (plan.spent >= PATIENCE or (plan.spent >= now.least and now.reached(state))):
            now = None
        if now is None:
            plan.current, plan.spent = self._next(plan, state), 0
            now = plan.current
        plan.spent += 1
        return rig.action_of(now.tip, now.opening)

    def _next(self, plan: Plan, state: TableState) -> Waypoint:
        waypoint = next(plan.waypoints, None) if plan.waypoints else None
        if waypoint is None:
            goal = self._open_goal(state)
            if goal is None:
                plan.waypoints = None
                return Waypoint(rig.START_M, OPEN)
            plan.waypoints = self._move(goal)
            waypoint = next(plan.waypoints)
        return waypoint

    def _open_goal(self, state: TableState) -> Goal | None:
        judge = self.env.judge
        fulfilled = judge.fulfilled(state)
        return next((goal for goal in judge.goals if goal not in fulfilled), None)

    def _move(self, goal: Goal) -> Iterator[Waypoint]:
        """Pick and place, each waypoint made from the state in the moment it is asked for."""
        judge, state = self.env.judge, self.env.world.state()
        busy = set(judge.fulfilled(state).values())
        free = [label for label in judge.eligible[goal] if label not in busy]
        target = spot_of(goal.position) if isinstance(goal, Put) else self._dump(goal.label, state)
        label = min(free, key=lambda name: distance(state.stones[name].spot, target))
        x, y = state.stones[label].spot
        yield Waypoint((x, y, TRAVEL_M), OPEN)
        x, y = self.env.world.state().stones[label].spot
        yield Waypoint((x, y, GRASP_M), OPEN)
        yield Waypoint((x, y, GRASP_M), CLOSED, GRASP_ACTIONS)
        yield Waypoint((x, y, TRAVEL_M), CLOSED)
        x, y = self._tip_for(label, target)
        yield Waypoint((x, y, TRAVEL_M), CLOSED)
        x, y = self._tip_for(label, target)
        yield Waypoint((x, y, PLACE_M), CLOSED)
        yield Waypoint((x, y, PLACE_M), OPEN, RELEASE_ACTIONS)
        yield Waypoint((x, y, TRAVEL_M), OPEN)

    def _tip_for(self, label: str, target: Spot) -> Spot:
        """Where the tip must be for the held stone to be over the target."""
        state = self.env.world.state()
        x, y = state.stones[label].spot
        return target[0] - x + state.tip[0], target[1] - y + state.tip[1]

    def _dump(self, label: str, state: TableState) -> Spot:
        """The nearest place beside the board that is free."""
        x, y = state.stones[label].spot
        taken = [stone.spot for name, stone in state.stones.items() if name != label]
        taken += [block.spot for block in self.env.edits.blocks]
        free = [spot for spot in DUMPS if far_from(spot, taken)]
        return min(free, key=lambda spot: distance(spot, (x, y)))
