"""A privileged policy that solves every episode from the table's true state, through the actions any policy has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from pytest_vla.kit.gantry import GantryPolicy
from pytest_vla.kit.layout import Spot, distance, far_from
from pytest_vla.kit.waypoints import Waypoint, carry

from .board import BESIDE_X_M, BESIDE_Y_M, CLEARANCE_M, spot_of
from .scene import Goal, Put, TableState

if TYPE_CHECKING:
    from .env import BombEnv

TRAVEL_M = 0.045  # height above the table at which it crosses the board
GRASP_M = 0.001
PLACE_M = 0.002
DUMPS = [(side * x, y) for x in np.linspace(*BESIDE_X_M, 3) for side in (-1, 1) for y in np.linspace(*BESIDE_Y_M, 7)]


class Oracle(GantryPolicy):
    """Picks the stone of the first open goal and puts it where it belongs, until nothing is left."""

    env: BombEnv

    def plan(self) -> Iterator[Waypoint] | None:
        goal = self._open_goal(self.env.world.state())
        return None if goal is None else self._move(goal)

    def _open_goal(self, state: TableState) -> Goal | None:
        judge = self.env.judge
        fulfilled = judge.fulfilled(state)
        return next((goal for goal in judge.goals if goal not in fulfilled), None)

    def _move(self, goal: Goal) -> Iterator[Waypoint]:
        """The nearest free stone that may go there, picked and placed."""
        judge, state = self.env.judge, self.env.world.state()
        busy = set(judge.fulfilled(state).values())
        free = [label for label in judge.eligible[goal] if label not in busy]
        target = spot_of(goal.position, judge.board_m) if isinstance(goal, Put) else self._dump(goal.label, state)
        label = min(free, key=lambda name: distance(state.stones[name].spot, target))
        heights = {"travel_m": TRAVEL_M, "grasp_m": GRASP_M, "place_m": PLACE_M}
        return carry(lambda: self.env.world.state().stones[label].spot, self.tip, target, **heights)

    def _dump(self, label: str, state: TableState) -> Spot:
        """The nearest place beside the board that is free."""
        x, y = state.stones[label].spot
        taken = [stone.spot for name, stone in state.stones.items() if name != label]
        taken += [block.spot for block in self.env.edits.blocks]
        free = [spot for spot in DUMPS if far_from(spot, taken, CLEARANCE_M)]
        return min(free, key=lambda spot: distance(spot, (x, y)))
