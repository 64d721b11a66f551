"""`pytest-vla compare A B ...`: the runs side by side, what differs beyond chance, and which episodes flipped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from pytest_vla.episode import Cell, EpisodeKey
from pytest_vla.gate.comparisons import Scope, compare
from pytest_vla.gate.evidence import Bounds, GateError, holm
from pytest_vla.gate.judge import history_of
from pytest_vla.gate.rules import By, Group, Rules
from pytest_vla.gate.samples import Sample
from pytest_vla.registry import get_suite, takes_trust
from pytest_vla.run import Run, Tally, pair, replay_command, sum_by
from pytest_vla.run.gaps import gaps
from pytest_vla.suite import SuiteError

EQUAL = Bounds(0.0, 0.0)
POOLED: tuple[By, ...] = ("task", "partition", "suite")


@dataclass(frozen=True, slots=True)
class Difference:
    """One cell of a run against the same cell of the reference; the p-value is two-sided."""

    group: Group
    sample: Sample
    pvalue: float
    note: str


@dataclass(frozen=True, slots=True)
class Flip:
    """An episode that one run solved and the other did not."""

    episode: EpisodeKey
    lost: bool
    """Whether it was the first one that solved it."""
    reason: str
    """Why it is not solved in the other."""


def differences(reference: Run, run: Run) -> list[Difference]:
    """Every cell both runs have, and what pools them, tested on pairs where they share their episodes; corrected."""
    return corrected([_tested(reference, run)])[0]


def corrected(tests: Sequence[Sequence[Difference]]) -> list[list[Difference]]:
    """Holm's correction over all that is shown together: any star at all is by chance in 5% of the tables."""
    pvalues = iter(holm([difference.pvalue for found in tests for difference in found]))
    return [[replace(difference, pvalue=next(pvalues)) for difference in found] for found in tests]


def _tested(reference: Run, run: Run) -> list[Difference]:
    """Cells, and what pools several of them. Where a run could have ended at another moment, tested for any time."""
    shared = reference.once.tallies().keys() & run.once.tallies().keys()
    mine, theirs = (one.once.of_cells(lambda cell: cell in shared) for one in (run, reference))
    anytime = any(one.stopped_early or history_of(one) for one in (reference, run))
    scope = Scope(first=run.first_episode, anytime=anytime)
    shown = {*shared, *_pooled(dict.fromkeys(shared, Tally()))}
    found = []
    for level in POOLED:
        for comparison in compare(mine, Rules(by=level), scope, theirs):
            if comparison.group not in shown:
                continue
            evidence = comparison.sample.evidence(EQUAL, (0.05, 0.05), anytime)
            pvalue = min(1.0, 2 * min(evidence.passing, evidence.failing))
            early = "a run was stopped early or added to, tested for any time" if anytime else ""
            note = ", ".join(filter(None, (comparison.note, early)))
            found.append(Difference(comparison.group, comparison.sample, pvalue, note))
    return found


def _pooled(tallies: Mapping[Cell, Tally]) -> dict[Cell, Tally]:
    """Partitions over their tasks, and suites over their partitions, where there are several to pool."""
    by_partition = _several(tallies, lambda cell: cell._replace(task="*"))
    return by_partition | _several(tallies, lambda cell: cell._replace(task="*", partition="*"), by="partition")


def _several(
    tallies: Mapping[Cell, Tally], group: Callable[[Cell], Cell], by: Literal["task", "partition"] = "task"
) -> dict[Cell, Tally]:
    parts: dict[Cell, set[str]] = defaultdict(set)
    for cell in tallies:
        parts[group(cell)].add(getattr(cell, by))
    return {cell: tally for cell, tally in sum_by(tallies, group).items() if len(parts[cell]) > 1}


def flips(reference: Run, run: Run) -> list[Flip]:
    """Episodes that pair and have another outcome, those that were lost first."""
    pairs = pair(run.table, reference.table)
    found = []
    for place in (pairs.before != pairs.after).nonzero()[0].tolist():
        new, old = int(pairs.new_rows[place]), int(pairs.old_rows[place])
        lost = bool(pairs.before[place])
        table, row = (pairs.new, new) if lost else (pairs.old, old)
        found.append(Flip(pairs.new.key(new), lost, table.reasons[table.reason[row]]))
    return sorted(found, key=lambda flip: (not flip.lost, flip.episode.cell, flip.episode.index))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison: a cell, or several pooled, in every run, and each later run against the first."""

    group: Group
    tallies: tuple[Tally | None, ...]
    differences: tuple[Difference | None, ...]


def rows(runs: Sequence[Run], sort: str = "name") -> list[Row]:
    """Cells first, then what pools them; sorted by name, or by the last run's success or difference, worst first."""
    tests = corrected([_tested(runs[0], run) for run in runs[1:]])
    found = [{difference.group: difference for difference in differences} for differences in tests]
    tallies = [run.once.tallies() for run in runs]
    everywhere = set.intersection(*map(set, tallies))
    pooled = [_pooled({cell: counts[cell] for cell in sorted(everywhere)}) for counts in tallies]
    order = SORTS[sort]
    parts = []
    for counts in (tallies, pooled):
        cells = sorted(set(chain.from_iterable(counts)))
        made = [Row(cell, tuple(c.get(cell) for c in counts), tuple(d.get(cell) for d in found)) for cell in cells]
        parts += sorted(made, key=order)
    return parts


def _worst_rate(row: Row) -> float:
    last = row.tallies[-1]
    return 2.0 if last is None or last.rate is None else last.rate


def _worst_difference(row: Row) -> float:
    last = row.differences[-1]
    return 2.0 if last is None else last.sample.effect()


SORTS: Mapping[str, Callable[[Row], float]] = {
    "name": lambda row: 0.0,
    "success": _worst_rate,
    "difference": _worst_difference,
}


def describe(runs: Sequence[Run], names: Sequence[str], most_flips: int = 10, sort: str = "name") -> str:
    """The whole comparison as text; the first run is the reference of the others."""
    lines = [
        f"{letter} = {name}: policy {_policy(run)}" for letter, name, run in zip(_letters(), names, runs, strict=False)
    ]
    compared = _rows_of(runs, names, sort)
    tested = [difference for row in compared for difference in row.differences if difference is not None]
    lines += ["", *aligned(_header(len(runs)), [_texts(row) for row in compared])]
    lines += ["", *_notes(tested), *_explained(tested)]
    levels = _gap_rows(runs)
    if levels:
        lines += ["", "generalisation gap: a level's success minus that of its suite's first level, in points"]
        lines += aligned(("suite", "level", *_letters()[: len(runs)]), levels)
    for letter, name, run in list(zip(_letters(), names, runs, strict=False))[1:]:
        lines += ["", *_flip_lines(flips(runs[0], run), letter, {names[0]: runs[0], name: run}, most_flips)]
    return "\n".join(line.rstrip() for line in lines)


def to_dict(runs: Sequence[Run], names: Sequence[str], sort: str = "name") -> dict[str, Any]:
    """The same as data."""
    return {
        "runs": [{"name": name, "policy": run.policy.to_dict()} for name, run in zip(names, runs, strict=True)],
        "rows": [_row_data(row) for row in _rows_of(runs, names, sort)],
        "gaps": [
            {suite: [{"partition": gap.partition, "gap": gap.gap} for gap in levels] for suite, levels in each.items()}
            for each in (gaps(_in_order(run.once.tallies())) for run in runs)
        ],
        "flips": [
            [{"episode": str(flip.episode), "lost": flip.lost, "reason": flip.reason} for flip in flips(runs[0], run)]
            for run in runs[1:]
        ],
    }


def _rows_of(runs: Sequence[Run], names: Sequence[str], sort: str) -> list[Row]:
    try:
        return rows(runs, sort)
    except GateError as error:
        raise GateError(
            str(error).replace("the baseline", f"A ({names[0]})").replace("this run", "another one")
        ) from None


def _row_data(row: Row) -> dict[str, Any]:
    return {
        **row.group._asdict(),
        "runs": [None if tally is None else _counts(tally) for tally in row.tallies],
        "differences": [None if difference is None else _effect(difference) for difference in row.differences],
    }


def _counts(tally: Tally) -> dict[str, Any]:
    rate = {"success": tally.rate, "interval": tally.interval()}
    return {**rate, "solved": tally.solved, "measured": tally.measured, "errors": tally.errors}


def _effect(difference: Difference) -> dict[str, Any]:
    tested = {"difference": difference.sample.effect(), "interval": list(difference.sample.interval(0.95))}
    return {**tested, "p": difference.pvalue, "test": difference.sample.test, "note": difference.note}


def _texts(row: Row) -> tuple[str, ...]:
    shown = [
        _difference(difference) if difference is not None and tally is not None and tally.measured else "-"
        for difference, tally in zip(row.differences, row.tallies[1:], strict=True)
    ]
    return (str(row.group), *map(_rate, row.tallies), *shown)


def _explained(tested: Sequence[Difference]) -> list[str]:
    """What the numbers of the table mean."""
    if not tested:
        return []
    return [
        "differences in points, with 95% intervals. p: how often chance would show one at least as large if both were",
        f"equally good, corrected for all {len(tested)} that are shown (Holm); *: p <= 0.05. paired: on the same",
        "scenes; unpaired: on different ones. * instead of a name: all tasks, or all partitions, together",
    ]


def _difference(difference: Difference) -> str:
    low, high = difference.sample.interval(0.95)
    mark = "*" if difference.pvalue <= 0.05 else ""
    effect = 100 * difference.sample.effect()
    pvalue = f"p={difference.pvalue:.3f}" if difference.pvalue >= 0.0005 else "p<0.001"
    return f"{effect:+.1f} [{100 * low:+.0f}, {100 * high:+.0f}] {pvalue}{mark} {difference.sample.test}"


def _gap_rows(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """Per suite and later level, the gap in each run."""
    found = [_gaps(run) for run in runs]
    names = dict.fromkeys(chain.from_iterable(found))
    return [(*name, *(f"{100 * each[name]:+.1f}" if name in each else "-" for each in found)) for name in names]


def _gaps(run: Run) -> dict[tuple[str, str], float]:
    levels = gaps(_in_order(run.once.tallies())).items()
    return {(suite, level.partition): level.gap for suite, found in levels for level in found if level.gap is not None}


def _in_order(tallies: Mapping[Cell, Tally]) -> dict[Cell, Tally]:
    """Levels in the suites' own order where they are installed: they need not sort by name."""
    present: dict[str, set[str]] = defaultdict(set)
    for cell in tallies:
        present[cell.suite].add(cell.partition)
    order = {suite: _partitions(suite, partitions) for suite, partitions in present.items()}
    cells = sorted(tallies, key=lambda cell: (cell.suite, order[cell.suite].index(cell.partition)))
    return {cell: tallies[cell] for cell in cells}


def _partitions(suite: str, present: set[str]) -> list[str]:
    try:
        order = get_suite(suite).partitions()
    except SuiteError:
        order = []
    return [*(partition for partition in order if partition in present), *sorted(present - set(order))]


def _flip_lines(found: Sequence[Flip], letter: str, runs: Mapping[str, Run], most: int) -> list[str]:
    lost, gained = [flip for flip in found if flip.lost], [flip for flip in found if not flip.lost]
    lines = [f"flips from A to {letter}: {len(lost)} lost, {len(gained)} gained"]
    for title, group in (("lost", lost), ("gained", gained)):
        for flip in group[:most]:
            lines.append(f"  {title:6s} {flip.episode.cell} {flip.episode.index} ({flip.reason})")
            for name, run in runs.items():
                trust = takes_trust(flip.episode.suite, run.policy.builtin)
                lines.append(f"         {replay_command(name, flip.episode, trust)}")
        if len(group) > most:
            lines.append(f"  and {len(group) - most} more {title}: --flips={len(group)} shows all")
    return lines


def _notes(tested: Iterable[Difference]) -> list[str]:
    notes: dict[str, list[str]] = defaultdict(list)
    for difference in tested:
        if difference.note:
            notes[f"{difference.sample.test}: {difference.note}"].append(str(difference.group))
    return [f"{names[0] if len(names) == 1 else f'{len(names)} comparisons'}: {note}" for note, names in notes.items()]


def _rate(tally: Tally | None) -> str:
    if tally is None:
        return "-"
    rate, interval, measured, errors = tally.texts()
    return f"{rate} {interval} n={measured}" + (f" {errors}E" if errors else "")


def _header(runs: int) -> tuple[str, ...]:
    letters = _letters()[:runs]
    return ("suite/task/partition", *letters, *(f"{letter} - A" for letter in letters[1:]))


def _letters() -> list[str]:
    return [chr(ord("A") + place) for place in range(26)]


def _policy(run: Run) -> str:
    return f"{run.policy}, {len(run.once)} episodes"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text in columns, under a header and a line."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    text = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [header, *rows]]
    return [text[0], "─" * len(text[0]), *text[1:]]
