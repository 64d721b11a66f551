"""The seam for scene perturbations: what may be changed about an episode's table, with defaults that change no bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .board import Spot
from .scene import Block, Colour, Stone, Vector


@dataclass(frozen=True, slots=True)
class CameraEdit:
    """A camera that is not quite where it should be.

    Yaw and pitch turn the front camera about the board's centre and the wrist camera about itself; roll turns either
    about its line of sight. The shift is along the table's axes (front) or the carriage's (wrist).
    """

    yaw_deg: float = 0.0
    pitch_deg: float = 0.0
    roll_deg: float = 0.0
    shift_m: Vector = (0.0, 0.0, 0.0)
    fov_deg: float = 0.0
    """Added to the vertical field of view."""


@dataclass(frozen=True, slots=True)
class LightEdit:
    """Another lamp. Angles are added to the neutral direction; brightness and colour multiply all light."""

    azimuth_deg: float = 0.0
    elevation_deg: float = 0.0
    brightness: float = 1.0
    colour: Vector = (1.0, 1.0, 1.0)
    shadow: float = 0.0
    """The share of the ambient light that comes from the lamp instead, which casts shadows then."""


@dataclass(frozen=True, slots=True)
class ImageEdit:
    """A sensor with another gain: each colour channel is multiplied by brightness times its balance."""

    brightness: float = 1.0
    balance: Vector = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class SceneEdits:
    """Changes that the environment applies at reset. The task, its goals and its words stay as they were drawn."""

    front: CameraEdit = CameraEdit()
    wrist: CameraEdit = CameraEdit()
    light: LightEdit = LightEdit()
    image: ImageEdit = ImageEdit()
    table_colour: Vector | None = None
    table_texture: str = "plain"
    """One of `textures.TABLE_TEXTURES`."""
    board_colour: Vector | None = None
    board_texture: str = "wood"
    """One of `textures.BOARD_TEXTURES`."""
    stone_colours: Mapping[Colour, Vector] = field(default_factory=dict)
    stone_texture: str = "plain"
    """One of `textures.STONE_TEXTURES`."""
    board_gloss: float = 0.0
    """0 is matt, 1 a varnish that mirrors the lamp."""
    stone_gloss: float = 0.25
    shifts_m: Mapping[str, Spot] = field(default_factory=dict)
    """How far a stone starts from where it was drawn, by label."""
    extra_stones: tuple[Stone, ...] = ()
    blocks: tuple[Block, ...] = ()
    scale: float = 1.0
    """Of the stones' size, 0.8 to 1.2; their weight follows `mass` alone."""
    mass: float = 1.0
    friction: float = 1.0
    tip_start_m: Vector | None = None


NEUTRAL = SceneEdits()
