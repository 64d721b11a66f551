"""What a gate asks of which cells: one question per group of cells and per thing it is compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_vla.episode import Cell
from pytest_vla.gate.evidence import Bounds, GateError
from pytest_vla.gate.rules import By, Group, Rules

MANY_TASKS = 4  # of a partition: from here on a pooled answer and one per task say more than one per task alone
GUARDED_LOSS = 0.3  # under early stopping a task is left alone once it is proven not to have lost this much
THRESHOLD, BASELINE, ANCHOR = "threshold", "baseline", "anchor"


@dataclass(frozen=True, slots=True)
class Question:
    """One question about a group of cells; a `guard` can only fail the gate, and is not needed to pass."""

    group: Group
    cells: tuple[Cell, ...]
    bounds: Bounds
    against: str
    guard: bool = False


def group_of(cell: Cell, by: By) -> Group:
    """The comparison a cell belongs to; * where tasks or partitions are pooled."""
    return cell._replace(task=cell.task if by == "task" else "*", partition="*" if by == "suite" else cell.partition)


def questions(cells: Iterable[Cell], rules: Rules, references: Sequence[str] = ()) -> list[Question]:
    """Every question of the rules, and of what the run is compared with (BASELINE, ANCHOR)."""
    if rules.by == "two-level" and BASELINE not in references:
        raise GateError('by = "two-level" compares with a baseline: add --vla-baseline=RUN, or write by = "task"')
    cells = sorted(set(cells))
    by = {cell: level for level, found in _levels(cells, rules).items() for cell in found}
    asked: dict[Group, list[Question]] = {}
    for group, mine in _grouped(cells, dict.fromkeys(cells, rules.success_by)).items():
        bounds = rules.success_bounds(group)
        if bounds is not None:
            asked.setdefault(group, []).append(Question(group, mine, bounds, THRESHOLD))
    for reference in references:
        for group, mine in _grouped(cells, by).items():
            pooled = Question(group, mine, rules.baseline_bounds(), reference)
            asked.setdefault(group, []).append(pooled)
            if by[mine[0]] == "two-level" and reference == BASELINE:
                loss = Bounds(-max(GUARDED_LOSS, 3 * rules.margin), 0.0)
                for cell in mine:
                    asked.setdefault(cell, []).append(Question(cell, (cell,), loss, reference, guard=True))
    return [question for group in sorted(asked) for question in asked[group]]


def shard_by(cells: Iterable[Cell], rules: Rules, has_baseline: bool) -> By:
    """The coarsest groups that a run with early stopping must keep together."""
    if not has_baseline:
        return rules.success_by
    levels = _levels(sorted(set(cells)), rules)
    return next(by for by in ("suite", "partition", "two-level", "task") if by in levels or by == "task")


def _levels(cells: Sequence[Cell], rules: Rules) -> dict[By, list[Cell]]:
    """By what each cell is compared with a baseline."""
    if rules.by is not None:
        return {rules.by: list(cells)}
    tasks = Counter(group_of(cell, "partition") for cell in cells)
    levels: dict[By, list[Cell]] = {}
    for cell in cells:
        many = tasks[group_of(cell, "partition")] >= MANY_TASKS
        levels.setdefault("two-level" if many else "task", []).append(cell)
    return levels


def _grouped(cells: Iterable[Cell], by: dict[Cell, By]) -> dict[Group, tuple[Cell, ...]]:
    groups: dict[Group, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(group_of(cell, by[cell]), []).append(cell)
    return {group: tuple(mine) for group, mine in groups.items()}
