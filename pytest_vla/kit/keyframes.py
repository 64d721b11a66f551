"""Oracles that go from keyframe to keyframe: where the hand shall be, and whether it is open or closed once there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_vla.kit.hand import BASE, HAND, HOME, REACH_M
from pytest_vla.kit.hand_table import HandTable
from pytest_vla.kit.layout import distance
from pytest_vla.kit.things import Thing
from pytest_vla.kit.waypoints import CLOSED, OPEN
from pytest_vla.sim.pose import Pose, Quaternion, multiply, turn, yaw_rotation

__all__ = ["CLOSED", "OPEN", "Keyframe", "Look", "Plan", "back", "carry", "up"]

APPROACH_M = 0.10
LIFT_M = 0.12
STEEP = 0.85  # how far down a hand points that is taken to point down


@dataclass(frozen=True, slots=True)
class Keyframe:
    """The hand goes to the pose first, and then opens or closes. `free` lets it go through what is in the way."""

    pose: Pose
    opening: float
    free: bool = True


Look = Callable[[], HandTable]
Plan = Callable[[Look], Iterator[Keyframe]]


def back(pose: Pose, distance_m: float) -> Pose:
    """The hand drawn back from where it points."""
    return pose @ Pose((0.0, 0.0, -distance_m))


def up(pose: Pose, distance_m: float) -> Pose:
    x, y, z = pose.position
    return Pose((x, y, z + distance_m), pose.rotation)


def shifted(pose: Pose, frame: Pose, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Pose:
    """The pose, moved along the axes of a frame."""
    dx, dy, dz = Pose((0.0, 0.0, 0.0), frame.rotation).apply((x, y, z))
    px, py, pz = pose.position
    return Pose((px + dx, py + dy, pz + dz), pose.rotation)


def flipped(pose: Pose) -> Pose:
    """The same grasp with the fingers exchanged."""
    return pose @ Pose((0.0, 0.0, 0.0), turn((0, 0, 1), math.pi))


def easier(pose: Pose) -> Pose:
    """The pose or its flipped twin, whichever the arm reaches more easily."""
    return max(pose, flipped(pose), key=_ease)


def grasp(look: Look, thing: Thing, approach_m: float = APPROACH_M) -> Iterator[Keyframe]:
    """Close around a thing at its handle."""
    hand = easier(look().pose(thing.label) @ thing.handle)
    yield Keyframe(back(hand, approach_m), OPEN, free=False)
    yield Keyframe(hand, CLOSED)


def held_at(look: Look, thing: Thing, *poses: Pose) -> Pose:
    """Where the hand must go for the thing it holds to come to a pose; of several, to the one it turns least for."""
    table = look()
    grip = table.pose(thing.label).inverse() @ table.pose(HAND)
    return max((pose @ grip for pose in poses), key=_ease)


def easiest(look: Look, thing: Thing, poses: Sequence[Pose]) -> int:
    """The number of the pose to which the hand can bring what it holds with the least turning."""
    hands = [held_at(look, thing, pose) for pose in poses]
    return max(range(len(hands)), key=lambda number: _ease(hands[number]))


def _ease(hand: Pose) -> float:
    """How easily the arm reaches a pose, roughly; more is easier.

    A hand that points down is best turned as at home; one that points ahead is best turned the other way up, for which
    the wrist has more room. Too near to the base or too far from it is worse than any turn.
    """
    x, y, z = hand.position
    ahead = hand.apply((0, 0, 1))
    if z - ahead[2] > STEEP:
        turn = abs(sum(a * b for a, b in zip(hand.rotation, HOME.rotation, strict=True)))
    else:
        fingers = hand.apply((0, 1, 0))
        turn = (ahead[1] - y) * (fingers[0] - x) - (ahead[0] - x) * (fingers[1] - y)
    away = distance(hand.xy, BASE)
    return turn - 5 * max(REACH_M[0] - away, away - REACH_M[1], 0.0)


def halves(pose: Pose) -> tuple[Pose, Pose]:
    """The pose, and the same turned by half about the vertical: both will do for a thing that looks alike then."""
    return pose, turned(pose, math.pi)


def carry(
    look: Look,
    thing: Thing,
    *targets: Pose,
    approach_m: float = APPROACH_M,
    lift_m: float = LIFT_M,
    over_m: float = LIFT_M,
) -> Iterator[Keyframe]:
    """Grasp a thing, lift it, bring it above a pose (any of several), set it down there, let go and draw back."""
    yield from grasp(look, thing, approach_m)
    yield Keyframe(up(look().hand, lift_m), CLOSED)
    goal = held_at(look, thing, *targets)
    yield Keyframe(up(goal, over_m), CLOSED)
    yield Keyframe(goal, OPEN)
    yield Keyframe(back(goal, approach_m), OPEN)


def turned(pose: Pose, angle_rad: float) -> Pose:
    """The pose turned about the vertical through it."""
    rotation: Quaternion = multiply(yaw_rotation(angle_rad), pose.rotation)
    return Pose(pose.position, rotation)
