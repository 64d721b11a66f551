"""Oracles that go from waypoint to waypoint: plans are generators, which look at the state when they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_vla.kit.layout import Spot
from pytest_vla.policies.base import Observation, Policy
from pytest_vla.sim.pose import Vector

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey

THERE_M = 0.0012
AT_REST_M = 0.0002  # between two actions
BESIDE_M = 0.02  # what is farther off is held back by something
PATIENCE = 14  # actions after which a waypoint is given up
OPEN, CLOSED = 1.0, 0.0
GRASP_ACTIONS = 3
RELEASE_ACTIONS = 2


@dataclass(frozen=True, slots=True)
class Waypoint:
    """Where to go with the gripper open or closed; done when there, and after so many actions."""

    tip: Vector
    opening: float
    least: int = 1

    def reached(self, tip: Vector) -> bool:
        return _apart(self.tip, tip) <= THERE_M


@dataclass
class Route:
    """What an oracle remembers of an episode: the waypoints still to come, and how long it has been at this one."""

    waypoints: Iterator[Waypoint] | None = None
    current: Waypoint | None = None
    spent: int = 0
    last: Vector | None = None
    """Where the gripper was an action ago."""
    off: Vector = (0.0, 0.0, 0.0)
    """How far beside a waypoint to aim, for a robot that does not go where it is told."""


class WaypointPolicy(Policy):
    """Follows one plan after the other until there is none, then goes to rest; it draws nothing at random."""

    rest: Waypoint

    def tip(self) -> Vector:
        """Where the gripper is now."""
        raise NotImplementedError

    def plan(self) -> Iterator[Waypoint] | None:
        """The next thing to do, at least one waypoint long; None when nothing is left."""
        raise NotImplementedError

    def action(self, waypoint: Waypoint) -> Any:
        """The action that goes there."""
        raise NotImplementedError

    def reset(self, episode: EpisodeKey) -> Route:
        return Route()

    def act(self, observations: Sequence[Observation], states: Sequence[Route]) -> Sequence[Any]:
        return [self._act(route) for route in states]

    def _act(self, route: Route) -> Any:
        now, tip = route.current, self.tip()
        if now is not None and (route.spent >= PATIENCE or (route.spent >= now.least and now.reached(tip))):
            now = None
        if now is None:
            now = route.current = self._next(route)
            route.spent = 0
        elif route.spent > now.least and _rests_beside(now, tip, route.last):
            route.off = _sum(route.off, (a - b for a, b in zip(now.tip, tip, strict=True)))
        route.last = tip
        route.spent += 1
        return self.action(replace(now, tip=_sum(now.tip, route.off)) if any(route.off) else now)

    def _next(self, route: Route) -> Waypoint:
        waypoint = next(route.waypoints, None) if route.waypoints else None
        if waypoint is None:
            route.waypoints = self.plan()
            waypoint = next(route.waypoints) if route.waypoints else self.rest
        return waypoint


def _rests_beside(waypoint: Waypoint, tip: Vector, before: Vector | None) -> bool:
    return before is not None and _apart(tip, before) < AT_REST_M and _apart(waypoint.tip, tip) < BESIDE_M


def _apart(one: Vector, other: Vector) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def _sum(vector: Vector, added: Iterable[float]) -> Vector:
    x, y, z = (a + b for a, b in zip(vector, added, strict=True))
    return x, y, z


def carry(
    thing: Callable[[], Spot],
    tip: Callable[[], Vector],
    target: Spot,
    *,
    travel_m: float,
    grasp_m: float,
    place_m: float,
) -> Iterator[Waypoint]:
    """Pick a thing and put it down at a spot; it travels, grasps and lets go with the tip at these heights.

    Where the thing is, is asked again before each descent: it may have been nudged, or lie askew in the hand.
    """

    def tip_for_target() -> Spot:
        (x, y), (tip_x, tip_y, _) = thing(), tip()
        return target[0] - x + tip_x, target[1] - y + tip_y

    yield Waypoint((*thing(), travel_m), OPEN)
    x, y = thing()
    yield Waypoint((x, y, grasp_m), OPEN)
    yield Waypoint((x, y, grasp_m), CLOSED, GRASP_ACTIONS)
    yield Waypoint((x, y, travel_m), CLOSED)
    yield Waypoint((*tip_for_target(), travel_m), CLOSED)
    x, y = tip_for_target()
    yield Waypoint((x, y, place_m), CLOSED)
    yield Waypoint((x, y, place_m), OPEN, RELEASE_ACTIONS)
    yield Waypoint((x, y, travel_m), OPEN)
