"""The generalisation gap, defined once: what a level's success is above or below that of its suite's first level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_vla.episode import Cell
from pytest_vla.run.intervals import Interval, unpaired_interval
from pytest_vla.run.table import sum_by
from pytest_vla.run.tally import Tally


@dataclass(frozen=True, slots=True)
class Gap:
    """A level, pooled over its tasks; it has no gap where it is the first one, or where there is nothing to compare."""

    partition: str
    tally: Tally
    gap: float | None = None
    """Its rate minus the first level's: below 0 where less is solved."""
    interval: Interval | None = None
    """95%, as of two sets of scenes."""


def gaps(tallies: Mapping[Cell, Tally]) -> dict[str, list[Gap]]:
    """The levels of each suite in the order they come, over unperturbed episodes where there are any."""
    plain = {cell: tally for cell, tally in tallies.items() if not cell.perturbation} or tallies
    suites: dict[str, list[Gap]] = {}
    first: dict[str, Tally] = {}
    for (suite, partition), tally in sum_by(plain, lambda cell: (cell.suite, cell.partition)).items():
        start = first.get(suite)
        if tally.measured and start is None:
            first[suite] = tally
        suites.setdefault(suite, []).append(_gap(partition, tally, start))
    return suites


def _gap(partition: str, tally: Tally, first: Tally | None) -> Gap:
    if first is None or first.rate is None or tally.rate is None:
        return Gap(partition, tally)
    interval = unpaired_interval((first.solved, first.measured), (tally.solved, tally.measured))
    return Gap(partition, tally, tally.rate - first.rate, interval)
