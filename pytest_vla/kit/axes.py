"""What perturbation axes mean in a scene: builders from which a suite makes its table, an axis a row.

A row is a function of the edits so far, the axis' magnitude, the drawn episode and a generator of its own; it returns
the edits with one thing changed. `pytest_vla.perturb.scene_edits` applies the rows of an episode's perturbation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pytest_vla.perturb import COLOURS, CONTRADICTION, Perturbation, everywhere
from pytest_vla.sim.pose import Vector
from pytest_vla.suite import SuiteError

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey
    from pytest_vla.sim.view import View

Rng = np.random.Generator
Row = Callable[[Any, Any, Any, Rng], Any]
Value = Callable[[Any], Any]
Told = TypeVar("Told")
CONTRADICTION_DRAWS = 20


def supported(table: Mapping[str, Row], without: Sequence[str] = ()) -> list[str]:
    """Every axis that works in a suite with this table, which also words contradictions."""
    return [*table, *(name for name in everywhere() if name not in without), CONTRADICTION]


def contradiction(episode: EpisodeKey) -> int:
    """The level of `language.contradict`; 0 where the policy is told the truth."""
    return Perturbation.parse(episode.perturbation).level(CONTRADICTION) if episode.perturbation else 0


def contradicted(told: Told, episode: EpisodeKey, draw: Callable[[str], Told]) -> Told:
    """What the policy is told, or under `language.contradict` what it would be told in another draw of the task.

    `draw` makes that from a stream of the episode; the first one that says something else is taken.
    """
    level = contradiction(episode)
    if not level:
        return told
    for attempt in range(CONTRADICTION_DRAWS):
        other = draw(f"perturbation.{CONTRADICTION}.{level}.{attempt}")
        if other != told:
            return other
    raise SuiteError(f"{episode}: nothing else was said in {CONTRADICTION_DRAWS} draws")


# --- builders ---------------------------------------------------------------------------------------------------------


def whole(field: str) -> Row:
    """Set a field of the edits to the magnitude itself."""
    return lambda edits, magnitude, instance, rng: replace(edits, **{field: magnitude})


def sets(part: str, **values: Value) -> Row:
    """Set fields of a part of the edits, such as its light, each to a function of the magnitude."""

    def row(edits: Any, magnitude: Any, instance: Any, rng: Rng) -> Any:
        changed = {name: value(magnitude) for name, value in values.items()}
        return replace(edits, **{part: replace(getattr(edits, part), **changed)})

    return row


def adds(part: str, **values: Value) -> Row:
    """Add to fields of a part of the edits, so that axes which change the same field make up a sum."""

    def row(edits: Any, magnitude: Any, instance: Any, rng: Rng) -> Any:
        before = getattr(edits, part)
        changed = {name: _sum(getattr(before, name), value(magnitude)) for name, value in values.items()}
        return replace(edits, **{part: replace(before, **changed)})

    return row


def _sum(before: Any, added: Any) -> Any:
    if isinstance(before, tuple):
        return tuple(a + b for a, b in zip(before, added, strict=True))
    return before + added


def one_of(*alternatives: Mapping[str, Any]) -> Row:
    """Set fields of the edits to those of the numbered alternative, for an axis of eight of them."""
    return lambda edits, number, instance, rng: replace(edits, **alternatives[number - 1])


def start(field: str, origin: Sequence[float], angles_rad: tuple[float, float] = (0, 2 * math.pi)) -> Row:
    """The robot starts the distance away from its origin, in a direction of its own."""

    def row(edits: Any, distance_m: float, instance: Any, rng: Rng) -> Any:
        angle = rng.uniform(*angles_rad)
        x, y, *height = origin
        return replace(edits, **{field: (x + distance_m * math.cos(angle), y + distance_m * math.sin(angle), *height)})

    return row


# --- rows that are the same in every suite with these edits -----------------------------------------------------------


def camera_axes(part: str, view: View) -> dict[str, Row]:
    """The rows of a camera that stands and looks at the origin."""

    def away(times: float) -> Vector:
        x, y, z = ((times - 1) * value for value in view.position)
        return x, y, z

    return {
        "camera.shift": adds(part, shift_m=lambda m: (m, 0.0, 0.0)),
        "camera.lift": adds(part, shift_m=lambda m: (0.0, 0.0, m)),
        "camera.distance": adds(part, shift_m=away),
        "camera.yaw": adds(part, yaw_deg=float),
        "camera.orbit": adds(part, yaw_deg=float),
        "camera.pitch": adds(part, pitch_deg=float),
        "camera.roll": adds(part, roll_deg=float),
        "camera.fov": adds(part, fov_deg=lambda times: (times - 1) * view.fovy_deg),
    }


def _table_colour(edits: Any, name: str, instance: Any, rng: Rng) -> Any:
    return replace(edits, table_colour=COLOURS[name])


TABLE_LOOKS: Sequence[Mapping[str, Any]] = (
    *({"table_texture": name} for name in ("felt", "wood", "planks", "marble", "stripes", "checker")),
    {"table_texture": "marble", "table_colour": (0.80, 0.72, 0.62)},
    {"table_texture": "stripes", "table_colour": (0.35, 0.45, 0.65)},
)


def table_axes(looks: Sequence[Mapping[str, Any]] = TABLE_LOOKS) -> dict[str, Row]:
    """The rows of the table's looks; the eight textures are ours unless a suite has its own."""
    return {"appearance.table_colour": _table_colour, "appearance.table_texture": one_of(*looks)}


BACKGROUNDS: Sequence[tuple[str, Vector]] = (
    ("felt", (0.20, 0.30, 0.48)),
    ("wood", (0.62, 0.44, 0.28)),
    ("planks", (0.50, 0.32, 0.20)),
    ("marble", (0.92, 0.90, 0.86)),
    ("stripes", (0.75, 0.35, 0.30)),
    ("checker", (0.40, 0.55, 0.38)),
    ("speckles", (0.70, 0.66, 0.40)),
    ("plain", (0.12, 0.12, 0.14)),
)
"""Patterns and colours of what is around a table."""


def _tint(share: float) -> Vector:
    """A warm light lacks that share of its blue, a cold one (below 0) of its red, and both some green."""
    strong, middle, weak = 1.0, 1 - abs(share) / 3, 1 - abs(share)
    return (strong, middle, weak) if share >= 0 else (weak, middle, strong)


LIGHT_AXES: Mapping[str, Row] = {
    "light.direction": sets("light", azimuth_deg=float),
    "light.brightness": sets("light", brightness=float),
    "light.colour": sets("light", colour=_tint),
    "light.shadow": sets("light", shadow=float),
}
BACKGROUND_AXES: Mapping[str, Row] = {
    "appearance.background": one_of(*({"background": look} for look in BACKGROUNDS)),
}
ROBOT_AXES: Mapping[str, Row] = {"robot.rate": whole("action_time")}
OBJECT_AXES: Mapping[str, Row] = {
    "object.scale": whole("scale"),
    "object.mass": whole("mass"),
    "object.friction": whole("friction"),
}
