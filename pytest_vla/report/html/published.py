"""The run beside published results: where it stands among the methods, and task by task."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_vla.report.html.page import Page
from pytest_vla.report.html.success import Rate, link
from pytest_vla.report.published import Beside, published_beside
from pytest_vla.run.intervals import Interval

ALL = "all"


@dataclass(frozen=True, slots=True)
class Standing:
    """One line of a ranking: a method's mean, or the run's."""

    name: str
    kind: str
    mean: float
    tasks: int
    mine: bool = False
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class TaskRow:
    task: str
    run: Rate
    methods: list[float | None]


@dataclass(frozen=True, slots=True)
class LevelRows:
    """The tasks of one partition, and what they come to."""

    name: str
    rows: list[TaskRow]
    run: Rate
    run_mean: float | None
    means: list[float | None]


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One suite of the run."""

    suite: str
    source: str
    caveat: str
    methods: list[tuple[str, str]]
    """Their names, and what kind they are."""
    rankings: list[tuple[str, list[Standing]]]
    levels: list[LevelRows]


def published_view(page: Page) -> list[PublishedTable] | None:
    """None where nothing is published of what was run."""
    return [_table(beside) for beside in published_beside(page.run)] or None


def _table(beside: Beside) -> PublishedTable:
    known, kinds = beside.published, {}
    for kind, methods in known.groups.items():
        kinds.update(dict.fromkeys(methods, kind))
    several = len(beside.partitions) > 1
    return PublishedTable(
        beside.suite,
        known.source,
        known.caveat,
        [(method, kinds.get(method, "")) for method in known.rates],
        [(name or ALL, _ranking(beside, name, kinds)) for name in [*beside.partitions, *[""] * several]],
        [_level(beside, partition) for partition in beside.partitions],
    )


def _ranking(beside: Beside, partition: str, kinds: dict[str, str]) -> list[Standing]:
    """The best first; a tie goes to what is published."""
    cells = beside.chosen(partition)
    found = []
    for method, rates in beside.published.rates.items():
        mean = beside.method_mean(method, partition)
        if mean is not None:
            found.append(Standing(method, kinds.get(method, ""), mean, sum(cell in rates for cell in cells)))
    mine = beside.run_mean(partition)
    if mine is not None:
        found.append(Standing("this run", "", mine, len(cells), True, beside.run_tally(partition).interval()))
    return sorted(found, key=lambda standing: -standing.mean)


def _level(beside: Beside, partition: str) -> LevelRows:
    methods = list(beside.published.rates)
    rows = [
        TaskRow(
            cell[0],
            Rate(beside.cells[cell], link(suite=beside.suite, task=cell[0], partition=partition)),
            [beside.published.rates[method].get(cell) for method in methods],
        )
        for cell in beside.chosen(partition)
    ]
    whole = Rate(beside.run_tally(partition), link(suite=beside.suite, partition=partition))
    means = [beside.method_mean(method, partition) for method in methods]
    return LevelRows(partition, rows, whole, beside.run_mean(partition), means)
