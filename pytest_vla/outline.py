"""Which items a session has, in which order, without making them: a plan of a million episodes is a few stretches.

Every xdist worker would otherwise make every item before its first episode, and send every node id to the controller.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from pytest_vla.episode import Cell, EpisodeKey
from pytest_vla.run import KeySet, Unrun

Variant = tuple[str, int]  # a perturbation, and which repeat
_MARK = "vla-stretch "  # what the text of a stretch begins with, which no node id does


@dataclass(frozen=True, slots=True)
class Stretch:
    """Episodes of one cell and one benchmark function that follow each other; each index in all its variants."""

    function: str
    """The node id without parameters."""
    suite: str
    version: str
    task: str
    partition: str
    indices: range
    variants: tuple[Variant, ...] = (("", 0),)

    def __len__(self) -> int:
        return len(self.indices) * len(self.variants)

    def key(self, place: int) -> EpisodeKey:
        perturbation, repeat = self.variants[place % len(self.variants)]
        index = self.indices[place // len(self.variants)]
        return EpisodeKey(self.suite, self.task, self.partition, index, perturbation, self.version, repeat)

    def episodes(self) -> Iterator[EpisodeKey]:
        return map(self.key, range(len(self)))

    def nodeid(self, place: int) -> str:
        return f"{self.function}[{self.key(place).id}]"

    def to_text(self) -> str:
        ends = [self.indices.start, self.indices.stop, self.indices.step]
        place = [self.function, self.suite, self.version, self.task, self.partition]
        return _MARK + json.dumps([*place, ends, self.variants])

    @classmethod
    def from_text(cls, text: str) -> Stretch | None:
        """The stretch that a worker wrote; None for a node id."""
        if not text.startswith(_MARK):
            return None
        function, suite, version, task, partition, ends, variants = json.loads(text.removeprefix(_MARK))
        named = tuple((str(perturbation), int(repeat)) for perturbation, repeat in variants)
        return cls(function, suite, version, task, partition, range(*ends), named)


class Outline:
    """All items of a session by their place: stretches of episodes, and node ids of whatever else there is."""

    def __init__(self, entries: Iterable[Stretch | str]) -> None:
        self.entries = list(entries)
        self._ends = list(accumulate(1 if isinstance(entry, str) else len(entry) for entry in self.entries))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outline) and self.entries == other.entries

    __hash__ = None  # type: ignore[assignment]

    def find(self, place: int) -> tuple[int, int]:
        """The number of the entry that has the item at this place, and the item's place in that entry."""
        if not 0 <= place < len(self):
            raise IndexError(place)
        number = bisect_right(self._ends, place)
        return number, place - (self._ends[number - 1] if number else 0)

    def nodeid(self, place: int) -> str:
        number, inside = self.find(place)
        entry = self.entries[number]
        return entry if isinstance(entry, str) else entry.nodeid(inside)

    def key(self, place: int) -> EpisodeKey | None:
        """The episode at this place; None where another sort of item is."""
        number, inside = self.find(place)
        entry = self.entries[number]
        return None if isinstance(entry, str) else entry.key(inside)

    def place(self, nodeid: str) -> int | None:
        """The way back, for the few that are asked for."""
        for number, entry in enumerate(self.entries):
            before = self._ends[number - 1] if number else 0
            if entry == nodeid:
                return before
            if isinstance(entry, Stretch) and nodeid.startswith(f"{entry.function}["):
                found = next((inside for inside in range(len(entry)) if entry.nodeid(inside) == nodeid), None)
                if found is not None:
                    return before + found
        return None

    def to_ids(self) -> list[str]:
        return [entry if isinstance(entry, str) else entry.to_text() for entry in self.entries]

    @classmethod
    def from_ids(cls, ids: Sequence[str]) -> Outline:
        return cls(Stretch.from_text(text) or text for text in ids)


@dataclass(frozen=True)
class Wanted:
    """The episodes of one benchmark function, cell by cell."""

    suite: str
    version: str
    cells: Sequence[tuple[str, str]] = ()
    indices: range = range(0)
    variants: tuple[Variant, ...] = (("", 0),)

    def stretches(self, function: str = "") -> Iterator[Stretch]:
        if self.indices and self.variants:
            for task, partition in self.cells:
                yield Stretch(function, self.suite, self.version, task, partition, self.indices, self.variants)

    def episodes(self) -> list[EpisodeKey]:
        return [key for stretch in self.stretches() for key in stretch.episodes()]


def keys_of(stretches: Iterable[Stretch]) -> KeySet:
    """All of their episodes."""
    groups: dict[tuple[Cell, int], list[tuple[int, int]]] = {}
    for each in stretches:
        for perturbation, repeat in each.variants:
            cell = Cell(each.suite, each.task, each.partition, perturbation)
            groups.setdefault((cell, repeat), []).extend(_pairs(each.indices))
    return KeySet.of_ranges(groups)


def without(stretches: Iterable[Stretch], done: KeySet) -> Iterator[Stretch]:
    """What is left of them."""
    cells = {*done.cells()}
    for each in stretches:
        if cells.isdisjoint(Cell(each.suite, each.task, each.partition, name) for name, _ in each.variants):
            yield each
        else:
            yield from joined(each.function, (key for key in each.episodes() if key not in done))


def in_turn(stretches: Iterable[Stretch], number: int, total: int) -> Iterator[Stretch]:
    """Of each stretch the episodes whose index is `number` modulo `total`."""
    for each in stretches:
        if each.indices.step != 1:
            yield from joined(each.function, (key for key in each.episodes() if key.index % total == number))
            continue
        first = each.indices.start + (number - each.indices.start) % total
        mine = range(first, each.indices.stop, total)
        if mine:
            yield replace(each, indices=mine)


def joined(function: str, keys: Iterable[EpisodeKey]) -> Iterator[Stretch]:
    """Episodes one by one as stretches again."""
    run: _Run | None = None
    for key in keys:
        if run is None or not run.take(key):
            if run is not None:
                yield run.stretch(function)
            run = _Run(key)
    if run is not None:
        yield run.stretch(function)


def regrouped(episodes: Iterable[tuple[str, EpisodeKey]]) -> list[Stretch]:
    """Episodes with their functions as stretches again, in this order."""
    found: list[Stretch] = []
    run: list[EpisodeKey] = []
    owner = ""
    for function, key in episodes:
        if function != owner:
            found += joined(owner, run)
            owner, run = function, []
        run.append(key)
    return [*found, *joined(owner, run)]


@dataclass
class _Run:
    """Episodes of one variant that are equally far apart."""

    first: EpisodeKey
    step: int = 0
    count: int = 1
    cell: Cell = field(init=False)

    def __post_init__(self) -> None:
        self.cell = self.first.cell

    def take(self, key: EpisodeKey) -> bool:
        distance = key.index - self.first.index - self.step * (self.count - 1)
        if distance <= 0 or key.repeat != self.first.repeat or key.cell != self.cell or distance != self.step != 0:
            return False
        self.step = distance
        self.count += 1
        return True

    def stretch(self, function: str) -> Stretch:
        key, step = self.first, max(self.step, 1)
        indices = range(key.index, key.index + (self.count - 1) * step + 1, step)
        variants = ((key.perturbation, key.repeat),)
        return Stretch(function, key.suite, key.version, key.task, key.partition, indices, variants)


def thinned(
    stretches: Iterable[Stretch], reason: Callable[[EpisodeKey], str | None], by_task: Callable[[str], bool]
) -> tuple[list[Stretch], list[Unrun]]:
    """Of what cannot run here for one reason one episode stays, which is skipped and says it; what others would run.

    `by_task` says of a suite whether all episodes of a task have the same reason.
    """
    kept: list[Stretch] = []
    absent: dict[str, list[Stretch]] = {}
    for each in stretches:
        parts = [each] if by_task(each.suite) else joined(each.function, each.episodes())
        for part in parts if by_task(each.suite) else _alike(parts, reason):
            why = reason(part.key(0))
            if why is None:
                kept.append(part)
                continue
            first, *others = joined(part.function, part.episodes()) if why not in absent else (None, part)
            if first is not None:
                kept.append(replace(first, indices=first.indices[:1]))
                others = [replace(first, indices=first.indices[1:]), *others]
            absent.setdefault(why, []).extend(other for other in others if len(other))
    return kept, [Unrun("unavailable", why, keys_of(found)) for why, found in absent.items() if found]


def _alike(stretches: Iterable[Stretch], reason: Callable[[EpisodeKey], str | None]) -> Iterator[Stretch]:
    """The same episodes, cut where the reason changes."""
    for each in stretches:
        reasons = [reason(key) for key in each.episodes()]
        cuts = [0, *(i for i in range(1, len(reasons)) if reasons[i] != reasons[i - 1]), len(reasons)]
        for start, end in pairwise(cuts):
            yield replace(each, indices=each.indices[start:end])


def _pairs(indices: range) -> Iterator[tuple[int, int]]:
    if indices.step == 1:
        yield indices.start, indices.stop
    else:
        yield from ((index, index + 1) for index in indices)


class Gone(list[int]):
    """Says, in place of the items that a worker gives back, that it is no more."""

    def __init__(self, error: object) -> None:
        super().__init__()
        self.error = error
