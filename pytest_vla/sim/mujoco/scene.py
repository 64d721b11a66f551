"""A MuJoCo scene put together piece by piece with `mujoco.MjSpec`: light, cameras, materials, bodies and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_vla.sim.mujoco.renderers import load_mujoco
from pytest_vla.sim.mujoco.world import Image
from pytest_vla.sim.pose import Vector, yaw_rotation
from pytest_vla.sim.view import View

STEP_S = 0.0025
FRICTION = 0.8
SPIN_FRICTION_M = 0.002
ROLL_FRICTION_M = 0.0001
TABLE_REPEATS = 3  # of its texture
PAINT = "paint"  # the material of what has a colour and no pattern

Shape = Literal["plane", "box", "cylinder", "ellipsoid", "sphere", "capsule"]


@dataclass(frozen=True, slots=True)
class Lights:
    """One lamp far away, the light that comes from the camera, and the light that comes from everywhere."""

    towards_lamp: Vector
    lamp: Vector
    lamp_highlight: Vector
    head: Vector
    ambient: Vector
    shadows: bool = False


class Scene:
    """What a world is compiled from. Bodies, joints and shapes are numbered in the order in which they are added."""

    def __init__(self, lights: Lights, extent_m: float = 0.6) -> None:
        mj = self.mj = load_mujoco()
        self.spec = mj.MjSpec()
        self.textures: dict[str, Image] = {}
        self.shadows = lights.shadows
        option, visual, geom = self.spec.option, self.spec.visual, self.spec.default.geom
        option.timestep, option.impratio, option.iterations = STEP_S, 10, 20
        option.integrator, option.cone = mj.mjtIntegrator.mjINT_IMPLICITFAST, mj.mjtCone.mjCONE_ELLIPTIC
        self.spec.stat.extent, self.spec.stat.center = extent_m, (0.0, 0.0, 0.0)
        visual.map.znear, visual.map.zfar, visual.map.shadowclip = 0.01, 5, 1
        visual.quality.numslices, visual.quality.numstacks = 24, 12
        geom.friction, geom.condim, geom.solref = friction(FRICTION), 4, (0.006, 1)
        self._light(lights)

    def _light(self, lights: Lights) -> None:
        head, black = self.spec.visual.headlight, (0.0, 0.0, 0.0)
        head.ambient, head.diffuse, head.specular = lights.ambient, lights.head, black
        x, y, z = lights.towards_lamp
        self.ground.add_light(
            type=self.mj.mjtLightType.mjLIGHT_DIRECTIONAL,
            pos=(x, y, z),
            dir=(-x, -y, -z),
            ambient=black,
            diffuse=lights.lamp,
            specular=lights.lamp_highlight,
            castshadow=lights.shadows,
        )

    @property
    def ground(self) -> Any:
        """The body that never moves."""
        return self.spec.worldbody

    def camera(self, name: str, view: View, body: Any = None) -> None:
        """A camera that stands, or that a body carries."""
        camera = (body or self.ground).add_camera(name=name, pos=view.position, fovy=view.fovy_deg)
        camera.alt.type = self.mj.mjtOrientation.mjORIENTATION_XYAXES
        camera.alt.xyaxes = (*view.right, *view.up)

    def material(
        self, name: str, image: Image | None = None, *, gloss: tuple[float, float] = (0.0, 0.0), **more: Any
    ) -> None:
        """Something to make shapes of: an image or none, and how much (specular) and how sharply it shines."""
        material = self.spec.add_material(name=name, specular=gloss[0], shininess=gloss[1], **more)
        if image is not None:
            texture, flat = self.mj.mjtTexture.mjTEXTURE_2D, self.mj.mjtBuiltin.mjBUILTIN_FLAT
            height, width = image.shape[:2]
            self.spec.add_texture(name=name, type=texture, builtin=flat, height=height, width=width)
            material.textures[self.mj.mjtTextureRole.mjTEXROLE_RGB] = name
            self.textures[name] = image

    def table(self, half_m: float, image: Image) -> None:
        """The plane z = 0."""
        self.material("table", image, texrepeat=(TABLE_REPEATS, TABLE_REPEATS))
        self.shape(self.ground, "plane", (half_m, half_m, 0.1), material="table", name="table")

    def body(self, label: str, position: Vector, *, yaw: float = 0.0, free: bool = False, **more: Any) -> Any:
        """A body on the ground, which falls and is pushed if it is free."""
        x, y, z, w = yaw_rotation(yaw)
        body = self.ground.add_body(name=label, pos=position, quat=(w, x, y, z), **more)
        if free:
            body.add_freejoint()
        return body

    def slide(self, body: Any, name: str, axis: Vector, **more: Any) -> None:
        """Let a body slide along an axis of its own."""
        body.add_joint(name=name, type=self.mj.mjtJoint.mjJNT_SLIDE, axis=axis, **more)

    def shape(
        self,
        body: Any,
        shape: Shape,
        size: Sequence[float],
        *,
        rgb: Vector | None = None,
        material: str = PAINT,
        solid: bool = True,
        **more: Any,
    ) -> None:
        """A shape of a body, with half its sizes. What is not solid is seen, weighs nothing and touches nothing."""
        if not solid:
            more |= {"contype": 2, "conaffinity": 0, "mass": 0}  # collides with nothing, yet rays find it
        if rgb is not None:
            more["rgba"] = (*rgb, 1.0)
        kind = getattr(self.mj.mjtGeom, f"mjGEOM_{shape.upper()}")
        body.add_geom(type=kind, size=(*size, 0.0, 0.0)[:3], material=material, **more)


def friction(sliding: float) -> tuple[float, float, float]:
    """Sliding friction with what goes with it against spinning and rolling."""
    return sliding, SPIN_FRICTION_M, ROLL_FRICTION_M
