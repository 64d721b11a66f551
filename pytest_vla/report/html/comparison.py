"""Two runs side by side: the episodes they share, which of them flipped, and what that says per level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pytest_vla.report.html.page import Page
from pytest_vla.report.html.success import link
from pytest_vla.run import Pairs
from pytest_vla.run.intervals import Interval, paired_interval


class Counts(NamedTuple):
    """Pairs by what became of them."""

    pairs: int = 0
    gained: int = 0
    lost: int = 0
    both: int = 0

    def plus(self, other: Counts) -> Counts:
        return Counts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class Paired:
    """One row: shared episodes, how many were gained and lost, and the difference with its interval."""

    name: str
    counts: Counts
    links: tuple[str, str]

    @property
    def interval(self) -> Interval:
        return paired_interval(self.counts.gained, self.counts.lost, self.counts.pairs)

    @property
    def difference(self) -> float:
        return (self.counts.gained - self.counts.lost) / max(self.counts.pairs, 1)

    @property
    def before(self) -> float:
        return (self.counts.both + self.counts.lost) / max(self.counts.pairs, 1)

    @property
    def after(self) -> float:
        return (self.counts.both + self.counts.gained) / max(self.counts.pairs, 1)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything the page says of two runs."""

    other: str
    rows: list[Paired]
    total: Paired
    left_out: list[tuple[int, str]]
    """How many episodes do not pair, and why."""


def comparison_view(page: Page) -> Comparison | None:
    if page.pairs is None or page.other is None:
        return None
    return compare_runs(page.pairs, page.other.policy.text)


def compare_runs(pairs: Pairs, other: str = "") -> Comparison:
    """What the pairs of two runs say, per suite and level; perturbed episodes are levels of their own."""
    import numpy as np

    cells, before, after = pairs.new.cell[pairs.new_rows], pairs.before, pairs.after

    def count(which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[int]:
        counts: list[int] = np.bincount(cells[which], minlength=len(pairs.new.cells)).tolist()
        return counts

    columns = (count(before | True), count(after & ~before), count(before & ~after), count(before & after))
    groups: dict[tuple[str, str, str], Counts] = {}
    for cell, *numbers in zip(pairs.new.cells, *columns, strict=True):
        if numbers[0]:
            level = (cell.suite, cell.partition, cell.perturbation)
            groups[level] = groups.get(level, Counts()).plus(Counts(*numbers))
    total = Counts()
    for counts in groups.values():
        total = total.plus(counts)
    unperturbed = "none" if any(perturbation for *_, perturbation in groups) else ""
    rows = [_paired(*group, counts, group[2] or unperturbed) for group, counts in groups.items()]
    left_out = [(count, str(why)) for why, count in pairs.why().most_common()]
    return Comparison(other, rows, _paired("", "", "", total), left_out)


def _paired(suite: str, partition: str, perturbation: str, counts: Counts, filtered: str = "") -> Paired:
    gained, lost = (
        link(suite=suite, partition=partition, perturbation=filtered, flip=flip) for flip in ("gained", "lost")
    )
    return Paired(f"{suite} / {partition} {perturbation}".rstrip() if suite else "all", counts, (gained, lost))
