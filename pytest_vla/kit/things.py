"""Things that scenes are made of: bodies of pieces, standing, free, hinged or sliding, and the zones to judge by.

A thing is a value with a label. A thing that moves has a joint of its own label; one that can be grasped is held by the
hand that closes around it. Zones are volumes that nobody sees or touches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pytest_vla.kit.edits import SceneEdits
from pytest_vla.kit.hand import ROBOT_BIT
from pytest_vla.kit.layout import Spot
from pytest_vla.kit.solids import ORIGIN, Piece, Pieces
from pytest_vla.sim.mujoco.scene import FRICTION, Scene, Shape
from pytest_vla.sim.mujoco.scene import friction as with_spin
from pytest_vla.sim.pose import Pose, Vector, turn

ZONE_GROUP = 4  # of shapes that no renderer shows
# Of what is free. A cylinder that stands upright to the last digit jumps: rounding is all that is left to the library
# then to say which side of its foot is the lowest.
LEAN = Pose((0.0, 0.0, 0.0), turn((1, 0, 0), 1e-6))
DECAL_KG = 1e-3  # of what is only seen, and stands


@dataclass(frozen=True, slots=True)
class Joint:
    """How a thing moves in the frame of its pose: a hinge (rad), a slide (m), or a ball."""

    kind: Literal["hinge", "slide", "ball"]
    axis: Vector = (0.0, 0.0, 1.0)
    range: tuple[float, float] | None = None
    start: float = 0.0
    friction: float = 0.0
    damping: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    """Where its spring pulls it."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A body. Its pose is in the frame of the thing that carries it, or of the table."""

    label: str
    pose: Pose
    pieces: Pieces
    kg: float = 0.1
    free: bool = False
    joint: Joint | None = None
    on: str = ""
    """The label of what carries it; a free thing stands by itself."""
    graspable: bool = False
    handle: Pose = ORIGIN
    """How a hand takes hold of it, in its own frame."""
    friction: float = FRICTION
    weightless: bool = False
    movable: bool = False
    """Whether it may start elsewhere, larger, heavier or slipperier: then the axes about things act on it."""
    radius_m: float = 0.05
    """What a movable thing needs around its place."""

    @property
    def spot(self) -> Spot:
        return self.pose.xy

    def edited(self, edits: SceneEdits) -> Thing:
        if not self.movable:
            return self
        (x, y, z), (dx, dy) = self.pose.position, edits.shifts_m.get(self.label, (0.0, 0.0))
        return replace(
            self,
            pose=Pose((x + dx, y + dy, z), self.pose.rotation),
            pieces=tuple(piece.scaled(edits.scale) for piece in self.pieces) if edits.scale != 1 else self.pieces,
            kg=self.kg * edits.mass,
            friction=self.friction * edits.friction,
        )

    def add_to(self, scene: Scene) -> None:
        carrier = scene.spec.body(self.on) if self.on else scene.ground
        pose = self.pose @ LEAN if self.free else self.pose
        body = carrier.add_body(name=self.label, pos=pose.position, quat=_wxyz(pose), gravcomp=self.weightless)
        if self.free:
            body.add_freejoint(name=self.label)
        elif self.joint is not None:
            _add_joint(scene, body, self.label, self.joint)
            if self.on:  # a carrier that stands is not filtered by the library as other parents are
                scene.spec.add_exclude(bodyname1=self.on, bodyname2=self.label)
        if not any(piece.solid for piece in self.pieces):
            # The library puts the middle of what weighs nothing in the wrong place, and rays then miss it.
            body.explicitinertial, body.ipos, body.iquat = True, (0, 0, 0), (1, 0, 0, 0)
            body.mass, body.inertia = DECAL_KG, (DECAL_KG, DECAL_KG, DECAL_KG)
        whole = sum(piece.volume_m3 for piece in self.pieces if piece.solid) or 1.0
        for piece in self.pieces:
            more: dict[str, Any] = {"friction": with_spin(self.friction), "mass": self.kg * piece.volume_m3 / whole}
            more |= {"conaffinity": 1 | ROBOT_BIT}
            if not piece.solid:
                more = {}
            at: dict[str, Any] = {"pos": piece.pose.position, "quat": _wxyz(piece.pose)}
            scene.shape(body, piece.shape, piece.half_m, rgb=piece.rgb, solid=piece.solid, **at, **more)


def loose(
    label: str,
    pose: Pose,
    pieces: Sequence[Piece],
    handle: Pose,
    *,
    kg: float = 0.1,
    friction: float = FRICTION,
    movable: bool = True,
) -> Thing:
    """A free thing that a hand picks up by its handle."""
    return Thing(
        label,
        pose,
        tuple(pieces),
        kg,
        free=True,
        graspable=True,
        handle=handle,
        friction=friction,
        movable=movable,
    )


@dataclass(frozen=True, slots=True)
class Zone:
    """A volume of the table or of a thing, that things may reach into."""

    label: str
    half_m: tuple[float, ...]
    pose: Pose = ORIGIN
    shape: Shape = "box"
    on: str = ""

    def add_to(self, scene: Scene) -> None:
        carrier = scene.spec.body(self.on) if self.on else scene.ground
        kind = getattr(scene.mj.mjtGeom, f"mjGEOM_{self.shape.upper()}")
        carrier.add_geom(
            name=self.label,
            type=kind,
            size=(*self.half_m, 0.0, 0.0)[:3],
            pos=self.pose.position,
            quat=_wxyz(self.pose),
            contype=0,
            conaffinity=0,
            group=ZONE_GROUP,
            mass=0,
            rgba=(0.0, 1.0, 0.0, 0.3),
        )


Part = Thing | Zone


def _add_joint(scene: Scene, body: Any, label: str, joint: Joint) -> None:
    more: dict[str, Any] = {} if joint.range is None else {"range": joint.range, "limited": True}
    body.add_joint(
        name=label,
        type=getattr(scene.mj.mjtJoint, f"mjJNT_{joint.kind.upper()}"),
        axis=joint.axis,
        frictionloss=joint.friction,
        damping=(joint.damping, 0, 0),
        stiffness=(joint.stiffness, 0, 0),
        springref=joint.rest,
        **more,
    )


def _wxyz(pose: Pose) -> tuple[float, float, float, float]:
    x, y, z, w = pose.rotation
    return w, x, y, z


def things_of(parts: Iterable[Part]) -> list[Thing]:
    return [part for part in parts if isinstance(part, Thing)]
