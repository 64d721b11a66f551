"""The oracle that plays an episode's own plan, keyframe by keyframe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit.hand_env import HandEnv
from pytest_vla.kit.keyframe_actions import Action, action_of
from pytest_vla.kit.keyframes import Keyframe
from pytest_vla.policies.base import Policy
from pytest_vla.sim.pose import Pose


@dataclass
class Route:
    """What an oracle remembers of an episode: the keyframes still to come."""

    keyframes: Iterator[Keyframe] = field(default_factory=lambda: iter(()))


class KeyframeOracle(Policy):
    """Does what the episode's plan says, as often as it takes; it draws nothing at random."""

    def __init__(self, env: HandEnv) -> None:
        self.env = env

    def reset(self, episode: EpisodeKey) -> Route:
        return Route()

    def act(self, observations: Sequence[Any], states: Sequence[Route]) -> Sequence[Action]:
        return [self._act(route) for route in states]

    def _act(self, route: Route) -> Action:
        keyframe = self.next(route)
        return action_of(self.env.room, inside(keyframe.pose), keyframe.opening, keyframe.free)

    def next(self, route: Route) -> Keyframe:
        keyframe = next(route.keyframes, None)
        if keyframe is None:
            route.keyframes = self.env.instance.plan(self.env.table.look)
            keyframe = next(route.keyframes)
        return keyframe


def inside(pose: Pose) -> Pose:
    """The pose, moved into the workspace where rounding has left it just outside."""
    x, y, z = pose.position
    return Pose((x, y, max(z, 1e-4)), pose.rotation)
