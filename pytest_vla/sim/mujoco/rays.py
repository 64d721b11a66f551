"""A renderer that needs no graphics library: one ray for each pixel, shaded like the fixed OpenGL pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.sim.mujoco.renderers import load_mujoco

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

FAR_M = 1e3
SUN_M = 5.0  # a directional light shines from so far away
SHADOW_SLACK_M = 5e-4
GL_SHININESS = 128.0
PLAIN_RGBA = (0.5, 0.5, 0.5, 1.0)  # a geom of this colour shows its material's instead
PLAIN_SPECULAR = PLAIN_SHININESS = 0.5


@dataclass(frozen=True, slots=True)
class Surface:
    """How a geom answers to light. A texture of its x-y plane repeats every `1 / per_m` metres."""

    rgb: Array
    specular: float
    shininess: float
    emission: float
    texture: int = -1
    per_m: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Lamp:
    """A light as it stands; the spot's cone is given by its cosine."""

    position: Array
    direction: Array
    ambient: Array
    diffuse: Array
    specular: Array
    parallel: bool
    casts: bool = False
    cone: float = -1.0
    exponent: float = 0.0

    def towards(self, points: Array) -> Array:
        """Unit vectors from points to the light."""
        if self.parallel:
            return np.broadcast_to(-self.direction, points.shape)
        away: Array = self.position - points
        away /= np.linalg.norm(away, axis=1, keepdims=True)
        return away

    def reach(self, towards: Array) -> Array | float:
        """How much of a spot light arrives."""
        if self.cone <= -1.0:
            return 1.0
        cosine = towards @ -self.direction
        return np.where(cosine >= self.cone, np.maximum(cosine, 0.0) ** self.exponent, 0.0)[:, None]


@dataclass(frozen=True, eq=False, slots=True)
class Scan:
    """What a camera measures: pixel by pixel the body it sees (-1: none) and how far away it is."""

    body: NDArray[np.int32]
    depth_m: NDArray[np.float32]
    """Along the camera's line of sight; 0 where there is nothing."""
    intrinsics: Array
    """From points in the camera's frame (x right, y down, z forward) to pixels, 3x3."""
    pose: Array
    """From the camera's frame to the world's, 4x4."""


def scan(model: Any, data: Any, camera: int, width_px: int, height_px: int) -> Scan:
    """One ray for each pixel, through its middle; the same with every renderer."""
    fovy_deg = float(model.cam_fovy[camera])
    eye, turn = data.cam_xpos[camera].copy(), data.cam_xmat[camera].reshape(3, 3)
    rays = _pixel_rays(height_px, width_px, fovy_deg)
    groups = np.array(load_mujoco().MjvOption().geomgroup, np.uint8)
    geoms, distance, _ = _cast(model, data, eye, rays @ turn.T, groups)
    hit = geoms >= 0
    shape = height_px, width_px
    focal_px = height_px / 2 / np.tan(np.radians(fovy_deg) / 2)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn * (1.0, -1.0, -1.0), eye  # a camera of the library looks along -z, and y is up
    return Scan(
        body=np.where(hit, model.geom_bodyid[geoms], -1).astype(np.int32).reshape(shape),
        depth_m=np.where(hit, distance * -rays[:, 2], 0.0).astype(np.float32).reshape(shape),
        intrinsics=np.array([[focal_px, 0, width_px / 2], [0, focal_px, height_px / 2], [0, 0, 1]]),
        pose=pose,
    )


def _cast(
    model: Any, data: Any, start: Array, rays: Array, groups: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], Array, Array]:
    """For each ray the geom it meets (-1: none), how far away, and the surface's normal there."""
    count = len(rays)
    geoms, distance, normals = np.full(count, -1, np.int32), np.full(count, -1.0), np.zeros(count * 3)
    load_mujoco().mj_multiRay(
        model, data, start, np.ascontiguousarray(rays).ravel(), groups, 1, -1, geoms, distance, normals, count, FAR_M
    )
    return geoms, distance, normals.reshape(-1, 3)


class RayCaster:
    """Draws every shape MuJoCo can intersect; the sky is black, mirrors do not reflect.

    MuJoCo looks for a body's geoms within the bounds of those that may collide: one that sticks out of them and is only
    to be seen needs a `contype` of its own that nothing answers to.
    """

    def __init__(self, width_px: int, height_px: int) -> None:
        self._mj = load_mujoco()
        self._shape = height_px, width_px
        self._groups = np.array(self._mj.MjvOption().geomgroup, np.uint8)

    def show(self, model: Any) -> None:
        self._model = model
        self._pyramids = [_pyramid(model, number) for number in range(model.ntex)]
        self._surfaces = [_surface(model, geom) for geom in range(model.ngeom)]

    def close(self) -> None:
        return None

    def paint(self, data: Any, camera: int, shadows: bool) -> Image:
        fovy_deg = float(self._model.cam_fovy[camera])
        eye, turn = data.cam_xpos[camera].copy(), data.cam_xmat[camera].reshape(3, 3)
        rays = _pixel_rays(*self._shape, fovy_deg) @ turn.T
        geoms, distance, normals = self._cast(data, eye, rays)
        points = eye + rays * distance[:, None]
        lamps = [self._headlight(eye, -turn[:, 2]), *self._lamps(data)]
        lit = [self._lit(data, lamp, points, geoms >= 0) if shadows and lamp.casts else None for lamp in lamps]
        pixel_m = distance * (2 * np.tan(np.radians(fovy_deg) / 2) / self._shape[0])
        colour = np.zeros((len(rays), 3))
        for geom in np.unique(geoms[geoms >= 0]):
            at = np.flatnonzero(geoms == geom)
            surface, there = self._surfaces[geom], points[at]
            total = np.full((len(at), 3), surface.emission * surface.rgb)
            for lamp, mask in zip(lamps, lit, strict=True):
                diffuse, shine = _answer(lamp, surface, there, normals[at], turn[:, 2])
                if mask is not None:
                    diffuse, shine = diffuse * mask[at, None], shine * mask[at, None]
                total += surface.rgb * (lamp.ambient + lamp.diffuse * diffuse) + lamp.specular * shine
            # As in OpenGL, a texture is laid over what the light has made, highlights included.
            colour[at] = np.minimum(total, 1.0) * self._texels(data, int(geom), there, pixel_m[at])
        return np.rint(np.clip(colour, 0.0, 1.0) * 255).astype(np.uint8).reshape(*self._shape, 3)

    def _cast(self, data: Any, start: Array, rays: Array) -> tuple[NDArray[np.int32], Array, Array]:
        return _cast(self._model, data, start, rays, self._groups)

    def _lit(self, data: Any, lamp: Lamp, points: Array, hit: NDArray[np.bool_]) -> Array:
        """1 where nothing stands between a point and the light, else 0."""
        source = points[hit].mean(axis=0) - lamp.direction * SUN_M if lamp.parallel else lamp.position
        lit = np.ones(len(points))
        rays = points[hit] - source
        length = np.linalg.norm(rays, axis=1)
        _, distance, _ = self._cast(data, source, rays / length[:, None])
        lit[hit] = distance >= length - SHADOW_SLACK_M
        return lit

    def _texels(self, data: Any, geom: int, points: Array, pixel_m: Array) -> Array | float:
        """The texture at these points, blurred to the size of a pixel; 1 where there is none."""
        surface = self._surfaces[geom]
        if surface.texture < 0:
            return 1.0
        local = (points - data.geom_xpos[geom]) @ data.geom_xmat[geom].reshape(3, 3)[:, :2]
        across, down = (local * surface.per_m * (1.0, -1.0) - 0.5).T
        pyramid = self._pyramids[surface.texture]
        texel_m = 1 / (pyramid[0].shape[1] * surface.per_m[0])
        levels = np.clip(np.rint(np.log2(np.maximum(pixel_m / texel_m, 1.0))), 0, len(pyramid) - 1).astype(int)
        colour = np.empty((len(points), 3))
        for level in np.unique(levels):
            image, at = pyramid[level], levels == level
            rows = (np.floor(down[at] * image.shape[0])).astype(int) % image.shape[0]
            columns = (np.floor(across[at] * image.shape[1])).astype(int) % image.shape[1]
            colour[at] = image[rows, columns]
        return colour

    def _headlight(self, eye: Array, forward: Array) -> Lamp:
        light = self._model.vis.headlight
        on = float(light.active)
        ambient, diffuse, specular = (np.asarray(c, float) * on for c in (light.ambient, light.diffuse, light.specular))
        return Lamp(eye, forward, ambient, diffuse, specular, parallel=True)

    def _lamps(self, data: Any) -> list[Lamp]:
        model, kinds = self._model, self._mj.mjtLightType
        return [
            Lamp(
                position=data.light_xpos[i].copy(),
                direction=data.light_xdir[i].copy(),
                ambient=model.light_ambient[i].astype(float),
                diffuse=model.light_diffuse[i].astype(float),
                specular=model.light_specular[i].astype(float),
                parallel=model.light_type[i] == int(kinds.mjLIGHT_DIRECTIONAL),
                casts=bool(model.light_castshadow[i]),
                cone=float(np.cos(np.radians(model.light_cutoff[i]))) if _is_spot(model, i, kinds) else -1.0,
                exponent=float(model.light_exponent[i]),
            )
            for i in range(model.nlight)
            if model.light_active[i]
        ]


def _is_spot(model: Any, light: int, kinds: Any) -> bool:
    return bool(model.light_type[light] == int(kinds.mjLIGHT_SPOT))


def _answer(lamp: Lamp, surface: Surface, points: Array, normals: Array, viewer: Array) -> tuple[Array, Array]:
    """The diffuse and the specular share of a light that a surface sends back, each (n, 1)."""
    towards = lamp.towards(points)
    reach = lamp.reach(towards)
    facing = np.einsum("ij,ij->i", normals, towards)[:, None]
    half = towards + viewer
    half = half / np.linalg.norm(half, axis=1, keepdims=True)
    shine = np.maximum(np.einsum("ij,ij->i", normals, half), 0.0)[:, None] ** (surface.shininess * GL_SHININESS)
    return np.maximum(facing, 0.0) * reach, np.where(facing > 0, shine, 0.0) * surface.specular * reach


@lru_cache(maxsize=8)
def _pixel_rays(height_px: int, width_px: int, fovy_deg: float) -> Array:
    """Unit vectors through the pixels' centres, in the camera's frame (x right, y up, looking along -z)."""
    scale = 2 * np.tan(np.radians(fovy_deg) / 2) / height_px
    x = (np.arange(width_px) + 0.5 - width_px / 2) * scale
    y = (height_px / 2 - np.arange(height_px) - 0.5) * scale
    rays = np.stack([*np.meshgrid(x, y), np.full((height_px, width_px), -1.0)], axis=-1).reshape(-1, 3)
    unit: Array = rays / np.linalg.norm(rays, axis=1, keepdims=True)
    return unit


def _pyramid(model: Any, number: int) -> list[Array]:
    """A texture as colours 0..1, and its halves, quarters, ... for surfaces that are far away."""
    height, width = int(model.tex_height[number]), int(model.tex_width[number])
    channels, start = int(model.tex_nchannel[number]), int(model.tex_adr[number])
    image = model.tex_data[start : start + height * width * channels].reshape(height, width, channels)[:, :, :3] / 255
    levels = [image]
    while min(levels[-1].shape[:2]) > 1 and not any(side % 2 for side in levels[-1].shape[:2]):
        last = levels[-1]
        levels.append((last[::2, ::2] + last[1::2, ::2] + last[::2, 1::2] + last[1::2, 1::2]) / 4)
    return levels


def _surface(model: Any, geom: int) -> Surface:
    material, rgba = int(model.geom_matid[geom]), tuple(float(v) for v in model.geom_rgba[geom])
    if material < 0:
        return Surface(np.array(rgba[:3]), PLAIN_SPECULAR, PLAIN_SHININESS, 0.0)
    mj = load_mujoco()
    if rgba == PLAIN_RGBA:
        rgba = tuple(float(v) for v in model.mat_rgba[material])
    texture = int(model.mat_texid[material][int(mj.mjtTextureRole.mjTEXROLE_RGB)])
    if texture >= 0 and int(model.tex_type[texture]) != int(mj.mjtTexture.mjTEXTURE_2D):
        texture = -1
    x, y = (0.5 * float(v) for v in model.mat_texrepeat[material])
    width, depth = _extent(model, geom)
    if not model.mat_texuniform[material] and width > 0 and depth > 0:
        x, y = x / width, y / depth
    return Surface(
        rgb=np.array(rgba[:3]),
        specular=float(model.mat_specular[material]),
        shininess=float(model.mat_shininess[material]),
        emission=float(model.mat_emission[material]),
        texture=texture,
        per_m=(x, y),
    )


def _extent(model: Any, geom: int) -> tuple[float, float]:
    """Half the width and depth that a texture covers."""
    width, depth = float(model.geom_size[geom][0]), float(model.geom_size[geom][1])
    kinds = load_mujoco().mjtGeom
    round_ones = {int(kinds.mjGEOM_SPHERE), int(kinds.mjGEOM_CAPSULE), int(kinds.mjGEOM_CYLINDER)}
    return (width, width) if int(model.geom_type[geom]) in round_ones else (width, depth)
