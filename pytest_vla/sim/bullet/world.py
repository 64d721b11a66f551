"""The physics: labelled bodies in a client that forgets everything before each episode."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_vla.sim.bullet.client import BulletError, Client
from pytest_vla.sim.pose import Pose, Vector, inverse, multiply, rotation_matrix

STEP_HZ = 240
GRAVITY_M_S2 = -9.8
SOLVER_ITERATIONS = 50
HULL_MARGIN_M = 0.001  # Bullet grows every convex hull by this much; hulls are shrunk by it so that sizes come out true

Points = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Contact:
    """Two bodies that touch: the other one's label, the gap (negative is overlap), and the normal towards us."""

    other: str
    distance_m: float
    normal: Vector


@dataclass
class Watch:
    """Looks after every so many steps of `BulletWorld.run`, whatever pieces they come in."""

    look: Callable[[], None]
    every: int
    _passed: int = 0

    @property
    def steps_left(self) -> int:
        return self.every - self._passed

    def passed(self, steps: int) -> None:
        self._passed += steps
        if self._passed == self.every:
            self._passed = 0
            self.look()


class BulletWorld(Client):
    """Bodies with labels that fall, touch and push. `reset` forgets everything, so episodes cannot reach each other."""

    def __init__(self, *, window: bool = False) -> None:
        super().__init__(window=window)
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
        inertia: Vector | None = None,
    ) -> None:
        """A body made of convex parts; no mass means it never moves. `parts` is asked once per `key` and scale.

        `inertia` (kg m2 about its axes) takes the place of what follows from its shape and mass.
        """
        p, c = self.p, self.id
        name = f"{key}|{scale}"
        if name not in self._hulls:
            path = Path(self.folder.name) / f"hull_{len(self._hulls)}.obj"
            path.write_text(_hulls_as_obj([np.asarray(part) * scale for part in parts()]))
            self._hulls[name] = str(path)
        shape = p.createCollisionShape(p.GEOM_MESH, fileName=self._hulls[name], physicsClientId=c)
        self._add(label, shape, mass_kg, pose, friction)
        if inertia is not None:
            p.changeDynamics(self._bodies[label], -1, localInertiaDiagonal=inertia, physicsClientId=c)

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

    def run(self, steps: int, watch: Watch | None = None) -> None:
        """So many steps, in less time than `step` again and again, with the looks that fall among them."""
        p, c, driven = self.p, self.id, [(body, *speeds) for body, speeds in self._driven.items()]
        push, step = p.resetBaseVelocity, p.stepSimulation
        while steps:
            now = steps if watch is None else min(steps, watch.steps_left)
            for _ in range(now):
                for body, linear, angular in driven:
                    push(body, linear, angular, physicsClientId=c)
                step(physicsClientId=c)
            self.steps += now
            steps -= now
            if watch is not None:
                watch.passed(now)

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

    def touches(self, label: str, within_m: float, ignore: str = "") -> bool:
        """Whether anything (else than one that is ignored) touches a body, after the last step."""
        labels, points = self._labels, self.p.getContactPoints(bodyA=self._bodies[label], physicsClientId=self.id)
        return any(point[8] <= within_m and labels[point[2]] != ignore for point in points)

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
