"""Which items a gated run takes, in which order: its shard, interleaved so that an early answer covers every task."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_vla.episode import EpisodeKey
from pytest_vla.gate.comparisons import Scope, count_comparisons
from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.questions import group_of
from pytest_vla.gate.rules import By, Rules
from pytest_vla.run import KeySet

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
    if total == 1:
        return [True] * len(keys)
    groups = {group: place for place, group in enumerate(dict.fromkeys(group_of(key.cell, by) for key in keys))}
    return [(groups[group_of(key.cell, by)] if early_stop else key.index) % total == number - 1 for key in keys]


def interleaved(keys: Sequence[EpisodeKey]) -> list[int]:
    """An order of the episodes that takes a block of every cell before the second block of any."""
    cells = {name: place for place, name in enumerate(dict.fromkeys(key.cell for key in keys))}
    places = range(len(keys))
    return sorted(places, key=lambda i: (keys[i].index // BLOCK, cells[keys[i].cell], keys[i].index, keys[i].repeat))


def make_scope(
    part: KeySet,
    whole: KeySet,
    rules: Rules,
    has_baseline: bool,
    first: int,
    early_stop: bool,
    has_anchor: bool = False,
) -> Scope:
    """What a gate over this part is about, with the number of comparisons of the whole."""
    total = count_comparisons(whole.cells(), rules, has_baseline, has_anchor)
    return Scope(part.counts(), first, total, early_stop)
