"""The table at the end of a run: every rate with its interval and its number of episodes."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_vla.report.runfile import Record, Run

if TYPE_CHECKING:
    import pytest

CONFIDENCE = 0.95
LOG_WIDTH = 160


@dataclass(frozen=True, slots=True)
class Tally:
    """Solved out of measured episodes. Errors are defects, not measurements: they stand beside, never inside."""

    solved: int = 0
    measured: int = 0
    errors: int = 0

    @classmethod
    def of(cls, records: Iterable[Record]) -> Tally:
        outcomes = Counter(record["outcome"] for record in records)
        return cls(outcomes["solved"], outcomes["solved"] + outcomes["unsolved"], outcomes["error"])

    @property
    def rate(self) -> float | None:
        return self.solved / self.measured if self.measured else None

    def interval(self) -> tuple[float, float] | None:
        """The 95% Wilson score interval of the success rate."""
        if not self.measured:
            return None
        from scipy.stats import binomtest

        ci = binomtest(self.solved, self.measured).proportion_ci(CONFIDENCE, method="wilson")
        return float(ci.low), float(ci.high)


def tally_cells(records: Iterable[Record]) -> dict[tuple[str, str, str, str], Tally]:
    """One tally per (suite, task, partition, perturbation), in order of first appearance."""
    cells: dict[tuple[str, str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        cells[(record["suite"], record["task"], record["partition"], record.get("perturbation") or "")].append(record)
    return {cell: Tally.of(group) for cell, group in cells.items()}


def in_episode_order(records: Iterable[Record]) -> list[Record]:
    """The order the suites list their cells in, and by index; names where a suite is not installed here."""
    from pytest_vla.suite import SuiteError, get_suite

    @cache
    def cells(suite: str) -> dict[tuple[str, str], int]:
        try:
            return {cell: number for number, cell in enumerate(get_suite(suite).cells())}
        except SuiteError:
            return {}

    def place(r: Record) -> tuple[Any, ...]:
        number = cells(r["suite"]).get((r["task"], r["partition"]), 0)
        return (r["suite"], number, r["task"], r["partition"], r["perturbation"], r["index"])

    return sorted(records, key=place)


def format_tally(tally: Tally) -> tuple[str, str, str, str]:
    """Success, interval, n and errors as text: never a bare percentage."""
    interval = tally.interval()
    rate = "-" if tally.rate is None else f"{100 * tally.rate:.1f}%"
    bounds = "-" if interval is None else f"[{100 * interval[0]:.0f}, {100 * interval[1]:.0f}]"
    return rate, bounds, str(tally.measured), str(tally.errors) if tally.errors else ""


def summary_rows(records: Sequence[Record]) -> list[tuple[str, ...]]:
    """Rows of the table: cells, then one total per partition (mean over its tasks), then all."""
    rows: list[tuple[str, ...]] = []
    cells = tally_cells(in_episode_order(records))
    for (suite, task, partition, perturbation), tally in cells.items():
        name = f"{partition} {perturbation}".rstrip()
        rows.append((f"{suite}/{task}", name, *format_tally(tally)))
    return rows


def partition_rows(records: Sequence[Record]) -> list[tuple[str, ...]]:
    """One row per suite and partition, pooled over its tasks."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in in_episode_order(records):
        name = f"{record['partition']} {record.get('perturbation') or ''}".rstrip()
        groups[(record["suite"], name)].append(record)
    return [(suite, name, *format_tally(Tally.of(group))) for (suite, name), group in groups.items()]


def render_table(rows: Sequence[tuple[str, ...]], totals: Sequence[tuple[str, ...]], width: int, color: bool) -> str:
    """The rows as text of at most `width` columns where that is possible."""
    from io import StringIO

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    fold = max(28, width // 3)
    rows, totals = ([(row[0], _folded(row[1], fold), *row[2:]) for row in block] for block in (rows, totals))
    for number, title in enumerate(("suite/task", "partition", "success", "95% CI", "n", "errors")):
        numbers = number >= 2  # in a narrow window names are cut, numbers never
        longest = max(len(row[number]) for row in [(title,) * 6, *rows, *totals])
        table.add_column(
            title, no_wrap=True, justify="right" if numbers else "left", min_width=longest if numbers else None
        )
    for row in rows:
        table.add_row(*row)
    if len(rows) > 1:
        table.add_section()
        for row in totals:
            table.add_row(*row, style="bold")
    console = Console(
        file=StringIO(), width=max(width, 80), force_terminal=color, color_system="standard" if color else None
    )
    console.print(table)
    return console.file.getvalue().rstrip("\n")  # type: ignore[attr-defined, no-any-return]


def _folded(name: str, width: int) -> str:
    """A partition with many axes off neutral, in lines that leave room for the numbers."""
    from textwrap import wrap

    return name if len(name) <= width else "\n".join(wrap(name.replace(",", ", "), width, break_long_words=False))


def replay_command(run_file: str, record: Record) -> str:
    """What to type to see one episode again."""
    key = "-".join([record["task"], record["partition"], f"{record['index']:02d}"])
    if record.get("perturbation"):
        key = f"{key}-{record['perturbation']}"
    episode = f"{record['suite']}/{key}"
    return f"pytest-vla replay {shlex.quote(run_file)} {shlex.quote(episode)}"


def summary_lines(records: Sequence[Record], run_file: str, speed: float | None, width: int, color: bool) -> list[str]:
    """The whole summary of a run as text; a repeated episode is not a second one."""
    records = [record for record in records if not record.get("repeat")]
    tally = Tally.of(records)
    pace = f", {speed:.2f} episodes/s" if speed else ""
    lines = render_table(summary_rows(records), partition_rows(records), width, color).splitlines()
    if any(record.get("perturbation") for record in records):
        from pytest_vla.perturb.summary import perturbation_lines

        lines += perturbation_lines(records)
    lines += ["", f"{tally.solved} of {tally.measured} episodes solved, {tally.errors} errors{pace}"]
    for outcome, title in (("error", "errors"), ("unsolved", "unsolved")):
        reasons = Counter(record["reason"] for record in records if record["outcome"] == outcome)
        if reasons:
            lines.append(f"{title}: " + ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()))
    lines.append(f"run file: {run_file}")
    unsolved = next((record for record in in_episode_order(records) if record["outcome"] == "unsolved"), None)
    if unsolved:
        lines.append(f"replay the first unsolved episode: {replay_command(run_file, unsolved)}")
    return [line.rstrip() for line in lines]


def describe_run(run: Run) -> str:
    """A run read back from its file, as `pytest-vla show` prints it: also what is missing or damaged."""
    policy = run.provenance.get("policy", {})
    lines = [f"policy {policy.get('text')} ({policy.get('digest')}), made {run.provenance.get('created')}"]
    if run.plan is not None and len(run.episodes) < run.plan:
        lines.append(f"incomplete: {len(run.episodes)} of {run.plan} episodes; go on with --vla-resume")
    lines += [f"line {number} is damaged and left out: {problem}" for number, problem in run.damaged]
    if not run.episodes:
        return "\n".join([*lines, "no episode was finished"])
    return "\n".join([*lines, "", *summary_lines(run.episodes, str(run.path), None, LOG_WIDTH, False)])


def write_summary(
    reporter: pytest.TerminalReporter,
    records: Sequence[Record],
    *,
    skipped: Mapping[str, int],
    run_file: str,
    speed: float | None,
) -> None:
    """Print what a person wants to know after a run."""
    if not records and not skipped:
        return
    reporter.section("vla results")
    for reason, count in skipped.items():
        reporter.line(f"skipped {count}: {reason}", yellow=True)
    if not records:
        return
    writer = reporter._tw
    width = writer.fullwidth if reporter.isatty else LOG_WIDTH
    for line in summary_lines(records, run_file, speed, width, bool(writer.hasmarkup)):
        reporter.line(line)
