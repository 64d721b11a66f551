"""A gripper on a carriage that moves along x, y and z: its numbers, its actions, and the environment around it.

Its origin is the tip, the point between the lower ends of the fingers. Nothing here knows a simulator: `mujoco_table`
has the gantry in MuJoCo, and a suite may bring another world with the same methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pytest_vla.kit.env import Observation, Step, TaskEnv
from pytest_vla.kit.goals import Judge
from pytest_vla.kit.images import Image, LazyImages
from pytest_vla.kit.waypoints import OPEN, Waypoint, WaypointPolicy
from pytest_vla.sim.pose import Vector
from pytest_vla.sim.view import looking_at

Array = NDArray[np.float64]
Action = NDArray[np.float32]

CONTROL_HZ = 10
RAMP_HZ = 50  # how often the set point moves on within one action
RAMPS = RAMP_HZ // CONTROL_HZ  # in one action
CAMERAS = ("front", "wrist")
HEIGHT, GRIPPER = 2, 3  # where an action, like the pose in an observation, has its z and its gripper
WRIST = looking_at((0.0, -0.080, 0.125), (0.0, 0.002, 0.0), 62.0)  # what a camera on the carriage sees
FINGER_HALF_M: Vector = (0.002, 0.006, 0.016)

Carrier = Literal["carriage", "left", "right"]


@dataclass(frozen=True, slots=True)
class Box:
    """A box of the robot, placed in the frame of what carries it. A finger's frame lies on its inner face."""

    carrier: Carrier
    centre_m: Vector
    half_m: Vector
    rgb: Vector
    solid: bool = True


BOXES = (
    Box("left", (-FINGER_HALF_M[0], 0.0, FINGER_HALF_M[2]), FINGER_HALF_M, (0.85, 0.45, 0.10)),
    Box("right", (FINGER_HALF_M[0], 0.0, FINGER_HALF_M[2]), FINGER_HALF_M, (0.85, 0.45, 0.10)),
    Box("carriage", (0.0, 0.0, 0.040), (0.024, 0.009, 0.008), (0.30, 0.33, 0.38)),
    Box("carriage", (0.0, 0.0, 0.170), (0.007, 0.007, 0.122), (0.62, 0.64, 0.68), solid=False),
)


@dataclass(frozen=True)
class Gantry:
    """Where the tip may go, where it starts, and what it can do. An action is x, y, z and the gripper's 0..1."""

    low_m: Vector
    high_m: Vector
    start_m: Vector
    speed_m_s: float = 0.4
    opening_m_s: float = 0.18
    max_opening_m: float = 0.036
    grip_n: float = 3.0
    carriage_kg: float = 0.8
    finger_kg: float = 0.05

    @cached_property
    def low(self) -> Action:
        return action_of(self.low_m, 0.0)

    @cached_property
    def high(self) -> Action:
        return action_of(self.high_m, 1.0)

    def limited(self, action: Action) -> Array:
        """The set point that an action asks for: inside the workspace, the gripper as an opening in metres."""
        target = np.clip(action, self.low, self.high).astype(np.float64)
        target[GRIPPER] *= self.max_opening_m
        return target

    def ramp(self, set_point: Array, target: Array, seconds: float) -> Array:
        """The set point after some time on the straight way to the target."""
        away = target - set_point
        length = float(np.sqrt(away[:3] @ away[:3]))
        step = away.copy()
        if length > self.speed_m_s * seconds:
            step[:3] *= self.speed_m_s * seconds / length
        most = self.opening_m_s * seconds
        step[GRIPPER] = min(max(away[GRIPPER], -most), most)
        return set_point + step

    def ramps(self, set_point: Array, action: Action, count: int = RAMPS) -> Iterator[Array]:
        """The set points of one action."""
        target = self.limited(action)
        for _ in range(count):
            set_point = self.ramp(set_point, target, 1 / RAMP_HZ)
            yield set_point


def ramp_counts(action_time: float) -> Iterator[int]:
    """How many ramps each action has: whole numbers, on average `action_time` times as many as usual."""
    due = 0.0
    while True:
        due += RAMPS * action_time
        yield int(due)
        due -= int(due)


def action_of(tip: Sequence[float], opening: float) -> Action:
    """The action that goes to a point with the gripper so far open (0..1)."""
    return np.array([*tip, opening], dtype=np.float32)


class World(Protocol):
    """One table under a gantry. Snapshots are drawn at any time and reach no physics.

    A state has at least a `tip` (the point between the fingertips) and an `opening_m` (how far these are apart).
    """

    @property
    def renderer(self) -> str: ...

    def act(self, action: Action) -> None: ...

    def state(self) -> Any: ...

    def snapshot(self) -> Any: ...

    def picture(self, snapshot: Any, camera: str) -> Image: ...

    def digest(self) -> str: ...

    def close(self) -> None: ...


class GantryEnv(TaskEnv):
    """Tasks under a gantry. A suite's `start` sets the world, `state`, `judge` and `instruction`."""

    state: Any
    judge: Judge
    instruction: str

    def __init__(self, gantry: Gantry, world: World, image_px: int) -> None:
        self.gantry, self.world = gantry, world
        image = spaces.Box(0, 255, (image_px, image_px, 3), np.uint8)
        self.action_space = spaces.Box(gantry.low, gantry.high, dtype=np.float32)
        self.observation_space = spaces.Dict(
            {
                "images": spaces.Dict(dict.fromkeys(CAMERAS, image)),
                "state": spaces.Dict({"ee": spaces.Box(-np.inf, np.inf, (4,), np.float32)}),
            }
        )

    def step(self, action: Action) -> Step:
        """Go towards the action's target for one control period."""
        self.world.act(np.asarray(action, dtype=np.float32))
        self.state = self.world.state()
        return self.outcome(self.judge.update(self.state))

    def observe(self) -> Observation:
        """Pictures that are drawn when looked at, and the hand as an action would have it."""
        return {
            "images": LazyImages(CAMERAS, self.camera(self.world.snapshot())),
            "state": {"ee": action_of(self.state.tip, self.state.opening_m / self.gantry.max_opening_m)},
            "instruction": self.instruction,
        }

    def camera(self, moment: Any) -> Callable[[str], Image]:
        """What draws one moment, by the camera's name."""
        world = self.world
        return lambda name: world.picture(moment, name)

    def progress(self) -> float:
        return self.judge.progress(self.state)

    def digest(self) -> str:
        return self.world.digest()

    def close(self) -> None:
        self.world.close()


class GantryPolicy(WaypointPolicy):
    """An oracle under a gantry; a suite writes `plan`."""

    def __init__(self, env: GantryEnv) -> None:
        self.env = env
        self.rest = Waypoint(env.gantry.start_m, OPEN)

    def tip(self) -> Vector:
        tip: Vector = self.env.world.state().tip
        return tip

    def action(self, waypoint: Waypoint) -> Action:
        return action_of(waypoint.tip, waypoint.opening)
