"""The seam for scene perturbations: what may be changed about an episode's table, with defaults that change no bit."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_vla.sim.bullet import DAYLIGHT, Light
from pytest_vla.sim.pose import Vector

from .kit.scene import Spot, Thing


@dataclass(frozen=True, slots=True)
class CameraEdit:
    """A camera that is not quite where it should be. Angles turn about the table's centre."""

    yaw_deg: float = 0.0
    pitch_deg: float = 0.0
    shift_m: Vector = (0.0, 0.0, 0.0)
    zoom: float = 1.0


IN_PLACE = CameraEdit()


@dataclass(frozen=True, slots=True)
class SceneEdits:
    """What `reset(options={"edits": edits, ...})` changes; the task, its goals and its prompt stay as drawn."""

    camera: CameraEdit = IN_PLACE
    light: Light = DAYLIGHT
    table_colour: tuple[float, float, float] | None = None
    table_texture: str | None = None
    object_textures: dict[str, str] = field(default_factory=dict)
    """Texture by label, in place of the drawn one (in the world, not in the prompt)."""
    shifts_m: dict[str, Spot] = field(default_factory=dict)
    """How far a movable thing starts from where it was drawn, by label. Goals stay where they were drawn."""
    distractors: tuple[Thing, ...] = ()
    scale: float = 1.0
    mass: float = 1.0
    friction: float = 1.0
    tool_start: Spot | None = None


NEUTRAL = SceneEdits()
