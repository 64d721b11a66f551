"""From run records to comparisons: which episodes answer which question, in which order, and whether they pair."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_vla.gate.rules import By, Group, Rules
from pytest_vla.gate.samples import PairedSample, RateSample, Sample, UnpairedSample
from pytest_vla.gate.verdict import Bounds, GateError

Record = Mapping[str, Any]
Cell = tuple[str, str, str, str]
SCENE_LETTERS = "0123456789abcdefghijklmnopqrstuv"
LEAST_SHARED = 0.5  # of the new episodes: below this, pairs would throw away more than they gain


@dataclass(frozen=True, slots=True)
class Comparison:
    """One question to one group of episodes; `note` says what a reader must know about how it was asked."""

    group: Group
    bounds: Bounds
    sample: Sample
    note: str = ""


@dataclass(frozen=True)
class Plan:
    """What a run set out to do: episodes per cell from index `first`, and how many comparisons its gate makes in all.

    A shard has its own cells but the comparisons of the whole: the error rates are those of the union.
    """

    cells: Mapping[Cell, int] = field(default_factory=dict)
    first: int = 0
    comparisons: int = 0
    early_stop: bool = False


def cell_of(record: Record) -> Cell:
    return (record["suite"], record["task"], record["partition"], record.get("perturbation") or "")


def group_of(cell: Cell, by: By) -> Group:
    """The comparison a cell belongs to."""
    suite, task, partition, perturbation = cell
    return (suite, "*" if by != "task" else task, "*" if by == "suite" else partition, perturbation)


def group_name(group: Group) -> str:
    """`suite/task/partition perturbation`, with * where tasks or partitions are pooled."""
    return " ".join(filter(None, ("/".join(group[:3]), group[3])))


def compare(
    records: Iterable[Record], rules: Rules, plan: Plan, baseline: Iterable[Record] | None = None
) -> list[Comparison]:
    """Every question of the rules (and of the baseline) with the episodes that answer it."""
    new = _by_group(records, rules.by, plan.cells)
    old = _by_group(baseline, rules.by, {}) if baseline is not None else None
    comparisons = []
    for group, mine in new.items():
        ordered = list(_in_order(mine, plan))
        bounds = rules.success_bounds(group)
        if bounds is not None:
            comparisons.append(Comparison(group, bounds, RateSample(tuple(map(_solved, filter(_measured, ordered))))))
        if old is not None:
            sample, note = _against(ordered, old.get(group, {}))
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


Episodes = dict[Cell, dict[int, Record]]


def _by_group(records: Iterable[Record], by: By, planned: Iterable[Cell]) -> dict[Group, Episodes]:
    """Records by group, cell and index, planned cells included; a repeated episode is not a second one."""
    cells: Episodes = {cell: {} for cell in planned}
    for record in records:
        if not record.get("repeat"):
            cells.setdefault(cell_of(record), {})[record["index"]] = record
    groups: dict[Group, Episodes] = defaultdict(dict)
    for cell in sorted(cells):
        groups[group_of(cell, by)][cell] = cells[cell]
    return groups


def _in_order(cells: Episodes, plan: Plan) -> Iterator[Record]:
    """Episodes by index over all cells; under early stopping only as far as no earlier one is missing."""
    if not plan.early_stop:
        for index in sorted({index for episodes in cells.values() for index in episodes}):
            yield from (episodes[index] for episodes in cells.values() if index in episodes)
        return
    index = plan.first
    while True:
        wanted = [cell for cell in cells if index < plan.first + plan.cells.get(cell, index + 1)]
        if not wanted or any(index not in cells[cell] for cell in wanted):
            return
        yield from (cells[cell][index] for cell in wanted)
        index += 1


def _against(new: Sequence[Record], old: Episodes) -> tuple[Sample, str]:
    """Pairs where the two runs share their episodes, independent outcomes where they do not, and why."""
    if not old:
        return PairedSample(()), "not in the baseline"
    flat = [episodes[index] for episodes in old.values() for index in sorted(episodes)]
    check_versions(*({record["suite"]: str(record.get("version")) for record in run} for run in (flat, new)))
    mine = [record for record in new if _measured(record)]
    unpaired = UnpairedSample(tuple(map(_solved, filter(_measured, flat))), tuple(map(_solved, mine)))
    shared = [
        (old[cell_of(record)][record["index"]], record)
        for record in new
        if record["index"] in old.get(cell_of(record), {})
    ]
    # An episode that was lost on the way has neither a scene nor a renderer to compare.
    both = [(before, after) for before, after in shared if _measured(before) and _measured(after)]
    if any("scene" not in before and before.get("made_with") != after.get("made_with") for before, after in both):
        return unpaired, "the baseline was made with another renderer"
    changed = sum(not _same_scene(before, after) for before, after in both)
    if changed:
        return unpaired, f"{changed} of {len(shared)} scenes differ from the baseline's"
    if new and len(shared) < LEAST_SHARED * len(new):
        return unpaired, f"only {len(shared)} of {len(new)} episodes are in the baseline"
    pairs = [(_solved(before), _solved(after)) for before, after in both]
    note = f"{len(new) - len(shared)} episodes are not in the baseline" if len(shared) < len(new) else ""
    return PairedSample(tuple(pairs)), note


def scene_letter(record: Record) -> str:
    """One letter for the state an episode started from, as a baseline table shows it; none without a digest."""
    if "scene" in record:
        return str(record["scene"])
    digest = str(record.get("initial_digest") or "")
    return SCENE_LETTERS[hashlib.blake2b(digest.encode(), digest_size=1).digest()[0] % 32] if digest else ""


def _same_scene(old: Record, new: Record) -> bool:
    if "scene" in old:  # from a table
        return bool(old["scene"] == scene_letter(new))
    return str(old.get("initial_digest") or "") == str(new.get("initial_digest") or "")


def _measured(record: Record) -> bool:
    return bool(record["outcome"] != "error")


def _solved(record: Record) -> bool:
    return bool(record["outcome"] == "solved")
