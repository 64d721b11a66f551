"""A perturbation: which axes are off neutral and by which level, as a value that prints and parses back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_vla.perturb.axes import AXES, axis_named, place
from pytest_vla.perturb.axis import MAX_LEVEL, Axis, PerturbationError, UnknownAxis
from pytest_vla.suggest import unknown

if TYPE_CHECKING:
    from pytest_vla.suite import Suite

_LEVEL = re.compile(r"-?[0-9]+")


@dataclass(frozen=True, slots=True)
class Perturbation:
    """Levels by axis, in canonical order and without neutral ones. It is true when anything is off neutral.

    >>> str(Perturbation.parse("light.brightness=5, camera.yaw=3, camera.roll=0"))
    'camera.yaw=3,light.brightness=5'
    """

    levels: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, levels: Mapping[str, int] | Iterable[tuple[str, int]]) -> Perturbation:
        """From levels by name; whatever is wrong with them is one clear error."""
        pairs = list(levels.items() if isinstance(levels, Mapping) else levels)
        seen: set[str] = set()
        for name, level in pairs:
            if name not in AXES:
                raise UnknownAxis(unknown("axis", name, list(AXES)))
            axis = AXES[name]
            if isinstance(level, bool) or not isinstance(level, int) or not axis.lowest <= level <= MAX_LEVEL:
                lowest = f"{axis.lowest} ({axis.magnitude(axis.lowest)}) over 0" if axis.signed else "0"
                raise PerturbationError(
                    f"{name}={level} is out of range: levels are whole numbers from {lowest} (neutral) "
                    f"to {MAX_LEVEL} ({axis.magnitude(MAX_LEVEL)})"
                )
            if name in seen:
                raise PerturbationError(f"axis '{name}' is given twice")
            seen.add(name)
        off = [(name, level) for name, level in pairs if level]
        return cls(tuple(sorted(off, key=lambda pair: place(pair[0]))))

    @classmethod
    def recorded(cls, text: str) -> Perturbation | None:
        """What a run file says, also of axes that only its suite knows; None where it is nothing of ours."""
        try:
            return cls.parse(text)
        except UnknownAxis:
            pairs = [part.partition("=") for part in text.split(",")]
        except PerturbationError:
            return None
        try:
            return cls(tuple((axis_named(name.strip()).name, int(level)) for name, _, level in pairs))
        except ValueError:
            return None

    @classmethod
    def parse(cls, text: str) -> Perturbation:
        """Read `camera.yaw=3,light.brightness=5`; the empty text is no perturbation."""
        if not text.strip():
            return cls()
        pairs = []
        for part in text.split(","):
            name, equals, level = (piece.strip() for piece in part.partition("="))
            if name and equals and name not in AXES:
                raise UnknownAxis(unknown("axis", name, list(AXES)))
            if not (name and equals and _LEVEL.fullmatch(level)):
                raise PerturbationError(
                    f"cannot read {part.strip()!r} in {text!r}: write AXIS=LEVEL, separated by commas, with levels "
                    f"from 0 to {MAX_LEVEL} (or below 0 where an axis has two directions), such as "
                    f"camera.yaw=-3,light.shadow=5"
                )
            pairs.append((name, int(level)))
        return cls.of(pairs)

    def __str__(self) -> str:
        return ",".join(f"{name}={level}" for name, level in self.levels)

    def __bool__(self) -> bool:
        return bool(self.levels)

    def __iter__(self) -> Iterator[tuple[Axis, int]]:
        """Axes and their levels, in canonical order."""
        return ((axis_named(name), level) for name, level in self.levels)

    def level(self, name: str) -> int:
        return dict(self.levels).get(name, 0)

    def describe(self) -> str:
        """For a person: `camera.yaw=3 (6 deg), light.brightness=5 (0.5 times as bright)`."""
        return ", ".join(f"{axis.name}={level} ({axis.magnitude(level)})" for axis, level in self) or "none"

    def check(self, suite: Suite) -> Perturbation:
        """This perturbation, if the suite supports all of its axes."""
        supported = suite.axes()
        for name, _ in self.levels:
            if name not in supported:
                raise PerturbationError(
                    f"suite '{suite.name}' does not support axis '{name}'; it supports {', '.join(supported)}"
                )
        return self
