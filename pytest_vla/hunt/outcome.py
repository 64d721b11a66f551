"""The words of a search: what it asks, what it may use, and what it came to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_vla.hunt.history import History
from pytest_vla.hunt.space import Point, Space, active, severity
from pytest_vla.run.hunts import Condition, Count, Tested


class HuntError(Exception):
    """A hunt cannot begin, or makes no sense."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One question: does the policy solve the scene `seed` at this point?"""

    point: Point
    seed: int


Answer = bool | None
"""Solved or not; None when the episode broke, which says nothing about the policy."""
Ask = Callable[[Sequence[Probe]], Sequence[Answer]]


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop, whichever comes first."""

    episodes: int = 500
    seconds: float = float("inf")


@dataclass(frozen=True, slots=True)
class Find:
    """What an earlier hunt found: a point, and the very scene that showed it."""

    point: Point
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """A smallest point that makes the policy fail more often than it does anyway, confirmed on fresh scenes."""

    point: Point
    seed: int
    """A scene that fails."""
    confirmed: Count = field(default_factory=Count)
    """On the scenes that confirmed it; biased, since it was confirmed because they failed."""
    shrink_episodes: int = 0
    partly: bool = False
    """Whether some scenes solved what led to it."""
    rate: Count = field(default_factory=Count)
    """On scenes that had no part in finding it."""
    lower: tuple[Point, Count] | None = None
    """On the same scenes, with every ordered axis one level nearer to neutral."""
    condition: Condition | None = None
    """In which scenes it fails, where their features tell."""
    also: tuple[Point, ...] = ()
    """Other points that fail in the same scenes: the same cause by another name."""

    @property
    def failed(self) -> int:
        return self.rate.failed

    @property
    def asked(self) -> int:
        return self.rate.asked


@dataclass
class Outcome:
    """What a hunt found, and what it looked at."""

    space: Space
    history: History
    causes: list[Cause] = field(default_factory=list)
    control: dict[int, Answer] = field(default_factory=dict)
    """Unperturbed scenes."""
    episodes: int = 0
    errors: int = 0
    overloads: int = 0
    """Failures that took more than three axes at once: too much, rather than a cause."""
    too_much: float = float("inf")
    """The least severity of these."""
    unconfirmed: int = 0
    """Points that failed and came to nothing."""
    known: dict[Find, bool] = field(default_factory=dict)
    """Earlier finds that were tried again, and whether they still fail."""

    @property
    def base(self) -> Count:
        """Failures of the policy's own: in unperturbed scenes."""
        answers = [answer for answer in self.control.values() if answer is not None]
        return Count(answers.count(False), len(answers))

    def tested(self) -> Tested:
        """How much was looked at: points, axes off at once, levels in all, and pairs of levels that were solved."""
        points = list(self.history.answers)
        return Tested(
            points=len(points),
            most_axes=max((len(active(point)) for point in points), default=0),
            severity=max(map(severity, points), default=0),
            pairs=self.history.solved_pairs(),
        )
