"""What stands on a table, as data: looks, things and whole episodes, before any simulator exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_vla.kit.goals import Judge, StayInside
from pytest_vla.kit.layout import Spot
from pytest_vla.sim.pose import Pose, Vector, yaw_rotation

from ..objects import OBJECTS

if TYPE_CHECKING:
    from .prompt import PromptSpec

WORKSPACE_X_M = (0.25, 0.75)
WORKSPACE_Y_M = (-0.5, 0.5)
STAY_ON_TABLE = StayInside(WORKSPACE_X_M, WORKSPACE_Y_M)
UNSCALED: Vector = (1.0, 1.0, 1.0)

Places = Literal["free", "relative", "absolute"]
"""What counts of where things start: nothing, how they stand to each other, or where those to be moved stand."""

TableState = Mapping[str, Pose]
"""Where every thing is, by label."""


@dataclass(frozen=True, slots=True)
class Look:
    """A shape in a texture. `size` replaces the outline of the two painted shapes (depth, width in m)."""

    shape: str
    texture: str
    scale: Vector = UNSCALED
    size: Spot | None = None

    @property
    def height_m(self) -> float:
        return OBJECTS[self.shape].height_m * self.scale[2]

    @property
    def kind(self) -> tuple[str, str]:
        return self.shape, self.texture


@dataclass(frozen=True, slots=True)
class Thing:
    """One object with a label of its own, at its first pose. A fixed thing cannot be picked and never moves."""

    label: str
    look: Look
    spot: Spot
    yaw: float = 0.0
    fixed: bool = False
    z: float | None = None
    """Height of the centre; None lets it stand on the table."""

    @property
    def pose(self) -> Pose:
        z = self.look.height_m / 2 if self.z is None else self.z
        return Pose((*self.spot, z), yaw_rotation(self.yaw))


@dataclass(frozen=True, slots=True)
class Instance:
    """One drawn episode: what is on the table, what the prompt says and when it is done."""

    things: tuple[Thing, ...]
    prompt: PromptSpec
    judge: Judge
    places: Places = "free"
    alike: Literal["shape", "texture"] = "shape"
    """What a further thing may share with those to be moved without being meant."""
