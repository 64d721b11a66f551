"""Suites of MuJoCo parts under a gantry: a suite writes its bench and its tasks, the rest is here.

`docs/mujoco_suite.md` walks through a suite of three tasks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit import axes, draw, edits
from pytest_vla.kit.cameras import edited
from pytest_vla.kit.edits import IN_PLACE, CameraEdit
from pytest_vla.kit.gantry import WRIST, Gantry, GantryEnv, GantryPolicy
from pytest_vla.kit.goals import Judge, TableState
from pytest_vla.kit.layout import GAP_M, Rim, Spot, distance, shift_things
from pytest_vla.kit.mujoco_table import BODIES, JOINTS, MujocoTable, add_gantry, add_rim, lights
from pytest_vla.kit.parts import Block, Loose, Part
from pytest_vla.kit.patterns import PATTERNS, painted
from pytest_vla.kit.suite import GantrySuite, own
from pytest_vla.kit.task import Task, task_of
from pytest_vla.kit.waypoints import Waypoint
from pytest_vla.perturb import COLOURS, scene_edits
from pytest_vla.sim.mujoco import Scene
from pytest_vla.sim.pose import Vector
from pytest_vla.sim.view import View, looking_at

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.policies import Policy

PLACES = 100
TABLE_HALF_M = 0.8
TABLE_PX = 256
TABLE_COLOUR: Vector = (0.55, 0.60, 0.58)
STANDARD = "standard"

FRONT = looking_at((0.0, -0.30, 0.44), (0.0, 0.0, 0.0), 45.0)

PartT = TypeVar("PartT", bound=Part)


@dataclass(frozen=True)
class Bench:
    """What all tasks of a suite share: where parts may stand, who reaches them, and how they are seen."""

    gantry: Gantry
    low: Spot
    high: Spot
    front: View = FRONT
    image_px: int = 128
    loose: tuple[type[Loose], ...] = (Block,)
    """The kinds of parts that the axes about things act on: their place, size, mass and friction."""

    @property
    def rim(self) -> Rim:
        """What is beyond the places of parts and the robot's reach."""
        low, high = self.gantry.low_m, self.gantry.high_m
        x, y = (max(-low[axis], high[axis]) + GAP_M for axis in (0, 1))
        return Rim((x, y), TABLE_HALF_M)

    def inside(self, spot: Spot) -> bool:
        return self.low[0] <= spot[0] <= self.high[0] and self.low[1] <= spot[1] <= self.high[1]

    def edited(self, part: Part, edits: SceneEdits) -> Part:
        return part.edited(edits) if isinstance(part, self.loose) else part


Plan = Callable[[Callable[[], TableState]], Iterator[Waypoint]]


@dataclass(frozen=True, slots=True)
class Instance:
    """One drawn episode. `plan` is how the oracle does it, from a function that looks at the state."""

    parts: Sequence[Part]
    instruction: str
    judge: Judge
    plan: Plan


@dataclass
class Draw(draw.Draw):
    """An episode being drawn, and the parts that stand there so far."""

    bench: Bench
    parts: list[Part] = field(default_factory=list)

    def put(self, make: Callable[..., PartT], label: str, **details: Any) -> PartT:
        """A part at a free spot."""
        part = make(label, free_spot(self.rng, self.bench, self.parts, make(label, (0.0, 0.0), **details)), **details)
        self.parts.append(part)
        return part


def free_spot(rng: axes.Rng, bench: Bench, there: Sequence[Part], part: Part) -> Spot:
    """A place on the bench that leaves a gap to everything there."""
    for x, y in rng.uniform(bench.low, bench.high, (PLACES, 2)).tolist():
        if all(distance((x, y), other.spot) >= part.radius_m + other.radius_m + GAP_M for other in there):
            return x, y
    raise draw.Redraw


@dataclass(frozen=True)
class BenchTask(Task):
    """One template of a suite of parts."""

    def instance(self, episode: EpisodeKey, bench: Bench, stream: str = "scene") -> Instance:
        instance: Instance = draw.drawn(lambda rng: self.draw(Draw(rng, bench)), episode, stream)
        return instance


task: Callable[[int], Callable[[Callable[[Draw], Instance]], BenchTask]] = partial(task_of, BenchTask)
"""`@task(60)` makes a function that draws an episode the task of its name, with so many actions."""


# --- perturbations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SceneEdits(edits.SceneEdits):
    """What may be changed about a bench."""

    front: CameraEdit = IN_PLACE
    table_texture: str = "plain"
    background: tuple[str, Vector] | None = None
    """The pattern and colour of what is around the bench; None: the table goes on."""
    distractors: tuple[Block, ...] = ()
    tip_start_m: Vector | None = None


def scene_axes(bench: Bench) -> dict[str, axes.Row]:
    """What the scene axes mean on a bench."""

    def objects(edits: SceneEdits, distance_m: float, instance: Instance, rng: axes.Rng) -> SceneEdits:
        shifts = shift_things(
            instance.parts,
            distance_m,
            rng,
            movable=lambda part: isinstance(part, bench.loose),
            radius_m=lambda part: part.radius_m,
            inside=bench.inside,
        )
        return replace(edits, shifts_m=shifts)

    def distractors(edits: SceneEdits, count: float, instance: Instance, rng: axes.Rng) -> SceneEdits:
        """Further blocks wherever there is room; fewer when the bench is full."""
        there: list[Part] = [bench.edited(part, edits) for part in instance.parts]
        added: list[Block] = []
        for number in range(round(count)):
            colour = list(COLOURS)[int(rng.integers(len(COLOURS)))]
            block = Block(f"extra_{number}", (0.0, 0.0), rgb=COLOURS[colour])
            try:
                added.append(replace(block, spot=free_spot(rng, bench, [*there, *added], block)))
            except draw.Redraw:
                break
        return replace(edits, distractors=tuple(added))

    return {
        **axes.camera_axes("front", bench.front),
        **axes.LIGHT_AXES,
        **axes.table_axes(),
        "layout.objects": objects,
        "layout.distractors": distractors,
        **axes.BACKGROUND_AXES,
        **axes.OBJECT_AXES,
        **axes.ROBOT_AXES,
        "robot.start": axes.start("tip_start_m", bench.gantry.start_m),
    }


# --- environment, oracle and suite ------------------------------------------------------------------------------------


class BenchTable(MujocoTable):
    """One worker's bench: a scene of parts under the gantry."""

    def reset(self, bench: Bench, parts: Sequence[Part], edits: SceneEdits) -> None:
        scene = Scene(lights(edits.light))
        colour = edits.table_colour or TABLE_COLOUR
        scene.table(TABLE_HALF_M, painted(PATTERNS[edits.table_texture](TABLE_PX), colour))
        add_rim(scene, bench.rim, edits.background)
        scene.camera("front", edited(bench.front, edits.front, (0.0, 0.0, 0.0)))
        add_gantry(scene, bench.gantry, WRIST)
        for part in parts:
            part.add_to(scene)
        self.load(scene, edits.tip_start_m, edits.action_time)
        self._parts = repr(parts).encode()
        self._bodies, self._joints = self.world.names("body")[BODIES:], self.world.names("joint")[JOINTS:]

    def digest(self) -> str:
        """Of what moves, and of the parts themselves: where something stands for good is no part of the former."""
        return hashlib.blake2b(self.world.digest().encode() + self._parts, digest_size=16).hexdigest()

    def state(self) -> TableState:
        self.world.kinematics()
        joints = {name: float(self.world.data.qpos[self.world.joint(name)]) for name in self._joints}
        return TableState(*self.hand(), {name: self.world.pose(name) for name in self._bodies}, joints)


class BenchEnv(GantryEnv):
    """Any task of a suite of parts; after `reset`, `instance` is what was drawn and `edits` what was changed."""

    world: BenchTable

    def __init__(self, bench: Bench, tasks: Mapping[str, BenchTask]) -> None:
        super().__init__(bench.gantry, BenchTable(bench.gantry, bench.image_px), bench.image_px)
        self.bench, self.tasks, self.axes = bench, tasks, scene_axes(bench)

    def start(self, episode: EpisodeKey, edits: SceneEdits | None) -> None:
        self.instance = self.tasks[episode.task].instance(episode, self.bench)
        self.edits: SceneEdits = edits or scene_edits(self.axes, SceneEdits(), episode, self.instance)
        parts = [*(self.bench.edited(part, self.edits) for part in self.instance.parts), *self.edits.distractors]
        self.world.reset(self.bench, parts, self.edits)
        self.state, self.judge = self.world.state(), self.instance.judge
        self.judge.progress(self.state)
        self.instruction = axes.contradicted(self.instance.instruction, episode, self._other_instruction)

    def _other_instruction(self, stream: str) -> str:
        """What is said in another episode, of any task."""
        task = list(self.tasks.values())[int(self.episode.rng(stream).integers(len(self.tasks)))]
        return task.instance(self.episode, self.bench, stream).instruction


class BenchOracle(GantryPolicy):
    """Does what the episode's plan says, as often as it takes."""

    env: BenchEnv

    def plan(self) -> Iterator[Waypoint]:
        return self.env.instance.plan(self.env.world.state)


class BenchSuite(GantrySuite):
    """A suite of parts: a subclass names itself and gives its bench and its tasks."""

    bench: Bench
    templates: Sequence[BenchTask]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "bench" in cls.__dict__:
            cls.image_sizes = dict.fromkeys(cls.cameras, (cls.bench.image_px, cls.bench.image_px))

    def cells(self) -> Sequence[tuple[str, str]]:
        return [(task.name, STANDARD) for task in self.templates]

    def step_limit(self, task: str) -> int:
        return self._tasks()[task].step_limit

    def make_env(self, task: str) -> BenchEnv:
        return BenchEnv(self.bench, self._tasks())

    def oracle(self, env: gymnasium.Env[Any, Any]) -> Policy:
        return BenchOracle(own(env, BenchEnv))

    def features(self, env: gymnasium.Env[Any, Any]) -> Mapping[str, str | float]:
        """Of the first part that was put there, as the front camera sees it; a suite knows more of its own."""
        parts = own(env, BenchEnv).instance.parts
        (x, y), count = parts[0].spot, float(len(parts))
        side, depth = "left" if x < 0 else "right", "near" if y < 0 else "far"
        return {"part": parts[0].label, "side": side, "depth": depth, "parts": count}

    def axes(self) -> Sequence[str]:
        return axes.supported(scene_axes(self.bench))

    def _tasks(self) -> dict[str, BenchTask]:
        return {task.name: task for task in self.templates}
