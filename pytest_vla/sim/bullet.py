"""A PyBullet toolkit that gives the same bits every time: a physics world, a picture stage, cameras, digests.

Physics and pictures live in two clients. The world is emptied by a full simulator reset before each episode, because
a broadphase that remembers removed bodies changes the last bits of later contacts. The stage only draws, so it keeps
its meshes and textures for the life of the process: nothing it remembers can reach the physics.
"""

from __future__ import annotations

import hashlib
import math
import struct
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_vla.sim.pose import Pose, Vector, inverse, multiply, rotation_matrix

STEP_HZ = 240
GRAVITY_M_S2 = -9.8
SOLVER_ITERATIONS = 50
HULL_MARGIN_M = 0.001  # Bullet grows every convex hull by this much; hulls are shrunk by it so that sizes come out true

Points = NDArray[np.float64]


class BulletError(Exception):
    """The simulator was asked for something it cannot do."""


# --- physics ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contact:
    """Two bodies that touch: the other one's label, the gap (negative is overlap), and the normal towards us."""

    other: str
    distance_m: float
    normal: Vector


class _Client:
    """One PyBullet connection with a lifetime. PyBullet is imported here, when the first client is made."""

    def __init__(self) -> None:
        import pybullet

        self.p: Any = pybullet
        self.id: int = pybullet.connect(pybullet.DIRECT)
        if self.id < 0:
            raise BulletError("PyBullet gave no client; a process can hold 1024, close the ones not in use")
        self.folder = tempfile.TemporaryDirectory(prefix="pytest_vla_")

    def close(self) -> None:
        """End the client; closing twice is harmless."""
        if self.id >= 0:
            self.p.disconnect(physicsClientId=self.id)
            self.id = -1
            self.folder.cleanup()


class BulletWorld(_Client):
    """Bodies with labels that fall, touch and push. `reset` forgets everything, so episodes cannot reach each other."""

    def __init__(self) -> None:
        super().__init__()
        self._hulls: dict[str, str] = {}
        self.reset()

    def reset(self) -> None:
        p, c = self.p, self.id
        self._bodies: dict[str, int] = {}
        self._labels: dict[int, str] = {}
        self._driven: dict[int, tuple[Vector, Vector]] = {}
        self.steps = 0
        p.resetSimulation(physicsClientId=c)
        p.setGravity(0, 0, GRAVITY_M_S2, physicsClientId=c)
        p.setPhysicsEngineParameter(
            fixedTimeStep=1 / STEP_HZ,
            numSolverIterations=SOLVER_ITERATIONS,
            deterministicOverlappingPairs=1,
            physicsClientId=c,
        )

    @property
    def labels(self) -> list[str]:
        return list(self._bodies)

    def add_floor(self, label: str, z: float, friction: float = 1.0) -> None:
        shape = self.p.createCollisionShape(self.p.GEOM_PLANE, physicsClientId=self.id)
        self._add(label, shape, 0.0, Pose((0.0, 0.0, z)), friction)

    def add_cylinder(self, label: str, radius_m: float, length_m: float, pose: Pose, mass_kg: float) -> None:
        shape = self.p.createCollisionShape(
            self.p.GEOM_CYLINDER, radius=radius_m, height=length_m, physicsClientId=self.id
        )
        self._add(label, shape, mass_kg, pose, 0.5)

    def add_solid(
        self,
        label: str,
        key: str,
        parts: Callable[[], Sequence[Points]],
        pose: Pose,
        *,
        mass_kg: float = 0.0,
        friction: float = 1.0,
        scale: Vector = (1.0, 1.0, 1.0),
    ) -> None:
        """A body made of convex parts; no mass means it never moves. `parts` is asked once per `key` and scale."""
        p, c = self.p, self.id
        name = f"{key}|{scale}"
        if name not in self._hulls:
            path = Path(self.folder.name) / f"hull_{len(self._hulls)}.obj"
            path.write_text(_hulls_as_obj([np.asarray(part) * scale for part in parts()]))
            self._hulls[name] = str(path)
        shape = p.createCollisionShape(p.GEOM_MESH, fileName=self._hulls[name], physicsClientId=c)
        self._add(label, shape, mass_kg, pose, friction)

    def _add(self, label: str, shape: int, mass_kg: float, pose: Pose, friction: float) -> None:
        p, c = self.p, self.id
        if label in self._bodies:
            raise BulletError(f"there is already a body '{label}'")
        body = p.createMultiBody(mass_kg, shape, -1, pose.position, pose.rotation, physicsClientId=c)
        p.changeDynamics(body, -1, lateralFriction=friction, physicsClientId=c)
        self._bodies[label] = body
        self._labels[body] = label

    def drive(self, label: str, linear: Vector, angular: Vector = (0.0, 0.0, 0.0)) -> None:
        """From now on this body moves at a set velocity (m/s, rad/s), against gravity and what it pushes.

        It gets the inertia of something large, so that what it holds cannot turn it.
        """
        body = self._bodies[label]
        if body not in self._driven:
            self.p.changeDynamics(
                body, -1, linearDamping=0.0, angularDamping=0.0, localInertiaDiagonal=(1.0, 1.0, 1.0),
                physicsClientId=self.id,
            )  # fmt: skip
        x, y, z = linear
        self._driven[body] = ((x, y, z - GRAVITY_M_S2 / STEP_HZ), angular)

    def step(self) -> None:
        p, c = self.p, self.id
        for body, (linear, angular) in self._driven.items():
            p.resetBaseVelocity(body, linear, angular, physicsClientId=c)
        p.stepSimulation(physicsClientId=c)
        self.steps += 1

    def settle(self, labels: Sequence[str], speed_m_s: float, budget: int) -> bool:
        """Step, at least once, until all named bodies are slower than `speed_m_s`; False when the budget ran out."""
        p, c, bodies = self.p, self.id, [self._bodies[label] for label in labels]
        limit = speed_m_s * speed_m_s
        for _ in range(budget):
            self.step()
            for body in bodies:
                (x, y, z), _spin = p.getBaseVelocity(body, physicsClientId=c)
                if x * x + y * y + z * z >= limit:
                    break
            else:
                return True
        return False

    def pose(self, label: str) -> Pose:
        position, rotation = self.p.getBasePositionAndOrientation(self._bodies[label], physicsClientId=self.id)
        return Pose(position, rotation)

    def set_pose(self, label: str, pose: Pose) -> None:
        p, c, body = self.p, self.id, self._bodies[label]
        p.resetBasePositionAndOrientation(body, pose.position, pose.rotation, physicsClientId=c)

    def velocity(self, label: str) -> tuple[Vector, Vector]:
        linear, angular = self.p.getBaseVelocity(self._bodies[label], physicsClientId=self.id)
        return linear, angular

    def contacts(self, label: str, within_m: float) -> list[Contact]:
        """What touches a body, after the last step."""
        p, c, body = self.p, self.id, self._bodies[label]
        found = []
        for point in p.getContactPoints(bodyA=body, physicsClientId=c):
            if point[8] <= within_m:
                found.append(Contact(self._labels[point[2]], point[8], point[7]))
        return found

    def top_below(self, label: str, ignore: Iterable[str] = ()) -> float:
        """Height of the highest box around another body under this body's box: free fall ends no higher than that."""
        p, c = self.p, self.id
        (ax, ay, _), (bx, by, _) = p.getAABB(self._bodies[label], physicsClientId=c)
        top = -math.inf
        for other, body in self._bodies.items():
            if other != label and other not in ignore:
                (cx, cy, _), (dx, dy, high) = p.getAABB(body, physicsClientId=c)
                if cx <= bx and ax <= dx and cy <= by and ay <= dy and high < 1e6:
                    top = max(top, high)
        return top

    def bottom(self, label: str) -> float:
        low, _ = self.p.getAABB(self._bodies[label], physicsClientId=self.id)
        return float(low[2])

    def grip(self, holder: str, held: str) -> int:
        """Fix one body to another as they stand; give the answer to `release`."""
        a, b = self.pose(holder), self.pose(held)
        back = rotation_matrix(inverse(a.rotation))
        offset = back @ (np.asarray(b.position) - np.asarray(a.position))
        turn = multiply(inverse(a.rotation), b.rotation)
        grip: int = self.p.createConstraint(
            self._bodies[holder], -1, self._bodies[held], -1, self.p.JOINT_FIXED, (0, 0, 0),
            offset.tolist(), (0, 0, 0), turn, (0, 0, 0, 1), physicsClientId=self.id,
        )  # fmt: skip
        return grip

    def release(self, grip: int) -> None:
        self.p.removeConstraint(grip, physicsClientId=self.id)

    def set_collision(self, a: str, b: str, collide: bool) -> None:
        """Whether two bodies touch or pass through each other."""
        self.p.setCollisionFilterPair(self._bodies[a], self._bodies[b], -1, -1, int(collide), physicsClientId=self.id)

    def digest(self) -> str:
        """A hash of every body's pose and velocity, in the order of their labels."""
        p, c = self.p, self.id
        text = hashlib.blake2b(digest_size=16)
        for label in sorted(self._bodies):
            body = self._bodies[label]
            position, rotation = p.getBasePositionAndOrientation(body, physicsClientId=c)
            linear, angular = p.getBaseVelocity(body, physicsClientId=c)
            text.update(label.encode() + b"\0")
            text.update(struct.pack("<13d", *position, *rotation, *linear, *angular))
        return text.hexdigest()


def _hulls_as_obj(parts: Sequence[Points]) -> str:
    """Convex parts as one OBJ text, a group each: the only compound of hulls that PyBullet takes."""
    from scipy.spatial import ConvexHull

    lines, offset = [], 1
    for number, part in enumerate(parts):
        extent = np.ptp(part, axis=0)
        centre = (part.max(axis=0) + part.min(axis=0)) / 2
        shrunk = centre + (part - centre) * np.maximum(1 - 2 * HULL_MARGIN_M / np.maximum(extent, 1e-9), 0.05)
        lines.append(f"o part{number}")
        lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in shrunk]
        lines += [f"f {a + offset} {b + offset} {c + offset}" for a, b, c in ConvexHull(shrunk).simplices]
        offset += len(part)
    return "\n".join(lines) + "\n"


# --- pictures ---------------------------------------------------------------------------------------------------------


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
    """What a camera saw: a word of RGBA for each pixel, and the index of the prop in it (-1 where there is none)."""

    pixels: NDArray[np.uint32]
    props: NDArray[np.int32]

    @property
    def rgb(self) -> NDArray[np.uint8]:
        return unpacked(self.pixels)


def unpacked(pixels: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Words of RGBA as an RGB image."""
    return np.ascontiguousarray(pixels.view(np.uint8).reshape(*pixels.shape, 4)[:, :, :3])


@dataclass
class BulletStage:
    """Draws props; meshes and textures are made once and kept."""

    load_mesh: Callable[[str], Mesh]
    load_texture: Callable[[str], NDArray[np.uint8]]
    _client: _Client = field(default_factory=_Client)
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
        index = np.full(max((body for body, _ in self._shown), default=-1) + 2, -1, dtype=np.int32)
        for number, (body, _) in enumerate(self._shown):
            index[body] = number
        seen = np.asarray(ids, dtype=np.int32).reshape(height, width)
        return Picture(pixels, index[seen])  # "nothing" is -1, which is the last entry

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
