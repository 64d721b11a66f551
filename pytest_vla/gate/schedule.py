"""Which items a gated run takes, in which order: its shard, interleaved so that an early answer covers every task."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pytest_vla.episode import EpisodeKey
from pytest_vla.gate.comparisons import Cell, Plan, count_comparisons, group_of
from pytest_vla.gate.rules import By, Rules
from pytest_vla.gate.evidence import GateError

BLOCK = 10  # consecutive episodes of a cell before the next cell's: about what a first answer takes


def read_shard(text: str | None) -> tuple[int, int]:
    """`2/4` as (2, 4)."""
    if text is None:
        return (1, 1)
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise GateError(f"--vla-shard must be I/N with I from 1 to N, such as 1/4, got {text!r}")
    return int(match[1]), int(match[2])


def in_shard(keys: Sequence[EpisodeKey], shard: tuple[int, int], early_stop: bool, by: By) -> list[bool]:
    """For each episode whether this shard runs it.

    Every n-th episode of each task; under early stopping whole comparisons, since those need their episodes in order.
    """
    number, total = shard
    groups = {group: place for place, group in enumerate(dict.fromkeys(group_of(cell(key), by) for key in keys))}
    return [(groups[group_of(cell(key), by)] if early_stop else key.index) % total == number - 1 for key in keys]


def interleaved(keys: Sequence[EpisodeKey]) -> list[int]:
    """An order of the episodes that takes a block of every cell before the second block of any."""
    cells = {name: place for place, name in enumerate(dict.fromkeys(map(cell, keys)))}
    places = range(len(keys))
    return sorted(places, key=lambda i: (keys[i].index // BLOCK, cells[cell(keys[i])], keys[i].index, keys[i].repeat))


def make_plan(
    run: Iterable[EpisodeKey],
    everything: Iterable[EpisodeKey],
    rules: Rules,
    has_baseline: bool,
    first: int,
    early_stop: bool,
) -> Plan:
    """The plan of what this process runs, with the number of comparisons of everything that was asked for."""
    counts = Counter(cell(key) for key in run if not key.repeat)
    total = count_comparisons(dict.fromkeys(map(cell, everything)), rules, has_baseline)
    return Plan(dict(counts), first, total, early_stop)


def plan_to_dict(plan: Plan) -> dict[str, Any]:
    """The plan in built-in types, for the run file and for the way from a worker to the controller."""
    cells = [[*name, count] for name, count in plan.cells.items()]
    return {"cells": cells, "first": plan.first, "comparisons": plan.comparisons, "early_stop": plan.early_stop}


def plan_from_dict(data: dict[str, Any]) -> Plan:
    cells = {(suite, task, partition, change): count for suite, task, partition, change, count in data["cells"]}
    return Plan(cells, data["first"], data["comparisons"], data["early_stop"])


def cell(key: EpisodeKey) -> Cell:
    return (key.suite, key.task, key.partition, key.perturbation)
