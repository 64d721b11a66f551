"""The table of the suite: things become bodies and pictures here, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.cameras import turn_of, turned_about
from pytest_vla.kit.edits import LightEdit
from pytest_vla.kit.images import LazyImages
from pytest_vla.kit.layout import Spot
from pytest_vla.sim.bullet import DAYLIGHT, BulletStage, BulletWorld, Camera, Light, Prop, Watch
from pytest_vla.sim.meshes.mesh import Mesh, sheet
from pytest_vla.sim.pose import Pose, Vector, yaw_rotation
from pytest_vla.sim.view import vector

from .edits import IN_PLACE, NEUTRAL, CameraEdit, SceneEdits
from .kit.prompt import Asset, AssetImages, ObjectImage
from .kit.scene import Look, TableState, Thing
from .kit.task import Tool
from .meshes import collision_parts, line_mesh, three_sided_mesh, visual_mesh
from .objects import OBJECTS
from .textures import texture_image
from .tools import FLOOR, TOOL_START, Spatula, Suction

FLOOR_Z_M = -0.001
STILL_M_S = 5e-3
SETTLE_STEPS = 1000
TABLE_CENTRE: Vector = (0.5, 0.0, 0.0)
IMAGE_RIGHT: Vector = (0.0, 1.0, 0.0)  # of both cameras
NOTHING_ID, FLOOR_ID, TABLE_ID = 255, 0, 1
BACKDROP_IDS = np.array([FLOOR_ID, TABLE_ID, NOTHING_ID], dtype=np.uint8)
BACKDROPS_KEPT = 64
PROMPT_YAW = math.pi / 2
OPENS_UP = "three-sided rectangle"  # in its own picture; on the table it opens downwards
INERTIA_SCALE = 3.0
BOXES = ("block", "shorter block", "small block")

TOOLS: Mapping[Tool, Suction | Spatula] = {"suction": Suction(), "spatula": Spatula()}
FIRST_OBJECT_ID: Mapping[Tool, int] = {"suction": 5, "spatula": 4}

VIEWS: Mapping[str, Camera] = {
    "front": Camera((1000.41, 0.0, 1000.0), (-1.0, 0.0, -1.0), (-1.0, 0.0, 1.0), 355555.0, 900.0, 10001.0),
    "top": Camera((0.5, 0.0, 1000.0), (0.0, 0.0, -1.0), (-1.0, 0.0, 0.0), 250980.0, 900.0, 1001.0),
}


Image = NDArray[np.uint8]


class Views:
    """Both cameras' pictures of one moment, each drawn when somebody looks at it."""

    def __init__(self, draw: Callable[[str], tuple[Image, Image]]) -> None:
        shots = LazyImages(tuple(VIEWS), draw)
        self.rgb = LazyImages(tuple(VIEWS), lambda name: shots[name][0])
        self.segmentation = LazyImages(tuple(VIEWS), lambda name: shots[name][1])


class Tabletop:
    """One worker's table: a physics world that is emptied for each episode, and a stage that keeps its meshes."""

    def __init__(self, *, window: bool = False) -> None:
        """With a `window` PyBullet shows what happens on the table."""
        self.world = BulletWorld(window=window)
        self.stage = BulletStage(_load_mesh, texture_image)
        self._looks: dict[str, Look] = {}
        self._movable: tuple[str, ...] = ()
        self._state: dict[str, Pose] | None = None
        self._backdrops: dict[object, tuple[Image, Image]] = {}

    def close(self) -> None:
        self.world.close()
        self.stage.close()

    # --- physics ------------------------------------------------------------------------------------------------------

    def reset(self, things: Sequence[Thing], tool: Tool, edits: SceneEdits = NEUTRAL) -> None:
        """Put the things on an empty table and let them come to rest."""
        self.tool, self.edits = tool, edits
        everything = [*things, *edits.distractors]
        self._looks = {thing.label: _edited(thing, edits) for thing in everything}
        self._movable = tuple(thing.label for thing in everything if not thing.fixed)
        self._fixed: dict[str, Pose] = {}
        self._low: dict[str, float] = {}
        self.world.reset()
        self.world.add_floor(FLOOR, FLOOR_Z_M)
        TOOLS[tool].add(self.world, edits.tool_start or TOOL_START)
        for thing in everything:
            self._add(thing)
        self.settle()

    def _add(self, thing: Thing) -> None:
        look, spec = self._looks[thing.label], OBJECTS[thing.look.shape]
        dx, dy = self.edits.shifts_m.get(thing.label, (0.0, 0.0))
        z = look.height_m / 2 if thing.z is None else thing.z
        pose = Pose((thing.spot[0] + dx, thing.spot[1] + dy, z), thing.pose.rotation)
        if thing.fixed:
            self._fixed[thing.label] = pose
        if not collision_parts(look.shape):
            return
        low = _mass_below_m(look) if not thing.fixed else 0.0
        if low:
            self._low[thing.label] = low
        self.world.add_solid(
            thing.label,
            f"{look.shape}|{low > 0}",
            lambda: [part + (0.0, 0.0, low / look.scale[2]) for part in collision_parts(look.shape)],
            _raised(pose, -low),
            mass_kg=0.0 if thing.fixed else spec.mass_kg * self.edits.mass,
            friction=spec.friction * self.edits.friction,
            scale=look.scale,
            inertia=None if thing.fixed else _inertia(look, spec.mass_kg * self.edits.mass),
        )

    def push(self, label: str, by_m: Spot) -> None:
        """Let a thing stand elsewhere from one moment to the next, and come to rest."""
        pose = self.world.pose(label)
        x, y, z = pose.position
        self.world.set_pose(label, replace(pose, position=(x + by_m[0], y + by_m[1], z)))
        self.settle()

    def settle(self) -> bool:
        self._state = None
        return self.world.settle(self._movable, STILL_M_S, SETTLE_STEPS)

    def act(self, action: dict[str, NDArray[np.float32]], watch: Watch | None) -> None:
        """Carry out one action with this episode's tool, and let things come to rest."""
        self._state = None
        TOOLS[self.tool].act(self.world, action, self._movable, watch, self.edits.action_time)
        self.settle()

    def state(self) -> TableState:
        """Where everything is; judge, oracle and cameras share one reading, as long as nothing moves."""
        if self._state is None:
            self._state = {label: self._fixed.get(label) or self._pose(label) for label in self._looks}
        return self._state

    def moving_state(self, labels: Iterable[str]) -> TableState:
        return {label: self._pose(label) for label in labels}

    def _pose(self, label: str) -> Pose:
        """Where the middle of a thing is; physics knows where its mass is."""
        pose, low = self.world.pose(label), self._low.get(label)
        return _raised(pose, low) if low else pose

    def looks(self) -> Mapping[str, Look]:
        return self._looks

    # --- pictures -----------------------------------------------------------------------------------------------------

    def views(self, ids: Mapping[str, int]) -> Views:
        """The table as it stands; `ids` says which number each thing has in the segmentation."""
        state = self.state()
        props = [_prop(look, state[label]) for label, look in self._looks.items()]
        return self._shoot(props, [ids[label] for label in self._looks], self.edits)

    def draw(self, asset: Asset, order: np.random.Generator) -> AssetImages:
        """A prompt's image; `order` shuffles the numbers of the objects in it."""
        if isinstance(asset, ObjectImage):
            turned = asset.look.shape == OPENS_UP
            pose = Pose(TABLE_CENTRE, yaw_rotation(PROMPT_YAW + math.pi / 2 * turned))
            views = self._shoot([_prop(asset.look, pose)], [0], None)
            return AssetImages("object", views.rgb, views.segmentation, {0: asset.look})
        numbers = [2 + int(i) for i in order.permutation(len(asset.things))]
        views = self._shoot([_prop(thing.look, thing.pose) for thing in asset.things], numbers, NEUTRAL)
        objects = dict(sorted(zip(numbers, (thing.look for thing in asset.things), strict=True)))
        return AssetImages("scene", views.rgb, views.segmentation, objects)

    def _shoot(self, props: Sequence[Prop], numbers: Sequence[int], edits: SceneEdits | None) -> Views:
        """Both views of the props, on the table or (without edits) in an empty world."""
        lookup = np.array([*numbers, NOTHING_ID], dtype=np.uint8)
        return Views(lambda name: self._picture(VIEWS[name], props, lookup, edits))

    def _picture(
        self, camera: Camera, props: Sequence[Prop], lookup: Image, edits: SceneEdits | None
    ) -> tuple[Image, Image]:
        """What a camera sees, and the number of the thing in each pixel: `lookup` has one for each prop."""
        light = _light((edits or NEUTRAL).light, (edits or NEUTRAL).specular)
        camera = _edited_camera(camera, (edits or NEUTRAL).camera)
        backdrop = None if edits is None else self._backdrop(camera, light, edits)
        self.stage.show(props)
        picture = self.stage.picture(camera, light)
        if backdrop is None:
            return picture.rgb, picture.numbered(lookup)
        return picture.laid_over(*backdrop, lookup)

    def _backdrop(self, camera: Camera, light: Light, edits: SceneEdits) -> tuple[Image, Image]:
        """The empty table, drawn once: nothing is ever behind it, so objects are laid over a copy."""
        key = (camera, light, edits.table_colour, edits.table_texture, edits.background)
        if key not in self._backdrops:
            if len(self._backdrops) >= BACKDROPS_KEPT:
                self._backdrops.clear()
            self.stage.show(_furniture(edits))
            picture = self.stage.picture(camera, light)
            self._backdrops[key] = picture.rgb, BACKDROP_IDS[picture.props]
        return self._backdrops[key]


def _edited(thing: Thing, edits: SceneEdits) -> Look:
    look = thing.look
    if thing.label in edits.object_textures:
        look = replace(look, texture=edits.object_textures[thing.label])
    if edits.scale != 1.0 and not thing.fixed:
        x, y, z = look.scale
        look = replace(look, scale=(x * edits.scale, y * edits.scale, z * edits.scale))
    return look


def _raised(pose: Pose, by_m: float) -> Pose:
    """The pose along its own vertical."""
    (a, b, c), (x, y, z, w) = pose.position, pose.rotation
    up = (a + 2 * (x * z + w * y) * by_m, b + 2 * (y * z - w * x) * by_m, c + (1 - 2 * (x * x + y * y)) * by_m)
    return Pose(up, pose.rotation)


def _mass_below_m(look: Look) -> float:
    """How far the mass is below the middle: at the bottom, but for boxes, as the original has it.

    A thing that is put down half on another one leans there instead of tipping over.
    """
    return 0.0 if look.shape in BOXES else look.height_m / 2


def _inertia(look: Look, mass_kg: float) -> Vector:
    """Three times that of the box around the object: as the original has it, so things tip over as slowly as there."""
    (x, y), z = OBJECTS[look.shape].footprint, look.height_m
    x, y = (x * look.scale[0]) ** 2, (y * look.scale[1]) ** 2
    share = INERTIA_SCALE * mass_kg / 12
    return share * (y + z * z), share * (x + z * z), share * (x + y)


def _prop(look: Look, pose: Pose) -> Prop:
    mesh = look.shape if look.size is None else f"{look.shape}|{look.size[0]}|{look.size[1]}"
    return Prop(mesh, pose, look.texture, scale=look.scale)


def _furniture(edits: SceneEdits) -> list[Prop]:
    grey = edits.table_colour or (0.2, 0.2, 0.2)
    colour = (1.0, 1.0, 1.0) if edits.table_texture and not edits.table_colour else grey
    return [
        Prop("floor", Pose((0.5, 0.0, FLOOR_Z_M)), edits.background),
        Prop("table", Pose(TABLE_CENTRE), edits.table_texture, (*colour, 1.0)),
    ]


@cache
def _load_mesh(name: str) -> Mesh:
    shape, *size = name.split("|")
    if shape == "floor":
        return sheet((4.0, 4.0), (40, 40))
    if shape == "table":
        return sheet((0.5, 1.0), (5, 10))
    if not size:
        return visual_mesh(shape)
    depth, width = (float(value) for value in size)
    return line_mesh(depth) if shape == "line" else three_sided_mesh(depth, width)


@cache
def _edited_camera(camera: Camera, edit: CameraEdit) -> Camera:
    """The camera, turned about the table's centre; the very same object when there is nothing to do."""
    if edit == IN_PLACE:
        return camera
    turn = turn_of(edit, IMAGE_RIGHT)
    return replace(
        camera,
        position=turned_about(TABLE_CENTRE, camera.position, turn, edit.shift_m),
        look=vector(turn @ camera.look),
        up=vector(turn @ camera.up),
        focal_px=camera.focal_px * edit.zoom,
    )


@lru_cache(maxsize=BACKDROPS_KEPT)
def _light(edit: LightEdit, specular: float) -> Light:
    """Daylight, turned about the vertical, dimmed, coloured and hardened as the edit says, with further highlights."""
    x, y, z = DAYLIGHT.direction
    cos, sin = math.cos(math.radians(edit.azimuth_deg)), math.sin(math.radians(edit.azimuth_deg))
    ambient, diffuse = DAYLIGHT.ambient * edit.brightness, DAYLIGHT.diffuse * edit.brightness
    moved = ambient * edit.shadow
    return Light(
        direction=(x * cos - y * sin, x * sin + y * cos, z),
        colour=edit.colour,
        ambient=ambient - moved,
        diffuse=diffuse + moved,
        specular=DAYLIGHT.specular + specular,
    )
