"""How well a run did: success by task and level, the generalisation gap, reasons, and where the time went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from pytest_vla.episode import Cell
from pytest_vla.report.groups import grouped
from pytest_vla.report.html.page import Page
from pytest_vla.report.order import ordered
from pytest_vla.report.score import Scored, scores
from pytest_vla.run import Run, Table, Tally
from pytest_vla.run.gaps import Gap, gaps
from pytest_vla.run.intervals import Interval
from pytest_vla.run.table import OUTCOMES

MOST_COLUMNS = 12
PHASES = ("reset", "draw", "act", "step")

Tallies = dict[Cell, Tally]
Column = tuple[str, str]  # partition and perturbation


@dataclass(frozen=True, slots=True)
class Rate:
    """A tally as the page shows it: shares of 1, a link to its episodes."""

    tally: Tally
    link: str = ""

    @property
    def value(self) -> float | None:
        return self.tally.rate

    @property
    def interval(self) -> Interval:
        return self.tally.interval() or (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class HeatRow:
    task: str
    cells: list[Rate | None]
    total: Rate


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Tasks down, levels across, for one suite."""

    suite: str
    columns: list[str]
    rows: list[HeatRow]
    totals: list[Rate]
    total: Rate


@dataclass(frozen=True, slots=True)
class Level:
    """One level of generalisation, and how far it is below the first one."""

    name: str
    rate: Rate
    gap: float | None = None
    gap_interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    name: str
    count: int
    share: float
    link: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Speed:
    """Where the time went."""

    episodes: int
    total: float
    median: float
    slow: float
    shares: list[tuple[str, float]] = field(default_factory=list)
    per_second: float | None = None


@dataclass(frozen=True, slots=True)
class Success:
    """The first screen below the verdict."""

    scores: list[Scored]
    maps: list[HeatMap]
    groups: list[HeatMap]
    """The same by groups of tasks, where a suite has them."""
    levels: dict[str, list[Level]]
    reasons: Mapping[str, list[Reason]]
    speed: Speed | None
    inference: list[str]


def success_view(page: Page) -> Success | None:
    """None for a run of hunts alone."""
    run = page.run
    if not len(run) and run.hunts:
        return None
    return Success(
        scores(run),
        heat_maps(run.once),
        group_maps(run.once),
        levels(run.once),
        {outcome: reasons(run, outcome) for outcome in ("error", "unsolved")},
        speed(run),
        _inference(run),
    )


def link(**filters: str) -> str:
    """The address of the episodes that a number is made of."""
    return "#" + urlencode({name: value for name, value in filters.items() if value}).replace("%2F", "/")


def headline(table: Table) -> Tally:
    """The one rate of a run."""
    return _sum(_unperturbed(table.tallies()).values())


def heat_maps(table: Table) -> list[HeatMap]:
    """One per suite. Perturbed episodes have columns of their own, unless there are too many kinds of them."""
    suites: dict[str, Tallies] = {}
    for cell, tally in ordered(table.tallies()).items():
        suites.setdefault(cell.suite, {})[cell] = tally
    return [_heat_map(suite, group) for suite, group in suites.items()]


def group_maps(table: Table) -> list[HeatMap]:
    """One per suite that has several groups of tasks in this run."""
    suites: dict[str, Tallies] = {}
    for cell, tally in grouped(ordered(table.tallies())).items():
        suites.setdefault(cell.suite, {})[cell] = tally
    maps = [_heat_map(suite, tallies, address=False) for suite, tallies in suites.items()]
    return [map_ for map_ in maps if len(map_.rows) > 1]


def _heat_map(suite: str, tallies: Tallies, *, address: bool = True) -> HeatMap:
    """A row has the address of its task's episodes, unless it is none."""
    columns = _columns(tallies)
    shown = {cell: tally for cell, tally in tallies.items() if (cell.partition, cell.perturbation) in columns}
    tasks = list(dict.fromkeys(cell.task for cell in shown))
    apart = any(perturbation for _, perturbation in columns)

    def rate(task: str, column: Column | None) -> Rate:
        group = {cell: tally for cell, tally in shown.items() if task in ("", cell.task)}
        if column is None:
            return Rate(_sum(_unperturbed(group).values()), link(suite=suite, task=task * address))
        partition, change = column
        tally = _sum(tally for cell, tally in group.items() if (cell.partition, cell.perturbation) == column)
        change = change or ("none" if apart else "")
        return Rate(tally, link(suite=suite, task=task * address, partition=partition, perturbation=change))

    return HeatMap(
        suite,
        [f"{partition} {change}".rstrip() for partition, change in columns],
        [
            HeatRow(
                task,
                [rate(task, column) if Cell(suite, task, *column) in shown else None for column in columns],
                rate(task, None),
            )
            for task in tasks
        ],
        [rate("", column) for column in columns],
        rate("", None),
    )


def _columns(tallies: Tallies) -> list[Column]:
    """Partitions in their order, each followed by its perturbations; only as many as can be looked at."""
    columns = list(dict.fromkeys((cell.partition, cell.perturbation) for cell in tallies))
    if len(columns) > MOST_COLUMNS and any(not change for _, change in columns):
        columns = [column for column in columns if not column[1]]
    columns = columns[:MOST_COLUMNS]
    partitions = list(dict.fromkeys(partition for partition, _ in columns))
    return sorted(columns, key=lambda column: (partitions.index(column[0]), column[1]))


def levels(table: Table) -> dict[str, list[Level]]:
    """Success by partition, and the gap to the first one, per suite, over unperturbed episodes where there are any."""
    found = gaps(ordered(table.tallies()))
    return {suite: [_level(suite, gap) for gap in partitions] for suite, partitions in found.items()}


def _level(suite: str, gap: Gap) -> Level:
    return Level(gap.partition, Rate(gap.tally, link(suite=suite, partition=gap.partition)), gap.gap, gap.interval)


def reasons(run: Run, outcome: str) -> list[Reason]:
    """Why episodes ended as they did, the most common first, each with what one of them said."""
    counts = run.once.reason_counts(outcome)
    return [
        Reason(
            reason or "unknown",
            count,
            count / counts.total(),
            link(outcome=outcome, reason=reason),
            _example(run, outcome, reason),
        )
        for reason, count in counts.items()
    ]


def _example(run: Run, outcome: str, reason: str) -> str:
    """The last line of the first message: of a traceback, what went wrong."""
    table = run.table
    rows = (table.reason == table.reasons.index(reason)) & (table.outcome == OUTCOMES.index(outcome))
    (record,) = run.records(rows.nonzero()[0][:1].tolist())
    return (record.result.message.splitlines() or [""])[-1]


def speed(run: Run) -> Speed | None:
    """Seconds per episode and what they were spent on; None for an empty run."""
    import numpy as np

    seconds, spent = np.sort(run.table.seconds), run.spent.get("episode", 0.0)
    if not len(seconds) or not spent:
        return None
    phases = {phase: run.spent.get(phase, 0.0) for phase in PHASES}
    phases["other"] = max(0.0, spent - sum(phases.values()))
    ends = [line["episodes_per_second"] for line in run.of_type("end") if line.get("episodes_per_second")]
    return Speed(
        episodes=len(seconds),
        total=float(seconds.sum()),
        median=float(np.median(seconds)),
        slow=float(seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))]),
        shares=[(phase, value / spent) for phase, value in phases.items() if value / spent >= 0.0005],
        per_second=float(ends[-1]) if ends else None,
    )


def _inference(run: Run) -> list[str]:
    """What the inference servers said of themselves, if there were any, and what the policy costs."""
    from pytest_vla.inference.cost import cost_lines_recorded
    from pytest_vla.inference.session import describe_recorded

    served = [text for line in run.of_type("inference") for text in describe_recorded(line)]
    cost = [text for line in run.of_type("cost") for text in cost_lines_recorded(line)]
    return [text[:1].upper() + text[1:] for text in (*served, *cost)]


def _unperturbed(tallies: Tallies) -> Tallies:
    """The cells a success rate is about: those without perturbation, where there are any."""
    return {cell: tally for cell, tally in tallies.items() if not cell.perturbation} or tallies


def _sum(tallies: Iterable[Tally]) -> Tally:
    return sum(tallies, Tally())
