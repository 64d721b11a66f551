"""The first screen of the report as data: every rate with its interval, computed by the code of the terminal table."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from pytest_vla.gate.intervals import unpaired_interval
from pytest_vla.report.runfile import Record, Run
from pytest_vla.report.table import Tally, in_episode_order

MOST_COLUMNS = 12
PHASES = ("reset", "act", "step")


@dataclass(frozen=True, slots=True)
class Rate:
    """A tally as the page shows it: shares of 1, a link to its episodes."""

    tally: Tally
    link: str = ""

    @property
    def value(self) -> float | None:
        return self.tally.rate

    @property
    def interval(self) -> tuple[float, float]:
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
    gap_interval: tuple[float, float] | None = None


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


def link(**filters: str) -> str:
    """The address of the episodes that a number is made of."""
    return "#" + urlencode({name: value for name, value in filters.items() if value}).replace("%2F", "/")


def unperturbed(records: Iterable[Record]) -> list[Record]:
    """The episodes a success rate is about: those without perturbation, where there are any."""
    records = list(records)
    return [record for record in records if not record.get("perturbation")] or records


def heat_maps(records: Iterable[Record]) -> list[HeatMap]:
    """One per suite. Perturbed episodes have columns of their own, unless there are too many kinds of them."""
    suites: dict[str, list[Record]] = defaultdict(list)
    for record in in_episode_order(records):
        suites[record["suite"]].append(record)
    return [_heat_map(suite, group) for suite, group in suites.items()]


def _heat_map(suite: str, records: Sequence[Record]) -> HeatMap:
    columns = list(dict.fromkeys((r["partition"], r.get("perturbation") or "") for r in records))
    if len(columns) > MOST_COLUMNS and any(not change for _, change in columns):
        columns = [column for column in columns if not column[1]]
    if len(columns) > MOST_COLUMNS:
        columns = columns[:MOST_COLUMNS]
    wanted, cells = set(columns), defaultdict(list)
    for record in records:
        column = (record["partition"], record.get("perturbation") or "")
        if column in wanted:
            cells[(record["task"], column)].append(record)
    tasks = list(dict.fromkeys(task for task, _ in cells))
    levels = list(dict.fromkeys(partition for partition, _ in columns))
    columns.sort(key=lambda column: (levels.index(column[0]), column[1]))

    def rate(task: str, column: tuple[str, str] | None) -> Rate:
        group = [r for (t, c), rs in cells.items() if task in ("", t) and column in (None, c) for r in rs]
        group = unperturbed(group) if column is None else group
        partition, change = column or ("", "")
        if column is not None and not change and any(other for _, other in columns):
            change = "none"
        return Rate(Tally.of(group), link(suite=suite, task=task, partition=partition, perturbation=change))

    return HeatMap(
        suite,
        [f"{partition} {change}".rstrip() for partition, change in columns],
        [
            HeatRow(task, [rate(task, c) if cells.get((task, c)) else None for c in columns], rate(task, None))
            for task in tasks
        ],
        [rate("", column) for column in columns],
        rate("", None),
    )


def levels(records: Iterable[Record]) -> dict[str, list[Level]]:
    """Success by partition, and the gap to the first one, per suite, over unperturbed episodes where there are any."""
    groups: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in unperturbed(in_episode_order(records)):
        groups[record["suite"]][record["partition"]].append(record)
    return {suite: _levels(suite, partitions) for suite, partitions in groups.items()}


def _levels(suite: str, partitions: dict[str, list[Record]]) -> list[Level]:
    found: list[Level] = []
    first: Tally | None = None
    for name, group in partitions.items():
        tally = Tally.of(group)
        rate = Rate(tally, link(suite=suite, partition=name))
        if first is None or first.rate is None or tally.rate is None:
            first = first if first is not None and first.measured else tally
            found.append(Level(name, rate))
            continue
        interval = unpaired_interval((first.solved, first.measured), (tally.solved, tally.measured))
        found.append(Level(name, rate, tally.rate - first.rate, interval))
    return found


def reasons(records: Iterable[Record], outcome: str) -> list[Reason]:
    """Why episodes ended as they did, the most common first."""
    group = [record for record in records if record["outcome"] == outcome]
    counts = Counter(record["reason"] or "unknown" for record in group)
    examples = {record["reason"] or "unknown": _last_line(record.get("message")) for record in reversed(group)}
    return [
        Reason(name, count, count / len(group), link(outcome=outcome, reason=name), examples[name])
        for name, count in counts.most_common()
    ]


def _last_line(text: Any) -> str:
    """Of a traceback, what went wrong."""
    return (str(text or "").splitlines() or [""])[-1]


def speed(records: Sequence[Record], others: Sequence[Record]) -> Speed | None:
    """Seconds per episode and what they were spent on; None for an empty run."""
    seconds = sorted(float(record.get("seconds") or 0.0) for record in records)
    total = sum(seconds)
    if not seconds or not total:
        return None
    spent = {phase: sum(float((r.get("timings") or {}).get(phase, 0.0)) for r in records) for phase in PHASES}
    spent["other"] = max(0.0, total - sum(spent.values()))
    ends = [record for record in others if record["type"] == "end" and record.get("episodes_per_second")]
    return Speed(
        episodes=len(seconds),
        total=total,
        median=statistics.median(seconds),
        slow=seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))],
        shares=[(phase, value / total) for phase, value in spent.items() if value / total >= 0.0005],
        per_second=float(ends[-1]["episodes_per_second"]) if ends else None,
    )


def facts(run: Run) -> list[tuple[str, str]]:
    """What made this run, in the words of a person; suites are those that were run, where any was."""
    provenance = run.provenance
    policy, commit = provenance.get("policy") or {}, provenance.get("commit")
    commit = commit if isinstance(commit, dict) else {}
    suites = {r["suite"]: r.get("version") for r in run.episodes} or provenance.get("suites") or {}
    packages = provenance.get("packages") or {}
    found: list[tuple[str, Any]] = [
        ("policy", policy.get("text")),
        ("digest", policy.get("digest")),
        ("made", provenance.get("created")),
        ("suites", ", ".join(f"{name} version {number}" for name, number in suites.items())),
        ("commit", f"{str(commit.get('id', ''))[:12]}{' with changes' if commit.get('dirty') else ''}"),
        ("command", " ".join(map(str, provenance.get("command") or ()))),
        ("pytest-vla", provenance.get("pytest_vla")),
        ("python", provenance.get("python")),
        ("machine", f"{provenance.get('platform', '')}, {provenance.get('cpus', '?')} cpus"),
        ("packages", ", ".join(f"{name} {number}" for name, number in packages.items())),
        ("merged from", ", ".join(provenance.get("merged") or ())),
    ]
    return [(name, str(value)) for name, value in found if value]
