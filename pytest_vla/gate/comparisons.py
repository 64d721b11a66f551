"""From the episodes of a run to comparisons: which answer which question, in which order, and on pairs or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import Cell
from pytest_vla.gate.evidence import Bounds, GateError
from pytest_vla.gate.rules import By, Group, Rules
from pytest_vla.gate.samples import PairedSample, RateSample, Sample, UnpairedSample
from pytest_vla.run import Table, Why, pair

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_SHARED = 0.5  # of the new episodes: below this, pairs would throw away more than they gain


@dataclass(frozen=True, slots=True)
class Comparison:
    """One question to one group of episodes; `note` says what a reader must know about how it was asked."""

    group: Group
    bounds: Bounds
    sample: Sample
    note: str = ""


@dataclass(frozen=True)
class Scope:
    """What a gate is about: episodes per cell from index `first`, and how many comparisons it makes in all.

    A shard has its own cells but the comparisons of the whole: the error rates are those of the union.
    """

    cells: Mapping[Cell, int] = field(default_factory=dict)
    first: int = 0
    comparisons: int = 0
    early_stop: bool = False
    unfinished: bool = False

    @property
    def prefix(self) -> bool:
        """Whether episodes count only where none is missing before them: solved ones end, and so arrive, first."""
        return self.early_stop or self.unfinished

    def to_dict(self) -> dict[str, Any]:
        """In built-in types, for the run file and for the way from a worker to the controller."""
        cells = [[*cell, count] for cell, count in self.cells.items()]
        return {"cells": cells, "first": self.first, "comparisons": self.comparisons, "early_stop": self.early_stop}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scope:
        cells = {Cell(suite, task, partition, change): count for suite, task, partition, change, count in data["cells"]}
        return cls(cells, data["first"], data["comparisons"], data["early_stop"])


def group_of(cell: Cell, by: By) -> Group:
    """The comparison a cell belongs to; * where tasks or partitions are pooled."""
    return cell._replace(task=cell.task if by == "task" else "*", partition="*" if by == "suite" else cell.partition)


def compare(table: Table, rules: Rules, scope: Scope, baseline: Table | None = None) -> list[Comparison]:
    """Every question of the rules (and of the baseline) with the episodes that answer it."""
    new = _by_group(table.once(), rules.by, scope.cells)
    old = _by_group(baseline.once(), rules.by, ()) if baseline is not None else None
    comparisons = []
    for group, (mine, cells) in new.items():
        ordered = _in_order(mine, cells, scope)
        bounds = rules.success_bounds(group)
        if bounds is not None:
            comparisons.append(Comparison(group, bounds, RateSample(_outcomes(ordered.measured()))))
        if old is not None:
            sample, note = _against(ordered, old[group][0] if group in old else None)
            comparisons.append(Comparison(group, rules.baseline_bounds(), sample, note))
    return comparisons


def count_comparisons(cells: Iterable[Cell], rules: Rules, has_baseline: bool) -> int:
    """How many comparisons `compare` makes of a run with these cells."""
    groups = dict.fromkeys(group_of(cell, rules.by) for cell in cells)
    return sum((rules.success_bounds(group) is not None) + has_baseline for group in groups)


def check_versions(old: Mapping[str, str], new: Mapping[str, str]) -> None:
    """Refuse a baseline that was made with another version of a suite: its rates are answers to other questions."""
    for suite, version in new.items():
        if old.get(suite, version) != version:
            raise GateError(
                f"the baseline was made with version {old[suite]} of suite '{suite}', this run with {version}: "
                "their rates do not compare. Make a new baseline with this version"
            )


def versions_of(table: Table) -> dict[str, str]:
    """The version of each suite that a run was made with."""
    pairs = {*zip(table.cell.tolist(), table.source.tolist(), strict=True)}
    return {table.cells[cell].suite: table.sources[source].version for cell, source in sorted(pairs)}


def _by_group(table: Table, by: By, planned: Iterable[Cell]) -> dict[Group, tuple[Table, list[Cell]]]:
    """The rows of each group, by index over all its cells, and the cells: also those that are planned and have none."""
    import numpy as np

    cells = sorted({*planned, *table.tallies()})
    table = table.arranged(cells)
    groups: dict[Group, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(group_of(cell, by), []).append(cell)
    names = list(groups)
    group_numbers = np.array([names.index(group_of(cell, by)) if cell in cells else -1 for cell in table.cells])
    numbers = group_numbers[table.cell] if len(table) else np.empty(0, np.int64)
    order = np.lexsort((table.cell, table.index, numbers))
    borders = np.searchsorted(numbers[order], np.arange(len(names) + 1))
    return {
        group: (table.where(order[borders[number] : borders[number + 1]]), groups[group])
        for number, group in enumerate(names)
    }


def _in_order(table: Table, cells: Sequence[Cell], scope: Scope) -> Table:
    """Rows by index over all cells; with `prefix` only rounds before which no planned episode is missing."""
    if not scope.prefix:
        return table
    import numpy as np

    ends = []
    for cell in cells:
        number = table.cells.index(cell) if cell in table.cells else -1
        indices = table.index[(table.cell == number) & (table.index >= scope.first)]
        gaps = np.flatnonzero(indices != scope.first + np.arange(len(indices)))
        known = scope.first + (int(gaps[0]) if gaps.size else len(indices))
        if cell not in scope.cells or known < scope.first + scope.cells[cell]:
            ends.append(known)
    rows = table.index >= scope.first
    return table.where(rows & (table.index < min(ends)) if ends else rows)


def _against(new: Table, old: Table | None) -> tuple[Sample, str]:
    """Pairs where the two runs share their episodes, independent outcomes where they do not, and why."""
    if old is None:
        return PairedSample(()), "not in the baseline"
    check_versions(versions_of(old), versions_of(new))
    unpaired = UnpairedSample(_outcomes(old.measured()), _outcomes(new.measured()))
    pairs = pair(new, old)
    why = pairs.why()
    shared = len(new) - why[Why.ONLY_NEW]
    if why[Why.MADE_WITH]:
        return unpaired, "the baseline was made with another renderer"
    if why[Why.SCENE]:
        return unpaired, f"{why[Why.SCENE]} of {shared} scenes differ from the baseline's"
    if len(new) and shared < LEAST_SHARED * len(new):
        return unpaired, f"only {shared} of {len(new)} episodes are in the baseline"
    note = f"{len(new) - shared} episodes are not in the baseline" if shared < len(new) else ""
    return PairedSample(tuple(zip(_bools(pairs.before), _bools(pairs.after), strict=True))), note


def _outcomes(table: Table) -> tuple[bool, ...]:
    return _bools(table.solved)


def _bools(column: NDArray[np.bool_]) -> tuple[bool, ...]:
    return tuple(column.tolist())
