"""The pictures: props drawn by a client of its own, which keeps meshes and textures for the life of the process."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pytest_vla.sim.bullet.client import Client
from pytest_vla.sim.pose import Pose, Vector

Number = TypeVar("Number", bound=np.integer[Any])


class Mesh(Protocol):
    """Triangles with texture coordinates; any object with these arrays will do."""

    @property
    def vertices(self) -> Any: ...
    @property
    def indices(self) -> Any: ...
    @property
    def uvs(self) -> Any: ...
    @property
    def normals(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Prop:
    """Something to be drawn: a mesh by name in a texture by name (or a plain colour), at a pose."""

    mesh: str
    pose: Pose
    texture: str | None = None
    colour: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    scale: Vector = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Light:
    """Where light comes from and how strong it is; the defaults are the renderer's own."""

    direction: Vector = (-50.0, 30.0, 100.0)
    colour: Vector = (1.0, 1.0, 1.0)
    ambient: float = 0.6
    diffuse: float = 0.35
    specular: float = 0.05


DAYLIGHT = Light()


@dataclass(frozen=True)
class Camera:
    """A pinhole camera: where it is, where it looks, which way is up in the image, focal length in pixels."""

    position: Vector
    look: Vector
    up: Vector
    focal_px: float
    near_m: float
    far_m: float
    height_px: int = 128
    width_px: int = 256

    @cached_property
    def view_matrix(self) -> list[float]:
        """OpenGL's view matrix, column by column."""
        forward = np.asarray(self.look, dtype=float) / np.linalg.norm(self.look)
        right = np.cross(forward, np.asarray(self.up, dtype=float))
        right /= np.linalg.norm(right)
        up = np.cross(right, forward)
        matrix = np.eye(4)
        matrix[:3, :3] = np.stack([right, up, -forward])
        matrix[:3, 3] = -matrix[:3, :3] @ np.asarray(self.position, dtype=float)
        return [float(v) for v in matrix.T.ravel()]

    @cached_property
    def projection_matrix(self) -> list[float]:
        near, far = self.near_m, self.far_m
        matrix = np.zeros((4, 4))
        matrix[0, 0] = 2 * self.focal_px / self.width_px
        matrix[1, 1] = 2 * self.focal_px / self.height_px
        matrix[2, 2], matrix[2, 3] = (near + far) / (near - far), 2 * near * far / (near - far)
        matrix[3, 2] = -1.0
        return [float(v) for v in matrix.T.ravel()]


@dataclass(frozen=True, slots=True)
class Picture:
    """What a camera saw: a word of RGBA for each pixel, and the body in it (-1 where there is none)."""

    pixels: NDArray[np.uint32]
    seen: NDArray[np.int32]
    bodies: Sequence[int]
    """Of the props, in their order."""

    @property
    def rgb(self) -> NDArray[np.uint8]:
        return unpacked(self.pixels)

    @property
    def props(self) -> NDArray[np.int32]:
        """The index of the prop in each pixel, -1 where there is none."""
        return self.numbered(np.array([*range(len(self.bodies)), -1], dtype=np.int32))

    def numbered(self, numbers: NDArray[Number]) -> NDArray[Number]:
        """In each pixel the number of its prop: `numbers` has one for each of them, and the last for none."""
        return self._numbers(numbers).take(self.seen, mode="wrap")  # "nothing" is -1, which is the last entry

    def laid_over(
        self, image: NDArray[np.uint8], ids: NDArray[Number], numbers: NDArray[Number]
    ) -> tuple[NDArray[np.uint8], NDArray[Number]]:
        """The props in front of an image with a number in each pixel: only what they cover is written."""
        image, ids, seen = image.copy(), ids.copy(), self.seen.reshape(-1)
        covered = (seen >= 0).nonzero()[0]
        words, flat = self.pixels.reshape(-1).take(covered).view(np.uint8).reshape(-1, 4), image.reshape(-1, 3)
        for channel in range(3):
            flat[covered, channel] = words[:, channel]
        ids.reshape(-1)[covered] = self._numbers(numbers).take(seen.take(covered))
        return image, ids

    def _numbers(self, numbers: NDArray[Number]) -> NDArray[Number]:
        """The number of each body, and last that of none."""
        table = np.full(max(self.bodies, default=-1) + 2, numbers[-1], dtype=numbers.dtype)
        table[list(self.bodies)] = numbers[:-1]
        return table


def unpacked(pixels: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Words of RGBA as an RGB image."""
    words = pixels.view(np.uint8).reshape(*pixels.shape, 4)
    image = np.empty((*pixels.shape, 3), dtype=np.uint8)
    for channel in range(3):  # one long copy each; copying pixel by pixel takes six times as long
        image[..., channel] = words[..., channel]
    return image


@dataclass
class BulletStage:
    """Draws props; meshes and textures are made once and kept."""

    load_mesh: Callable[[str], Mesh]
    load_texture: Callable[[str], NDArray[np.uint8]]
    _client: Client = field(default_factory=Client)
    _shapes: dict[tuple[str, Vector], int] = field(default_factory=dict)
    _textures: dict[str, int] = field(default_factory=dict)
    _shown: list[tuple[int, Prop]] = field(default_factory=list)

    def close(self) -> None:
        self._client.close()

    def show(self, props: Sequence[Prop]) -> None:
        """Make the stage hold these props and nothing else; a prop that only moved keeps its body."""
        if [_skin(prop) for _, prop in self._shown] != [_skin(prop) for prop in props]:
            self._clear()
            for prop in props:
                self._shown.append((self._body(prop), prop))
            return
        p, c = self._client.p, self._client.id
        for index, (body, shown) in enumerate(self._shown):
            if shown.pose != props[index].pose:
                pose = props[index].pose
                p.resetBasePositionAndOrientation(body, pose.position, pose.rotation, physicsClientId=c)
                self._shown[index] = (body, props[index])

    def picture(self, camera: Camera, light: Light = DAYLIGHT) -> Picture:
        """The shown props through a camera."""
        p, c = self._client.p, self._client.id
        width, height = camera.width_px, camera.height_px
        _, _, rgba, _, ids = p.getCameraImage(
            width, height, camera.view_matrix, camera.projection_matrix,
            lightDirection=light.direction, lightColor=light.colour, lightAmbientCoeff=light.ambient,
            lightDiffuseCoeff=light.diffuse, lightSpecularCoeff=light.specular, shadow=0,
            renderer=p.ER_TINY_RENDERER, physicsClientId=c,
        )  # fmt: skip
        pixels = np.ascontiguousarray(rgba, dtype=np.uint8).view(np.uint32).reshape(height, width)
        seen = np.asarray(ids, dtype=np.int32).reshape(height, width)
        return Picture(pixels, seen, [body for body, _ in self._shown])

    def _clear(self) -> None:
        """Take bodies away in reverse, so that the next ones get ids from 0 and are drawn in the order they come."""
        p, c = self._client.p, self._client.id
        while self._shown:
            body, _ = self._shown.pop()
            p.removeBody(body, physicsClientId=c)
        if p.getNumBodies(physicsClientId=c):  # an episode was cut off between two lines: start from nothing
            p.resetSimulation(physicsClientId=c)
            self._shapes.clear()
            self._textures.clear()

    def _body(self, prop: Prop) -> int:
        p, c = self._client.p, self._client.id
        shape = self._shape(prop.mesh, prop.scale)
        pose = prop.pose
        body: int = p.createMultiBody(0, -1, shape, pose.position, pose.rotation, physicsClientId=c)
        if prop.texture is not None:
            p.changeVisualShape(body, -1, textureUniqueId=self._texture(prop.texture), physicsClientId=c)
        p.changeVisualShape(body, -1, rgbaColor=prop.colour, physicsClientId=c)
        return body

    def _shape(self, name: str, scale: Vector) -> int:
        if (name, scale) not in self._shapes:
            p, mesh = self._client.p, self.load_mesh(name)
            self._shapes[name, scale] = p.createVisualShape(
                p.GEOM_MESH,
                vertices=(np.asarray(mesh.vertices, dtype=float) * scale).tolist(),
                indices=np.asarray(mesh.indices).ravel().tolist(),
                uvs=np.asarray(mesh.uvs, dtype=float).tolist(),
                normals=np.asarray(mesh.normals, dtype=float).tolist(),
                physicsClientId=self._client.id,
            )
        return self._shapes[name, scale]

    def _texture(self, name: str) -> int:
        if name not in self._textures:
            path = Path(self._client.folder.name) / f"texture_{len(self._textures)}.bmp"
            path.write_bytes(_as_bmp(self.load_texture(name)))
            self._textures[name] = self._client.p.loadTexture(str(path), physicsClientId=self._client.id)
        return self._textures[name]


def _skin(prop: Prop) -> tuple[object, ...]:
    return prop.mesh, prop.texture, prop.colour, prop.scale


def _as_bmp(image: NDArray[np.uint8]) -> bytes:
    """RGB pixels as an uncompressed bitmap file: PyBullet takes textures from files only."""
    height, width, _ = image.shape
    row = width * 3
    rows = np.zeros((height, (row + 3) // 4 * 4), dtype=np.uint8)
    rows[:, :row] = image[::-1, :, ::-1].reshape(height, row)
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, rows.size, 2835, 2835, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + rows.size, 0, 0, 54) + header + rows.tobytes()
