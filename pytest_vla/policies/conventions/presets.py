"""Known families: what their checkpoints mean by their numbers, each a small data file that names its source."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from pytest_vla.policies.conventions.declared import Conventions
from pytest_vla.policies.errors import PolicyError
from pytest_vla.suggest import unknown

FOLDER = Path(__file__).parent / "presets"


@cache
def preset_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@cache
def preset(name: str) -> Conventions:
    """The conventions of a family; PolicyError that suggests the nearest where there is none."""
    if name not in preset_names():
        raise PolicyError(unknown("preset", name, preset_names()))
    return Conventions.from_dict(tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")))
