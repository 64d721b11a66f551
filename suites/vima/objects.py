"""The 31 objects of VIMABench as data: tasks choose, place and weigh them without knowing how they are drawn."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Role = Literal["dragged", "base", "sweep", "unused"]
Profile = Literal["circle_like", "square_like", "undetermined"]
Size = tuple[float, float, float]

_DATA_FILE = Path(__file__).parent / "data" / "objects.json"


@dataclass(frozen=True, slots=True)
class ObjectSpec:
    """What the benchmark says about one object.

    `size_low` and `size_high` (m) are the nominal sizes that placement sampling uses; they are deliberately not the
    visible size, which is `footprint` (x, y in m at zero yaw, measured in the original to one camera pixel of 4 mm).
    The footprint of `three-sided rectangle` is turned by -90 degrees from the measurement, because ours opens to +x.
    `symmetry_rad` is the smallest turn that maps the object onto itself (0: any turn; None: not stated). Block and
    cross say pi/2, which is geometrically right; the original says pi/4 and pi, and never uses them.
    """

    name: str
    role: Role
    novel: bool
    """Unseen in training: only level 3 and 4 tasks show it."""
    size_low: Size
    size_high: Size
    footprint: tuple[float, float]
    height_m: float
    mass_kg: float
    friction: float
    symmetry_rad: float | None
    profile: Profile
    hollow: bool
    """An outline on the table that other objects may lie inside of."""


def _load_objects() -> dict[str, ObjectSpec]:
    rows: list[dict[str, Any]] = json.loads(_DATA_FILE.read_text(encoding="utf-8"))
    specs = [ObjectSpec(**{key: _frozen(value) for key, value in row.items()}) for row in rows]
    return {spec.name: spec for spec in specs}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


OBJECTS: dict[str, ObjectSpec] = _load_objects()
"""Every object by name, in the order in which the original declares them."""
