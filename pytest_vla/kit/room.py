"""Where a table of things stands, as a suite has it: its height, where the hand may go, and what looks on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_vla.kit.layout import Spot
from pytest_vla.sim.pose import Vector
from pytest_vla.sim.view import View

Area = tuple[Spot, Spot]
"""The least and the largest x and y of a rectangle on the table."""


@dataclass(frozen=True)
class Room:
    """The frame of actions and observations is the room's; all else in a suite counts from the table.

    Args:
        table_m: how high the table is.
        low_m: the least x, y and z the hand may be sent to, in the room.
        high_m: the largest ones.
        cameras: those that stand, by their names; they count from the table. The hand has one more, `wrist`.
        watched: the camera that axes of perturbation speak of.
        centre: the spot that cameras turn about when they are moved.
        things_m: where things may be moved to.
        spare_m: where there may be more of them.
    """

    table_m: float
    low_m: Vector
    high_m: Vector
    cameras: Mapping[str, View]
    watched: str
    centre: Spot
    things_m: Area
    spare_m: Area

    @property
    def camera_names(self) -> tuple[str, ...]:
        return (*self.cameras, "wrist")

    def holds(self, spot: Spot) -> bool:
        """Whether things may be moved there."""
        return all(
            low <= value <= high for low, value, high in zip(self.things_m[0], spot, self.things_m[1], strict=True)
        )
