"""Things that MuJoCo scenes are put together from. A part is a value with a label and a place that adds itself.

A new part is one frozen dataclass with the members of `Part`. A body that is named like its part is in the state's
poses, a joint that is named like it in the state's joints; that is all that goals and oracles need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from pytest_vla.kit.edits import SceneEdits
from pytest_vla.kit.layout import Spot
from pytest_vla.sim.mujoco.scene import FRICTION, Scene, friction
from pytest_vla.sim.pose import Vector

WALL_M = 0.003
GREY: Vector = (0.45, 0.47, 0.50)


class Part(Protocol):
    """Something of a scene; `radius_m` is what it needs around its place."""

    @property
    def label(self) -> str: ...

    @property
    def spot(self) -> Spot: ...

    @property
    def radius_m(self) -> float: ...

    def add_to(self, scene: Scene) -> None: ...


class Loose(Part, Protocol):
    """A part that can be changed by a perturbation."""

    def edited(self, edits: SceneEdits) -> Part: ...


@dataclass(frozen=True, slots=True)
class Block:
    """A box that lies on the table and can be picked."""

    label: str
    spot: Spot
    half_m: Vector = (0.012, 0.012, 0.012)
    rgb: Vector = GREY
    kg: float = 0.02
    friction: float = FRICTION

    @property
    def radius_m(self) -> float:
        return max(self.half_m[:2]) * 2**0.5

    def add_to(self, scene: Scene) -> None:
        body = scene.body(self.label, (*self.spot, self.half_m[2]), free=True)
        scene.shape(body, "box", self.half_m, rgb=self.rgb, mass=self.kg, friction=friction(self.friction))

    def edited(self, edits: SceneEdits) -> Block:
        """The block as the edits leave it: elsewhere, larger, heavier, slipperier."""
        (x, y), (dx, dy) = self.spot, edits.shifts_m.get(self.label, (0.0, 0.0))
        width, depth, height = (edits.scale * half for half in self.half_m)
        return replace(
            self,
            spot=(x + dx, y + dy),
            half_m=(width, depth, height),
            kg=self.kg * edits.mass,
            friction=self.friction * edits.friction,
        )


@dataclass(frozen=True, slots=True)
class Pad:
    """A coloured square on the table, to put things on."""

    label: str
    spot: Spot
    half_m: float = 0.025
    rgb: Vector = GREY

    @property
    def radius_m(self) -> float:
        return self.half_m * 2**0.5

    def add_to(self, scene: Scene) -> None:
        at, size = (*self.spot, 0.0), (self.half_m, self.half_m, 0.0005)
        scene.shape(scene.ground, "box", size, pos=at, rgb=self.rgb, solid=False)


@dataclass(frozen=True, slots=True)
class Button:
    """A sprung plunger over a base; its joint says how far it is pressed (m)."""

    label: str
    spot: Spot
    rgb: Vector = GREY
    travel_m: float = 0.008
    stiffness_n_m: float = 150.0
    radius_m: float = 0.020
    base_m: float = 0.008
    """Height of the base, down to which the plunger goes."""

    @property
    def top_m(self) -> float:
        """Where a finger meets the plunger."""
        return self.base_m + self.travel_m + 2 * WALL_M

    def add_to(self, scene: Scene) -> None:
        half = self.base_m / 2
        scene.shape(scene.ground, "cylinder", (self.radius_m, half), pos=(*self.spot, half), rgb=GREY)
        plunger = scene.body(self.label, (*self.spot, self.top_m), gravcomp=1)
        sprung = {"range": (0.0, self.travel_m), "limited": True, "stiffness": (self.stiffness_n_m, 0, 0)}
        scene.slide(plunger, self.label, (0.0, 0.0, -1.0), damping=(2.0, 0, 0), **sprung)
        size = (self.radius_m * 0.7, WALL_M / 2)
        scene.shape(plunger, "cylinder", size, pos=(0, 0, -WALL_M / 2), rgb=self.rgb, mass=0.01)


@dataclass(frozen=True, slots=True)
class Drawer:
    """A tray in a cabinet that opens towards -y of its own frame; its joint says how far it is open (m).

    The fingers of a gantry close along x: they hold the post on its front.
    """

    label: str
    spot: Spot
    yaw: float = 0.0
    half_m: Vector = (0.04, 0.04, 0.018)
    rgb: Vector = GREY
    travel_m: float = 0.06
    friction_n: float = 0.3
    post_m: float = 0.024
    """How far the post stands before the front: room for the hand."""

    @property
    def radius_m(self) -> float:
        return self.half_m[1] + self.post_m + self.travel_m

    def add_to(self, scene: Scene) -> None:
        x, y, z = self.half_m
        cabinet = scene.body(f"{self.label}.cabinet", (*self.spot, z), yaw=self.yaw)
        for side in (-1, 1):
            scene.shape(cabinet, "box", (WALL_M, y, z), pos=(side * (x - WALL_M), 0, 0), rgb=GREY)
        scene.shape(cabinet, "box", (x, WALL_M, z), pos=(0, y - WALL_M, 0), rgb=GREY)
        scene.shape(cabinet, "box", (x, y, WALL_M), pos=(0, 0, z - WALL_M), rgb=GREY)
        tray = cabinet.add_body(name=self.label)
        opened = {"range": (0.0, self.travel_m), "limited": True, "frictionloss": self.friction_n}
        scene.slide(tray, self.label, (0.0, -1.0, 0.0), damping=(2.0, 0, 0), **opened)
        # The tray leaves room to the cabinet: both stand still in each other's eyes, so contacts would brake it.
        inner, low = x - 3 * WALL_M, -z + 2 * WALL_M
        scene.shape(tray, "box", (inner, y - 2 * WALL_M, WALL_M / 2), pos=(0, -WALL_M, low), rgb=self.rgb, mass=0.02)
        front = (inner, WALL_M, z - 3 * WALL_M)
        scene.shape(tray, "box", front, pos=(0, -y, 0), rgb=self.rgb, mass=0.01)
        arm = self.post_m / 2
        scene.shape(tray, "box", (0.003, arm, 0.003), pos=(0, -y - arm, low), rgb=self.rgb, mass=0.002)
        scene.shape(tray, "box", (0.003, 0.003, z - 2 * WALL_M), pos=(0, -y - self.post_m, 0), rgb=self.rgb, mass=0.002)
