"""Two runs side by side: the episodes they share, which of them flipped, and what that says per level."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_vla.gate.intervals import paired_interval
from pytest_vla.report.html.views import link
from pytest_vla.report.runfile import Key, Record, key_of
from pytest_vla.report.table import in_episode_order


@dataclass(frozen=True, slots=True)
class Paired:
    """One row: shared episodes, how many were gained and lost, and the difference with its interval."""

    name: str
    pairs: int
    gained: int
    lost: int
    both: int
    interval: tuple[float, float]
    links: tuple[str, str]

    @property
    def difference(self) -> float:
        return (self.gained - self.lost) / self.pairs if self.pairs else 0.0

    @property
    def before(self) -> float:
        return (self.both + self.lost) / self.pairs if self.pairs else 0.0

    @property
    def after(self) -> float:
        return (self.both + self.gained) / self.pairs if self.pairs else 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything the page says of two runs."""

    rows: list[Paired]
    total: Paired
    only_new: int
    only_old: int
    other_scenes: int
    """Shared keys whose scene was not the same: they do not pair."""


def compare_runs(new: Iterable[Record], old: Iterable[Record]) -> Comparison:
    """Pair two runs by episode; errors and changed scenes stand aside."""
    mine: dict[Key, Record] = {key_of(record): record for record in in_episode_order(new)}
    theirs: dict[Key, Record] = {key_of(record): record for record in old}
    groups: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    other_scenes = 0
    for key, record in mine.items():
        before = theirs.get(key)
        if before is None or "error" in (record["outcome"], before["outcome"]):
            continue
        if before.get("initial_digest") != record.get("initial_digest"):
            other_scenes += 1
            continue
        groups[(key[0], key[2])].append((before["outcome"] == "solved", record["outcome"] == "solved"))
    rows = [_paired(f"{suite} / {partition}", pairs, suite, partition) for (suite, partition), pairs in groups.items()]
    total = _paired("all", [pair for pairs in groups.values() for pair in pairs], "", "")
    return Comparison(rows, total, len(mine.keys() - theirs.keys()), len(theirs.keys() - mine.keys()), other_scenes)


def _paired(name: str, pairs: list[tuple[bool, bool]], suite: str, partition: str) -> Paired:
    gained = sum(after and not before for before, after in pairs)
    lost = sum(before and not after for before, after in pairs)
    return Paired(
        name,
        len(pairs),
        gained,
        lost,
        sum(before and after for before, after in pairs),
        paired_interval(gained, lost, len(pairs)),
        (link(suite=suite, partition=partition, flip="gained"), link(suite=suite, partition=partition, flip="lost")),
    )
