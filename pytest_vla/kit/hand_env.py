"""Suites of things under a hand: a suite writes its tasks, the rest is here.

A task file says what stands on the table, what is said, when it is done and how the oracle does it. Actions and
observations are in the frame of a room in which the table is `TABLE_M` high; all else here counts from the table.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit import axes, draw, edits
from pytest_vla.kit.cameras import edited
from pytest_vla.kit.edits import IN_PLACE, CameraEdit
from pytest_vla.kit.env import Observation, Step, TaskEnv
from pytest_vla.kit.goals import Verdict
from pytest_vla.kit.hand import BASE, HOME, REACH_M, Robot, Unreachable
from pytest_vla.kit.hand_table import HandTable
from pytest_vla.kit.images import Image, LazyImages
from pytest_vla.kit.keyframes import Keyframe, Plan
from pytest_vla.kit.layout import Spot, distance, shift_things
from pytest_vla.kit.mujoco_table import lights
from pytest_vla.kit.patterns import PATTERNS, painted
from pytest_vla.kit.predicates import FailIn, Predicate, ThingJudge, Trigger
from pytest_vla.kit.solids import ball, box
from pytest_vla.kit.task import Task, task_of
from pytest_vla.kit.things import Part, Thing, Zone, things_of
from pytest_vla.perturb import COLOURS, scene_edits
from pytest_vla.policies.base import Policy, PolicyError
from pytest_vla.sim.mujoco import Scene
from pytest_vla.sim.pose import Pose, Vector, at
from pytest_vla.sim.view import View, looking_at

TABLE_M = 0.752
LOW_M: Vector = (-0.275, -0.655, TABLE_M)
HIGH_M: Vector = (0.775, 0.655, TABLE_M + 1.0)
UNIT_WITHIN = 0.03  # how far from 1 the length of a quaternion may be: rounding and a noisy robot are no mistakes
CENTRE: Spot = (0.25, 0.0)
TABLE_HALF_M = 3.0
TABLE_PX = 256
TABLE_COLOUR: Vector = (0.62, 0.57, 0.50)
PLACES = 200
STATE_SIZES = {"ee": 8, "euler": 7}

CAMERAS: Mapping[str, View] = {
    "front": looking_at((1.35, 0.0, 0.828), (0.444, 0.0, 0.405), 40.0),
    "left_shoulder": looking_at((-0.175, 0.2, 1.228), (0.241, 0.127, 0.322), 40.0),
    "right_shoulder": looking_at((-0.175, -0.2, 1.228), (0.241, -0.127, 0.322), 40.0),
    "overhead": looking_at((0.10, 0.0, 1.35), (0.25, 0.0, 0.0), 42.0),
}
CAMERA_NAMES = (*CAMERAS, "wrist")

Action = NDArray[np.float32]
PartT = TypeVar("PartT", Thing, Zone)


# --- tasks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Instance:
    """One drawn episode. `plan` is how the oracle does it, from a function that looks at the table."""

    parts: Sequence[Part]
    instruction: str
    done: Predicate
    plan: Plan
    fails: Sequence[FailIn] = ()
    trigger: Trigger | None = None


@dataclass
class Draw(draw.Draw):
    """An episode being drawn: which variation of the task it is, by which rules, and what stands there so far."""

    variation: int = 0
    strict: bool = False
    parts: list[Part] = field(default_factory=list)

    def add(self, part: PartT) -> PartT:
        """Put a part on the table where it says."""
        self.parts.append(part)
        return part

    def add_all(self, parts: Iterable[Part]) -> None:
        self.parts += parts

    def root(self, yaw_deg: float = 180.0, x: Spot = (0.16, 0.34), y: Spot = (-0.15, 0.15)) -> Pose:
        """A place for the whole scene, turned by at most so much either way."""
        yaw = math.radians(self.uniform(-yaw_deg, yaw_deg))
        return at(self.uniform(*x), self.uniform(*y), 0.0, yaw)

    def within_reach(self, *poses: Pose) -> None:
        """Draw again where the arm could hardly bring a hand that points down to one of these."""
        if not all(REACH_M[0] <= distance(pose.xy, BASE) <= REACH_M[1] for pose in poses):
            raise draw.Redraw

    def unobstructed(self, target: Pose, *obstacles: Pose, gap_m: float = 0.14) -> None:
        """Draw again where one of these tall things stands between the arm's base and the target."""
        (bx, by), (tx, ty) = BASE, target.xy
        for obstacle in obstacles:
            x, y = obstacle.xy
            share = ((x - bx) * (tx - bx) + (y - by) * (ty - by)) / ((tx - bx) ** 2 + (ty - by) ** 2)
            if 0 < share < 1 and distance((x, y), (bx + share * (tx - bx), by + share * (ty - by))) < gap_m:
                raise draw.Redraw

    def spots(self, count: int, half_m: Spot, gap_m: float) -> list[Spot]:
        """Places in a rectangle about the origin, no two of them nearer than the gap."""
        found: list[Spot] = []
        for _ in range(PLACES):
            spot = (self.uniform(-half_m[0], half_m[0]), self.uniform(-half_m[1], half_m[1]))
            if all(distance(spot, other) >= gap_m for other in found):
                found.append(spot)
            if len(found) == count:
                return found
        raise draw.Redraw


@dataclass(frozen=True)
class HandTask(Task):
    """One template of a suite of things; `split` is the partition it belongs to."""

    split: str = ""
    variations: int = 1

    def instance(self, key: EpisodeKey, variation: int, strict: bool, stream: str = "scene") -> Instance:
        found: Instance = draw.drawn(lambda rng: self.draw(Draw(rng, variation % self.variations, strict)), key, stream)
        return found


def task(split: str, variations: int = 1) -> Callable[[Callable[[Draw], Instance]], HandTask]:
    """Make a function that draws an episode the task of its name."""
    return partial(task_of, HandTask)(KEYFRAMES, split=split, variations=variations)


KEYFRAMES = 25


# --- perturbations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SceneEdits(edits.SceneEdits):
    """What may be changed about a table of things."""

    fixed: CameraEdit = IN_PLACE
    """Of every camera that stands."""
    table_texture: str = "plain"
    distractors: tuple[Thing, ...] = ()
    home_m: Vector | None = None


def scene_axes() -> dict[str, axes.Row]:
    """What the scene axes mean here."""
    return {
        **axes.camera_axes("fixed", CAMERAS["front"]),
        **axes.LIGHT_AXES,
        **axes.table_axes(),
        "layout.objects": _shift_objects,
        "layout.distractors": _add_distractors,
        **axes.OBJECT_AXES,
        # Towards the robot: home is as far out as an arm can hold the hand so high.
        "robot.start": axes.start("home_m", HOME.position, (math.pi / 2, 3 * math.pi / 2)),
    }


def _inside(spot: Spot) -> bool:
    return 0.0 <= spot[0] <= 0.5 and abs(spot[1]) <= 0.45


def _shift_objects(edits: SceneEdits, distance_m: float, instance: Instance, rng: axes.Rng) -> SceneEdits:
    shifts = shift_things(
        things_of(instance.parts),
        distance_m,
        rng,
        movable=lambda thing: thing.movable,
        radius_m=lambda thing: thing.radius_m,
        inside=_inside,
    )
    return replace(edits, shifts_m=shifts)


def _add_distractors(edits: SceneEdits, count: float, instance: Instance, rng: axes.Rng) -> SceneEdits:
    """Further blocks and balls wherever there is room; fewer when the table is full."""
    there = [thing.edited(edits) for thing in things_of(instance.parts) if not thing.on]
    added: list[Thing] = []
    for number in range(round(count)):
        rgb = COLOURS[list(COLOURS)[int(rng.integers(len(COLOURS)))]]
        piece = ball(0.02, rgb=rgb) if number % 2 else box((0.04, 0.04, 0.04), rgb=rgb)
        for x, y in rng.uniform((0.02, -0.42), (0.48, 0.42), (PLACES, 2)).tolist():
            if all(distance((x, y), other.spot) >= other.radius_m + 0.08 for other in [*there, *added]):
                added.append(Thing(f"extra_{number}", at(x, y, 0.02), (piece,), 0.05, free=True, graspable=True))
                break
    return replace(edits, distractors=tuple(added))


# --- environment ------------------------------------------------------------------------------------------------------


class HandEnv(TaskEnv):
    """Any task of a suite of things; after `reset`, `instance` is what was drawn and `edits` what was changed."""

    def __init__(
        self,
        tasks: Mapping[str, HandTask],
        robot: Robot,
        *,
        variation_of: Callable[[EpisodeKey], int],
        strict: bool = False,
        image_px: int = 256,
    ) -> None:
        self.tasks, self.strict, self._variation_of = tasks, strict, variation_of
        self.table = HandTable(robot, image_px)
        image = spaces.Box(0, 255, (image_px, image_px, 3), np.uint8)
        self.action_space: spaces.Box = keyframe_space()
        self.observation_space = spaces.Dict(
            {
                "images": spaces.Dict(dict.fromkeys(CAMERA_NAMES, image)),
                "state": spaces.Dict(
                    {name: spaces.Box(-np.inf, np.inf, (size,), np.float32) for name, size in STATE_SIZES.items()}
                ),
            }
        )

    def start(self, episode: EpisodeKey, edits: SceneEdits | None) -> None:
        self.variation = self._variation_of(episode)
        self.instance = self.tasks[episode.task].instance(episode, self.variation, self.strict)
        self.edits: SceneEdits = edits or scene_edits(scene_axes(), SceneEdits(), episode, self.instance)
        parts = [part.edited(self.edits) if isinstance(part, Thing) else part for part in self.instance.parts]
        home = HOME if self.edits.home_m is None else Pose(self.edits.home_m, HOME.rotation)
        self.table.load(self._scene(), [*parts, *self.edits.distractors], home)
        self.judge = ThingJudge(self.instance.done, self.instance.fails, self.instance.trigger)
        self.judge.progress(self.table)
        self.verdict = Verdict()
        self.instruction = axes.contradicted(self.instance.instruction, episode, self._other_instruction)

    def _scene(self) -> Scene:
        scene = Scene(lights(self.edits.light), extent_m=1.2)
        colour = self.edits.table_colour or TABLE_COLOUR
        scene.table(TABLE_HALF_M, painted(PATTERNS[self.edits.table_texture](TABLE_PX), colour))
        for name, view in CAMERAS.items():
            scene.camera(name, edited(view, self.edits.fixed, (*CENTRE, 0.0)))
        return scene

    def _other_instruction(self, stream: str) -> str:
        """What is said in another episode, of any task."""
        task = list(self.tasks.values())[int(self.episode.rng(stream).integers(len(self.tasks)))]
        return task.instance(self.episode, self.variation, self.strict, stream).instruction

    def step(self, action: Action) -> Step:
        """Go to the keyframe, then open or close. What cannot be reached loses the episode."""
        try:
            target, opening, free = keyframe_of(action)
            every = {"every_step": self.strict}
            stopped = self.table.go(target, self._watch, ignore_collisions=free, **every)
            if not stopped:
                self.table.grip(opening, self._watch, **every)
        except Unreachable as error:
            return self.outcome(Verdict(failure=str(error)), "invalid_action")
        if not (self.verdict.success or self.verdict.failure):
            self._judge(at_end=True)
        return self.outcome(self.verdict)

    def _watch(self) -> bool:
        self._judge()
        return self.verdict.success or bool(self.verdict.failure)

    def _judge(self, at_end: bool = False) -> None:
        self.verdict = self.judge.update(self.table.look(), at_end=at_end)

    def observe(self) -> Observation:
        """Pictures that are drawn when looked at, and the hand as an action would have it."""
        moment, table = self.table.snapshot(), self.table
        hand = table.look().hand
        return {
            "images": LazyImages(CAMERA_NAMES, lambda name: table.picture(moment, name)),
            "scan": {"things": table.things, "cameras": LazyImages(CAMERA_NAMES, partial(self._scan, moment))},
            "state": {
                "ee": action_of(hand, table.finger_opening)[:8],
                "euler": euler_state(hand, table.finger_opening),
            },
            "instruction": self.instruction,
        }

    def _scan(self, moment: Any, camera: str) -> Any:
        """What a camera measures, its pose in the frame of the room."""
        found = self.table.scan(moment, camera)
        found["pose"][2, 3] += TABLE_M
        return found

    def progress(self) -> float:
        return self.judge.progress(self.table.look())

    def digest(self) -> str:
        return self.table.digest()

    def close(self) -> None:
        self.table.close()

    def picture(self, camera: str) -> Image:
        return self.table.picture(self.table.snapshot(), camera)


def keyframe_space() -> spaces.Box:
    """x, y, z (m), the quaternion x, y, z, w, the gripper (1: open), and whether to ignore collisions (1: yes)."""
    low = np.array([*LOW_M, -1, -1, -1, -1, 0, 0], np.float32)
    return spaces.Box(low, np.array([*HIGH_M, 1, 1, 1, 1, 1, 1], np.float32), dtype=np.float32)


def keyframe_from_euler(numbers: Any) -> Action:
    """The keyframe of x, y, z, Euler angles about the room's x, y and z in turn (rad) and the gripper."""
    from scipy.spatial.transform import Rotation

    try:
        x, y, z, *angles, gripper = np.asarray(numbers, np.float64).tolist()
        quaternion = Rotation.from_euler("xyz", angles).as_quat()
    except (TypeError, ValueError) as error:
        raise PolicyError(f"an action with Euler angles has 7 numbers, got {numbers!r}: {error}") from error
    return np.array([x, y, z, *quaternion, gripper, 1.0], np.float32)


def euler_state(hand: Pose, opening: float) -> Action:
    """The hand as an action with Euler angles would have it."""
    from scipy.spatial.transform import Rotation

    x, y, z = hand.position
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # where two angles turn about one axis, either will do
        angles = Rotation.from_quat(hand.rotation).as_euler("xyz")
    return np.array([x, y, z + TABLE_M, *angles, opening], np.float32)


def keyframe_of(action: Action) -> tuple[Pose, float, bool]:
    """What an action asks for, counted from the table; raises Unreachable."""
    values = np.asarray(action, dtype=np.float64)
    x, y, z, *rotation, gripper, free = values.tolist()
    if not np.isfinite(values).all():
        raise Unreachable(f"the action is not finite: {values.tolist()}")
    if not all(low <= v <= high for low, v, high in zip(LOW_M, (x, y, z), HIGH_M, strict=True)):
        raise Unreachable(f"({x:.3f}, {y:.3f}, {z:.3f}) is outside the workspace {LOW_M} to {HIGH_M}")
    length = math.sqrt(sum(value * value for value in rotation))
    if abs(length - 1) > UNIT_WITHIN:
        raise Unreachable(f"the quaternion has length {length:.3f}, not 1")
    qx, qy, qz, qw = (value / length for value in rotation)
    return Pose((x, y, z - TABLE_M), (qx, qy, qz, qw)), float(gripper > 0.5), free > 0.5


def action_of(pose: Pose, opening: float, free: bool = True) -> Action:
    """The action that goes to a pose, which is counted from the table.

    Of the two quaternions of a rotation it has the one whose largest number is positive.
    """
    x, y, z = pose.position
    sign = math.copysign(1.0, max(pose.rotation, key=abs))
    return np.array([x, y, z + TABLE_M, *(sign * value for value in pose.rotation), opening, free], np.float32)


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
        return action_of(inside(keyframe.pose), keyframe.opening, keyframe.free)

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
