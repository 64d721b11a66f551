"""Privileged policies: one that solves every episode from the simulator's own state, and one that touches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_vla.kit.layout import distance
from pytest_vla.policies.base import Observation, Policy

from .kit.moves import Move, next_goal
from .kit.scene import WORKSPACE_X_M, WORKSPACE_Y_M

if TYPE_CHECKING:
    from .env import VimaEnv


class Oracle(Policy):
    """Reads where everything is and acts in the same action space as any policy; it draws nothing at random."""

    def __init__(self, env: VimaEnv) -> None:
        self.env = env

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> Sequence[Any]:
        return [self._act() for _ in observations]

    def _act(self) -> Any:
        move = (self.env.task.plan or next_goal)(self.env.instance, self.env.table.state())
        return idle_action(self.env) if move is None else move.action()


def idle_action(env: VimaEnv) -> Any:
    """A pick (or a tiny push) in the corner that is farthest from everything."""
    state = env.table.state()
    corners = [(x, y) for x in WORKSPACE_X_M for y in WORKSPACE_Y_M]
    corner = max(corners, key=lambda spot: min((distance(pose.xy, spot) for pose in state.values()), default=0.0))
    inwards = 0.01 if corner[1] < 0 else -0.01
    return Move(corner, (corner[0], corner[1] + inwards)).action()
