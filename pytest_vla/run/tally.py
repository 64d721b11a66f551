"""Counts of episodes and the rate they give, never without its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_vla.run.intervals import Interval, rate_interval
from pytest_vla.run.record import Record


@dataclass(frozen=True, slots=True)
class Tally:
    """Solved out of measured episodes. Errors are defects, not measurements: they stand beside, never inside."""

    solved: int = 0
    measured: int = 0
    errors: int = 0

    @classmethod
    def of(cls, records: Iterable[Record]) -> Tally:
        outcomes = Counter(record.outcome for record in once(records))
        return cls(outcomes["solved"], outcomes["solved"] + outcomes["unsolved"], outcomes["error"])

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.solved + other.solved, self.measured + other.measured, self.errors + other.errors)

    @property
    def rate(self) -> float | None:
        return self.solved / self.measured if self.measured else None

    def interval(self) -> Interval | None:
        """The 95% Wilson score interval of the success rate."""
        return rate_interval(self.solved, self.measured) if self.measured else None

    def texts(self) -> tuple[str, str, str, str]:
        """Success, interval, n and errors for a table: never a bare percentage."""
        interval = self.interval()
        rate = "-" if self.rate is None else f"{100 * self.rate:.1f}%"
        bounds = "-" if interval is None else f"[{100 * interval[0]:.0f}, {100 * interval[1]:.0f}]"
        return rate, bounds, str(self.measured), str(self.errors) if self.errors else ""


def once(records: Iterable[Record]) -> Iterable[Record]:
    """Every episode once: the same one repeated (`--vla-repeat`) is no second measurement."""
    return (record for record in records if not record.key.repeat)
