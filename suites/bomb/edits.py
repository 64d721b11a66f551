"""What may be changed about an episode's table: the kit's edits, and those of board, stones and cameras."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_vla.kit import edits
from pytest_vla.kit.edits import IN_PLACE, CameraEdit
from pytest_vla.kit.layout import Spot
from pytest_vla.kit.parts import Block
from pytest_vla.sim.pose import Vector

from .scene import Colour, Stone


@dataclass(frozen=True, slots=True)
class ImageEdit:
    """A sensor with another gain: each colour channel is multiplied by brightness times its balance."""

    brightness: float = 1.0
    balance: Vector = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class SceneEdits(edits.SceneEdits):
    """Changes that the environment applies at reset. Scale, mass and friction are those of the stones."""

    front: CameraEdit = IN_PLACE
    wrist: CameraEdit = IN_PLACE
    image: ImageEdit = ImageEdit()
    table_texture: str = "plain"
    """One of `textures.TABLE_TEXTURES`."""
    background: tuple[str, Vector] | None = None
    """The pattern and colour of what is around the working area; None: the table goes on."""
    board_colour: Vector | None = None
    board_texture: str = "wood"
    """One of `textures.BOARD_TEXTURES`."""
    stone_colours: Mapping[Colour, Vector] = field(default_factory=dict)
    stone_texture: str = "plain"
    """One of `textures.STONE_TEXTURES`."""
    board_gloss: float = 0.0
    """0 is matt, 1 a varnish that mirrors the lamp."""
    stone_gloss: float = 0.25
    board_m: Spot = (0.0, 0.0)
    """How far the board is from its own place. Goals are on it; stones on it are shifted as `shifts_m` says."""
    extra_stones: tuple[Stone, ...] = ()
    blocks: tuple[Block, ...] = ()
    tip_start_m: Vector | None = None


NEUTRAL = SceneEdits()
