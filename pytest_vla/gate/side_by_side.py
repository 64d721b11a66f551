"""`pytest-vla compare A B ...`: the runs side by side, what differs beyond chance, and which episodes flipped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from pytest_vla.episode import Cell, EpisodeKey
from pytest_vla.gate.comparisons import Scope, compare
from pytest_vla.gate.evidence import Bounds, GateError, holm
from pytest_vla.gate.judge import history_of
from pytest_vla.gate.rules import Group, Rules
from pytest_vla.gate.samples import Sample
from pytest_vla.run import Run, Tally, pair, replay_command
from pytest_vla.suite import SuiteError, get_suite, takes_trust

EQUAL = Bounds(0.0, 0.0)


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
    """Every cell both runs have, tested on pairs where they share their episodes; corrected for that many tests."""
    return corrected([_tested(reference, run)])[0]


def corrected(tests: Sequence[Sequence[Difference]]) -> list[list[Difference]]:
    """Holm's correction over all that is shown together: any star at all is by chance in 5% of the tables."""
    pvalues = iter(holm([difference.pvalue for found in tests for difference in found]))
    return [[replace(difference, pvalue=next(pvalues)) for difference in found] for found in tests]


def _tested(reference: Run, run: Run) -> list[Difference]:
    """Where either run could have ended at another moment the test is one for any time."""
    shared = reference.once.tallies().keys()
    mine = run.once.of_cells(lambda cell: cell in shared)
    anytime = any(one.stopped_early or history_of(one) for one in (reference, run))
    scope = Scope(first=int(run.options.get("first_episode") or 0), anytime=anytime)
    found = []
    for comparison in compare(mine, Rules(by="task"), scope, reference.once):
        evidence = comparison.sample.evidence(EQUAL, (0.05, 0.05), anytime)
        pvalue = min(1.0, 2 * min(evidence.passing, evidence.failing))
        early = "a run was stopped early or added to, tested for any time" if anytime else ""
        note = ", ".join(filter(None, (comparison.note, early)))
        found.append(Difference(comparison.group, comparison.sample, pvalue, note))
    return found


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


def describe(runs: Sequence[Run], names: Sequence[str], most_flips: int = 10) -> str:
    """The whole comparison as text; the first run is the reference of the others."""
    lines = [
        f"{letter} = {name}: policy {_policy(run)}" for letter, name, run in zip(_letters(), names, runs, strict=False)
    ]
    try:
        tests = corrected([_tested(runs[0], run) for run in runs[1:]])
    except GateError as error:
        raise GateError(
            str(error).replace("the baseline", f"A ({names[0]})").replace("this run", "another one")
        ) from None
    lines += ["", *_table(_header(len(runs)), [*_rows(runs, tests)])]
    lines += [""] + _notes(tests) if any(_notes(tests)) else []
    gaps = _gap_rows(runs)
    if gaps:
        lines += ["", "generalisation gap: success lost from a suite's first partition to each later one"]
        lines += _table(("suite", "partitions", *_letters()[: len(runs)]), gaps)
    for letter, name, run in list(zip(_letters(), names, runs, strict=False))[1:]:
        lines += ["", *_flip_lines(flips(runs[0], run), letter, {names[0]: runs[0], name: run}, most_flips)]
    return "\n".join(line.rstrip() for line in lines)


def _rows(runs: Sequence[Run], tests: Sequence[Sequence[Difference]]) -> Iterable[tuple[str, ...]]:
    tallies = [run.once.tallies() for run in runs]
    found = [{difference.group: difference for difference in differences} for differences in tests]
    for cell in sorted(set(chain.from_iterable(tallies))):
        texts = [_rate(tally.get(cell)) for tally in tallies]
        for number, by_group in enumerate(found):
            difference = by_group.get(cell)
            texts.append(_difference(difference) if difference and tallies[number + 1][cell].measured else "-")
        yield (str(cell), *texts)


def _difference(difference: Difference) -> str:
    low, high = difference.sample.interval(0.95)
    mark = "*" if difference.pvalue <= 0.05 else ""
    effect = 100 * difference.sample.effect()
    pvalue = f"p={difference.pvalue:.3f}" if difference.pvalue >= 0.0005 else "p<0.001"
    return f"{effect:+.1f} [{100 * low:+.0f}, {100 * high:+.0f}] {pvalue}{mark} {difference.sample.test}"


def _gap_rows(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """Per suite and later partition, what each run loses from the first; only tasks that have both count."""
    rows = []
    tallies = [run.once.tallies() for run in runs]
    suites = sorted({cell[0] for cells in tallies for cell in cells})
    for suite in suites:
        partitions = _partitions(suite, {cell[2] for cells in tallies for cell in cells if cell[0] == suite})
        for partition in partitions[1:]:
            gaps = [_gap(cells, suite, partitions[0], partition) for cells in tallies]
            if any(gap is not None for gap in gaps):
                texts = ["-" if gap is None else f"{100 * gap:+.1f}" for gap in gaps]
                rows.append((suite, f"{partitions[0]} - {partition}", *texts))
    return rows


def _gap(cells: dict[Cell, Tally], suite: str, first: str, other: str) -> float | None:
    """The mean over tasks of the first partition's rate minus the other's."""
    gaps = []
    for (name, task, partition, change), tally in cells.items():
        later = cells.get(Cell(name, task, other, change))
        wanted = name == suite and partition == first and not change
        if wanted and later is not None and tally.rate is not None and later.rate is not None:
            gaps.append(tally.rate - later.rate)
    return sum(gaps) / len(gaps) if gaps else None


def _partitions(suite: str, present: set[str]) -> list[str]:
    """In the suite's own order where it is installed: its levels need not sort by name."""
    try:
        order = get_suite(suite).partitions()
    except SuiteError:
        order = sorted(present)
    return [partition for partition in order if partition in present]


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


def _notes(tests: Iterable[Sequence[Difference]]) -> list[str]:
    notes: dict[str, list[str]] = defaultdict(list)
    for difference in chain.from_iterable(tests):
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


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    text = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [header, *rows]]
    return [text[0], "─" * len(text[0]), *text[1:]]
