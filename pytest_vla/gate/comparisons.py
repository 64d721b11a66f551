"""From the episodes of a run to comparisons: which answer which question, in which order, and on pairs or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import Cell
from pytest_vla.gate.evidence import Bounds, GateError
from pytest_vla.gate.questions import ANCHOR, BASELINE, THRESHOLD, questions
from pytest_vla.gate.rules import Group, Rules
from pytest_vla.gate.samples import Outcome, PairedSample, RateSample, Sample, UnpairedSample
from pytest_vla.run import Pairs, Table, Why, pair
from pytest_vla.run.pair import made_differently
from pytest_vla.run.table import ERROR, SOLVED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_SHARED = 0.5  # of the new episodes: below this, pairs would throw away more than they gain
#: Errors that have nothing to do with the policy. Of any other the gate assumes the worst.
INDEPENDENT = ("worker_lost",)
#: One that has nothing to do with it where the other policy ran into it in the same episode.
REPRODUCIBLE = "env_error"
OUTCOMES: tuple[Outcome, ...] = (False, True, None)
DOUBT, LEFT_OUT = 2, 3  # places behind solved and unsolved: an error that may be either, and one that is not counted


@dataclass(frozen=True, slots=True)
class Comparison:
    """One question to one group of episodes; `note` says what a reader must know about how it was asked."""

    group: Group
    bounds: Bounds
    sample: Sample
    note: str = ""
    against: str = THRESHOLD
    guard: bool = False
    """Whether it can only fail the gate, and is not needed to pass."""


@dataclass(frozen=True)
class Scope:
    """What a gate is about: episodes per cell from index `first`, and how many comparisons it makes in all.

    A shard has its own cells but the comparisons of the whole: the error rates are those of the union.
    """

    cells: Mapping[Cell, int] = field(default_factory=dict)
    first: int = 0
    comparisons: int = 0
    early_stop: bool = False
    anytime: bool = False
    """Whether somebody could have stopped at another moment, or may still go on."""

    @property
    def prefix(self) -> bool:
        """Whether episodes count only where none is missing before them: solved ones end, and so arrive, first."""
        return self.early_stop or self.anytime

    def to_dict(self) -> dict[str, Any]:
        """In built-in types, for the run file and for the way from a worker to the controller."""
        cells = [[*cell, count] for cell, count in self.cells.items()]
        return {"cells": cells, "first": self.first, "comparisons": self.comparisons, "early_stop": self.early_stop}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scope:
        cells = {Cell(suite, task, partition, change): count for suite, task, partition, change, count in data["cells"]}
        return cls(cells, data["first"], data["comparisons"], data["early_stop"])


def compare(
    table: Table, rules: Rules, scope: Scope, baseline: Table | None = None, anchor: Table | None = None
) -> list[Comparison]:
    """Every question of the rules (and of the baseline, and of the anchor) with the episodes that answer it."""
    references = {name: found for name, found in ((BASELINE, baseline), (ANCHOR, anchor)) if found is not None}
    new = _ByCell(table.once(), scope)
    old = {name: _ByCell(found.once()) for name, found in references.items()}
    comparisons = []
    sample: Sample
    for question in questions({*scope.cells, *new.rows}, rules, list(references)):
        if question.against == THRESHOLD:
            sample, note = _rate_sample(new, question.cells, scope), ""
        else:
            sample, note = _against(new, old[question.against], question.cells, scope)
        comparisons.append(Comparison(question.group, question.bounds, sample, note, question.against, question.guard))
    return comparisons


def count_comparisons(cells: Iterable[Cell], rules: Rules, has_baseline: bool, has_anchor: bool = False) -> int:
    """How many comparisons `compare` makes of a run with these cells."""
    return len(questions(cells, rules, references(has_baseline, has_anchor))) + len(rules.metrics)


def references(has_baseline: bool, has_anchor: bool) -> list[str]:
    return [name for name, has in ((BASELINE, has_baseline), (ANCHOR, has_anchor)) if has]


def check_versions(old: Mapping[str, str], new: Mapping[str, str]) -> None:
    """Refuse a baseline that was made with another version of a suite: its rates are answers to other questions."""
    if old and new and not old.keys() & new.keys():
        theirs, mine = (", ".join(f"'{name}'" for name in sorted(suites)) for suites in (old, new))
        raise GateError(f"the baseline has episodes of suite {theirs} and this run of {mine}: nothing can be compared")
    for suite, version in new.items():
        if old.get(suite, version) != version:
            raise GateError(
                f"the baseline was made with version {old[suite]} of suite '{suite}', this run with {version}: "
                "their rates do not compare. Make a new baseline with this version"
            )


def versions_of(table: Table) -> dict[str, str]:
    """The version of each suite that a run was made with."""
    return {suite: versions[-1] for suite, versions in table.versions().items()}


def error_code(reason: str | None) -> int:
    """How a gate counts an error: DOUBT or LEFT_OUT."""
    return LEFT_OUT if reason in INDEPENDENT else DOUBT


def outcome_codes(table: Table) -> NDArray[np.int8]:
    """How a gate counts each row: a place in OUTCOMES, or LEFT_OUT.

    An episode that was solved after the policy had failed to answer is in doubt too: another try undoes no fault.
    """
    import numpy as np

    errors = np.array([*map(error_code, table.reasons), DOUBT], dtype=np.int8)[table.reason]
    codes: NDArray[np.int8] = np.where(table.outcome == ERROR, errors, table.outcome).astype(np.int8)
    codes[table.faulted & (table.outcome == SOLVED)] = DOUBT
    return codes


def planned_share(cells: Iterable[Cell], scope: Scope, old: Mapping[Cell, Sequence[int]]) -> tuple[int, int] | None:
    """How many of the planned episodes a baseline has, by its indices; None where the plan is not known."""
    if not all(cell in scope.cells for cell in cells):
        return None
    planned = {cell: range(scope.first, scope.first + scope.cells[cell]) for cell in cells}
    shared = sum(index in planned[cell] for cell in cells for index in old.get(cell, ()))
    return shared, sum(map(len, planned.values()))


class _ByCell:
    """The rows of a table by cell and index; with a scope that asks for it, only those before which none is missing."""

    def __init__(self, table: Table, scope: Scope | None = None) -> None:
        import numpy as np

        self.table = table.arranged(sorted(table.cells))
        borders = np.searchsorted(self.table.cell, np.arange(len(self.table.cells) + 1))
        self.rows: dict[Cell, NDArray[np.int64]] = {}
        for number, cell in enumerate(self.table.cells):
            rows = np.arange(borders[number], borders[number + 1])
            if scope is not None and scope.prefix:
                rows = rows[self.table.index[rows] >= scope.first]
                gaps = np.flatnonzero(self.table.index[rows] != scope.first + np.arange(len(rows)))
                rows = rows[: gaps[0]] if gaps.size else rows
            if len(rows) or borders[number] < borders[number + 1]:
                self.rows[cell] = rows
        self.codes = outcome_codes(self.table)

    def of(self, cells: Iterable[Cell]) -> Table:
        import numpy as np

        rows = [self.rows[cell] for cell in cells if cell in self.rows]
        return self.table.where(np.concatenate([np.empty(0, np.int64), *rows]))

    def outcomes(self, cell: Cell) -> list[Outcome]:
        codes = self.codes[self.rows[cell]] if cell in self.rows else self.codes[:0]
        return [OUTCOMES[code] for code in codes[codes != LEFT_OUT].tolist()]


def _rate_sample(new: _ByCell, cells: Sequence[Cell], scope: Scope) -> RateSample:
    return RateSample(*_joined([new.outcomes(cell) for cell in cells], balanced=scope.prefix))


def _joined(tasks: Sequence[Sequence[Any]], balanced: bool) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Task after task, and their sizes where there are several; `balanced` keeps complete rounds only."""
    if balanced:
        rounds = min(map(len, tasks))
        tasks = [task[:rounds] for task in tasks]
    sizes = tuple(map(len, tasks)) if len(tasks) > 1 else ()
    return tuple(outcome for task in tasks for outcome in task), sizes


def _against(new: _ByCell, old: _ByCell, cells: Sequence[Cell], scope: Scope) -> tuple[Sample, str]:
    """Pairs where the two runs share their episodes, independent outcomes where they do not, and why."""
    unknown = [cell for cell in cells if cell not in old.rows]
    if unknown:
        tasks = "" if len(cells) == 1 else f": {', '.join(cell.task for cell in unknown)}"
        return PairedSample(()), f"not in the baseline{tasks}"
    mine, theirs = new.of(cells), old.of(cells)
    check_versions(versions_of(theirs), versions_of(mine))
    pairs = pair(mine, theirs, errors=True)
    why = pairs.why()
    present = len(mine) - why[Why.ONLY_NEW]
    indices = {cell: old.table.index[old.rows[cell]].tolist() for cell in cells}
    shared, total = planned_share(cells, scope, indices) or (present, len(mine))
    reason = ""
    if why[Why.UNSEEDED]:
        reason = "the suite takes no seed: no two episodes are the same"
    elif why[Why.MADE_WITH]:
        reason = _made_with(mine, theirs)
    elif why[Why.SCENE]:
        reason = f"{why[Why.SCENE]} of {present} scenes differ from the baseline's"
    elif total and shared < LEAST_SHARED * total:
        reason = f"only {shared} of {total} episodes are in the baseline"
    if reason:
        before = _joined([old.outcomes(cell) for cell in cells], balanced=len(cells) > 1)
        after = _joined([new.outcomes(cell) for cell in cells], balanced=scope.prefix or len(cells) > 1)
        return UnpairedSample(before[0], after[0], before[1], after[1]), reason
    note = f"{len(mine) - present} episodes are not in the baseline" if present < len(mine) else ""
    return PairedSample(*_pairs(pairs, cells, scope)), note


def _made_with(mine: Table, theirs: Table) -> str:
    """Which renderer or simulator each run was made with, where they differ."""
    for new in mine.sources:
        for old in theirs.sources:
            for what, (ours, before) in made_differently(new.made_with, old.made_with).items():
                return f"the baseline was made with {what} {before}, this run with {ours}"
    return "the baseline was made with another renderer or simulator"


def _pairs(pairs: Pairs, cells: Sequence[Cell], scope: Scope) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """(baseline, new) of each task, without what an error that is not the policy's has spoiled."""
    mine, theirs = pairs.new.where(pairs.new_rows), pairs.old.where(pairs.old_rows)
    after, before = outcome_codes(mine), outcome_codes(theirs)
    counted = (after != LEFT_OUT) & (before != LEFT_OUT) & ~(_reproducible(mine) & _reproducible(theirs))
    tasks: dict[Cell, list[tuple[Outcome, Outcome]]] = {cell: [] for cell in cells}
    for cell, old, new in zip(*(column[counted].tolist() for column in (mine.cell, before, after)), strict=True):
        tasks[mine.cells[cell]].append((OUTCOMES[old], OUTCOMES[new]))
    return _joined(list(tasks.values()), balanced=scope.prefix)


def _reproducible(table: Table) -> NDArray[np.bool_]:
    import numpy as np

    found: NDArray[np.bool_] = np.array([*(reason == REPRODUCIBLE for reason in table.reasons), False])[table.reason]
    return found
