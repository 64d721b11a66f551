"""A privileged policy that solves every episode from the table's true state, through the actions any policy has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.kit.layout import Spot, distance, far_from
from pytest_vla.kit.waypoints import CLOSED, OPEN, Waypoint, WaypointPolicy
from pytest_vla.sim.pose import Vector

from . import rig
from .board import BESIDE_X_M, BESIDE_Y_M, CLEARANCE_M, spot_of
from .scene import Goal, Put, TableState

if TYPE_CHECKING:
    from .env import BombEnv

TRAVEL_M = 0.045  # height above the table at which it crosses the board
GRASP_M = 0.001
PLACE_M = 0.002
GRASP_ACTIONS = 3
RELEASE_ACTIONS = 2
DUMPS = [(side * x, y) for x in np.linspace(*BESIDE_X_M, 3) for side in (-1, 1) for y in np.linspace(*BESIDE_Y_M, 7)]


class Oracle(WaypointPolicy):
    """Picks the stone of the first open goal and puts it where it belongs, until nothing is left."""

    rest = Waypoint(rig.START_M, OPEN)

    def __init__(self, env: BombEnv) -> None:
        self.env = env

    def tip(self) -> Vector:
        return self.env.world.state().tip

    def action(self, waypoint: Waypoint) -> Any:
        return rig.action_of(waypoint.tip, waypoint.opening)

    def plan(self) -> Iterator[Waypoint] | None:
        goal = self._open_goal(self.env.world.state())
        return None if goal is None else self._move(goal)

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
        free = [spot for spot in DUMPS if far_from(spot, taken, CLEARANCE_M)]
        return min(free, key=lambda spot: distance(spot, (x, y)))
