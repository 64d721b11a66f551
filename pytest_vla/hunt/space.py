"""The space a hunt searches: points as tuples of levels, causes, and what one point says about another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_vla.perturb import AXES, MAX_LEVEL, Perturbation

Point = tuple[int, ...]
"""A level for each axis of the space."""


@dataclass(frozen=True)
class Space:
    """The axes of one hunt, in a fixed order. Signed axes have two directions: levels below 0 too."""

    axes: tuple[str, ...]
    ordered: tuple[bool, ...]
    signed: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if not self.signed:
            object.__setattr__(self, "signed", (False,) * len(self.axes))

    @classmethod
    def of(cls, names: Sequence[str]) -> Space:
        axes = [AXES[name] for name in names]
        return cls(tuple(names), tuple(axis.ordered for axis in axes), tuple(axis.signed for axis in axes))

    @property
    def neutral(self) -> Point:
        return (0,) * len(self.axes)

    def levels(self, axis: int) -> list[int]:
        """All levels of an axis but the neutral one."""
        up = list(range(1, MAX_LEVEL + 1))
        return [-level for level in reversed(up)] + up if self.signed[axis] else up

    def perturbation(self, point: Point) -> Perturbation:
        return Perturbation.of(zip(self.axes, point, strict=True))

    def point(self, perturbation: Perturbation) -> Point:
        return tuple(perturbation.level(name) for name in self.axes)

    def covers(self, point: Point, cause: Point) -> bool:
        """Whether a point has all of a cause in it: ordered axes at least as far off, unordered ones the same."""
        return all(
            not need or (at_least(level, need) if ordered else level == need)
            for level, need, ordered in zip(point, cause, self.ordered, strict=True)
        )

    def only(self, point: Point, axes: Sequence[int]) -> Point:
        """The point with every other axis neutral."""
        return tuple(level if axis in axes else 0 for axis, level in enumerate(point))


def at_least(level: int, need: int) -> bool:
    """As far off as needed, in the same direction."""
    return level >= need if need > 0 else level <= need


def nearer(level: int) -> int:
    """One level nearer to neutral."""
    return level - (level > 0) + (level < 0)


def active(point: Point) -> list[int]:
    """The axes that are off neutral."""
    return [axis for axis, level in enumerate(point) if level]


def severity(point: Point) -> int:
    """How much is off in all."""
    return sum(map(abs, point))


def change(point: Point, axis: int, level: int) -> Point:
    return (*point[:axis], level, *point[axis + 1 :])


__all__ = ["MAX_LEVEL", "Point", "Space", "active", "at_least", "change", "nearer", "severity"]
