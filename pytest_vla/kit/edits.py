"""The seam for scene perturbations: what may be changed about an episode's table, with defaults that change no bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_vla.kit.layout import Spot
from pytest_vla.sim.pose import Vector


@dataclass(frozen=True, slots=True)
class CameraEdit:
    """A camera that is not quite where it should be.

    Yaw and pitch turn a camera that stands about what it looks at, and one that is carried about itself; roll turns
    either about its line of sight. The shift is along the table's axes, or those of what carries it.
    """

    yaw_deg: float = 0.0
    pitch_deg: float = 0.0
    roll_deg: float = 0.0
    shift_m: Vector = (0.0, 0.0, 0.0)
    fov_deg: float = 0.0
    """Added to the vertical field of view."""


IN_PLACE = CameraEdit()


@dataclass(frozen=True, slots=True)
class LightEdit:
    """Another lamp. Angles are added to the neutral direction; brightness and colour multiply all light."""

    azimuth_deg: float = 0.0
    elevation_deg: float = 0.0
    brightness: float = 1.0
    colour: Vector = (1.0, 1.0, 1.0)
    shadow: float = 0.0
    """The share of the ambient light that comes from the lamp instead, which casts shadows then."""


SAME_LIGHT = LightEdit()


@dataclass(frozen=True, slots=True)
class SceneEdits:
    """Changes that an environment applies at reset. The task, its goals and its words stay as they were drawn."""

    light: LightEdit = SAME_LIGHT
    table_colour: Vector | None = None
    shifts_m: Mapping[str, Spot] = field(default_factory=dict)
    """How far a thing starts from where it was drawn, by label. Goals stay where they were drawn."""
    scale: float = 1.0
    """Of the things' size; their weight follows `mass` alone."""
    mass: float = 1.0
    friction: float = 1.0
    action_time: float = 1.0
    """How long the robot is at an action, as a multiple of what it should be."""
    pushes_m: Mapping[str, Spot] = field(default_factory=dict)
    """How far a thing is pushed in the middle of the episode, by label."""
