"""Many episode keys in little room: a plan of a million episodes is a few ranges of indices."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_vla.episode import Cell, EpisodeKey

Group = tuple[Cell, int]  # the cell, and which repeat
Ranges = tuple[tuple[int, int], ...]  # first index and one behind the last, ascending, never touching


class KeySet:
    """A set of keys that does not change; cells keep the order in which they first came."""

    def __init__(self, groups: Mapping[Group, Ranges] | None = None) -> None:
        self._groups = dict(groups or {})

    @classmethod
    def of(cls, keys: Iterable[EpisodeKey]) -> KeySet:
        indices: dict[Group, list[int]] = defaultdict(list)
        for key in keys:
            indices[(key.cell, key.repeat)].append(key.index)
        return cls({group: _ranges((index, index + 1) for index in found) for group, found in indices.items()})

    @classmethod
    def of_ranges(cls, groups: Mapping[Group, Iterable[tuple[int, int]]]) -> KeySet:
        """Episodes by first indices and those behind the last, in any order."""
        ranges = {group: _ranges(pairs) for group, pairs in groups.items()}
        return cls({group: found for group, found in ranges.items() if found})

    def __len__(self) -> int:
        return sum(end - start for ranges in self._groups.values() for start, end in ranges)

    def __contains__(self, key: EpisodeKey) -> bool:
        ranges = self._groups.get((key.cell, key.repeat), ())
        place = bisect_right(ranges, key.index, key=lambda pair: pair[0]) - 1
        return place >= 0 and key.index < ranges[place][1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeySet) and self._groups == other._groups

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._groups.items())))

    def __iter__(self) -> Iterator[EpisodeKey]:
        for (cell, repeat), ranges in self._groups.items():
            for start, end in ranges:
                for index in range(start, end):
                    yield EpisodeKey(*cell[:3], index, cell.perturbation, repeat=repeat)

    def __or__(self, other: KeySet) -> KeySet:
        groups = dict(self._groups)
        for group, ranges in other._groups.items():
            groups[group] = _ranges([*groups.get(group, ()), *ranges])
        return KeySet(groups)

    def __sub__(self, other: KeySet) -> KeySet:
        left = {group: _without(ranges, other._groups.get(group, ())) for group, ranges in self._groups.items()}
        return KeySet({group: ranges for group, ranges in left.items() if ranges})

    def counts(self) -> dict[Cell, int]:
        """Episodes per cell, each counted once however often it is repeated."""
        return {
            cell: sum(end - start for start, end in ranges)
            for (cell, repeat), ranges in self._groups.items()
            if not repeat
        }

    def cells(self) -> list[Cell]:
        return list(dict.fromkeys(cell for cell, _ in self._groups))

    def to_list(self) -> list[list[Any]]:
        """In built-in types: one row per cell and repeat."""
        return [[*cell, repeat, [list(pair) for pair in ranges]] for (cell, repeat), ranges in self._groups.items()]

    @classmethod
    def from_list(cls, rows: Any) -> KeySet:
        """The set again; ValueError for anything that `to_list` does not write."""
        groups: dict[Group, Ranges] = {}
        for row in rows if isinstance(rows, list) else [rows]:
            match row:
                case [str(suite), str(task), str(partition), str(perturbation), int(repeat), list(pairs)]:
                    groups[(Cell(suite, task, partition, perturbation), repeat)] = _ranges(map(_pair, pairs))
                case _:
                    raise ValueError(f"{row!r} does not name episodes")
        return cls(groups)


def _pair(data: Any) -> tuple[int, int]:
    match data:
        case [int(start), int(end)] if 0 <= start < end:
            return start, end
    raise ValueError(f"{data!r} is not a range of episodes")


def _ranges(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Overlapping and touching ranges joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(pairs):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


def _without(ranges: Ranges, taken: Ranges) -> Ranges:
    """Both are ascending, so one walk over them is enough."""
    left: list[tuple[int, int]] = []
    place = 0
    for start, end in ranges:
        while place < len(taken) and taken[place][1] <= start:
            place += 1
        here = place
        while start < end:
            taken_start, taken_end = taken[here] if here < len(taken) else (end, end)
            if start < min(taken_start, end):
                left.append((start, min(taken_start, end)))
            start, here = max(start, taken_end), here + 1
    return tuple(left)
