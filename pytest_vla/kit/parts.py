"""Things that MuJoCo scenes are put together from. A part is a value with a label and a place that adds itself.

A new part is one frozen dataclass with `label`, `spot`, `radius_m` and `add_to`. A joint that is named like its part is
in the state's `joints`, a body that is named like it in its poses; that is all that goals and oracles need.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_vla.kit.layout import Spot
from pytest_vla.kit.scene import Scene
from pytest_vla.sim.pose import Vector

WALL_M = 0.003
GAP_M = 0.0015  # between what slides and what it slides in


@dataclass(frozen=True, slots=True)
class Block:
    """A box that lies on the table and can be picked."""

    label: str
    spot: Spot
    half_m: Vector
    rgb: Vector
    kg: float = 0.02

    def add_to(self, scene: Scene) -> None:
        body = scene.body(self.label, (*self.spot, self.half_m[2]), free=True)
        scene.shape(body, "box", self.half_m, rgb=self.rgb, mass=self.kg)
