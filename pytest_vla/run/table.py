"""The episodes of a run by column: all that is ever counted, at some fifty bytes an episode."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pytest_vla.episode import Cell, EpisodeKey, Result
from pytest_vla.run.keys import KeySet
from pytest_vla.run.record import Record
from pytest_vla.run.tally import Tally

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[Any]

G = TypeVar("G", bound=Hashable)

OUTCOMES = ("unsolved", "solved", "error")
UNSOLVED, SOLVED, ERROR = range(3)
SCENE_LETTERS = "0123456789abcdefghijklmnopqrstuv"
UNKNOWN = -1
#: What a suite's provenance says under this name is shown beside every table and on the page.
NOT_COMPARABLE = "not comparable"
#: Errors that are the policy's own until shown otherwise: measuring the episode again does not undo the first of them.
FAULTS = ("timeout", "policy_error")


class Source(NamedTuple):
    """What two episodes of one key must have in common to be the same: the suite's version and what it drew with."""

    version: str
    made_with: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """One row per key. Rows are sorted by cell, index and repeat, so every order of results gives the same table."""

    cells: tuple[Cell, ...]
    sources: tuple[Source, ...]
    reasons: tuple[str, ...]
    cell: Column
    index: Column
    repeat: Column
    outcome: Column
    reason: Column
    source: Column
    scene: Column
    """64 bits of the digest of the state the episode started from; 0 where there is none."""
    letter: Column
    """The same as a snapshot's table shows it: a place in SCENE_LETTERS, or UNKNOWN."""
    digest: Column
    """The same of all states it went through."""
    objected: Column
    faulted: Column
    """Whether the policy timed out or broke down in this episode before it was measured."""
    seconds: Column
    place: Column
    """Where the line begins in the file, or the record's number in what the table was made of."""

    @classmethod
    def of(cls, records: Iterable[Record]) -> Table:
        """The table of records in memory; of a key that comes twice the last one counts."""
        builder = TableBuilder()
        for number, record in enumerate(records):
            builder.add(record, number)
        return builder.table()

    def __len__(self) -> int:
        return len(self.cell)

    def where(self, rows: Column) -> Table:
        """The rows of a mask, or of numbers."""
        return replace(self, **{name: getattr(self, name)[rows] for name in COLUMNS})

    def once(self) -> Table:
        """Every episode once: the same one repeated is no second measurement."""
        return self.where(self.repeat == 0)

    def of_cells(self, wanted: Callable[[Cell], bool]) -> Table:
        """The rows whose cell is wanted."""
        import numpy as np

        chosen = np.array([wanted(cell) for cell in self.cells], dtype=bool)
        return self.where(chosen[self.cell]) if len(self) else self

    def measured(self) -> Table:
        return self.where(self.outcome != ERROR)

    @property
    def solved(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.outcome == SOLVED
        return found

    def tally(self) -> Tally:
        """All rows in one; whoever wants episodes counted once says `once()` first."""
        import numpy as np

        unsolved, solved, errors = np.bincount(self.outcome, minlength=3).tolist()
        return Tally(solved, solved + unsolved, errors)

    def error_count(self) -> int:
        """Episodes that ended in an error, in whichever of their repeats."""
        import numpy as np

        errors = self.outcome == ERROR
        return len(np.unique(np.stack([self.cell[errors], self.index[errors]]), axis=1).T) if errors.any() else 0

    def tallies(self) -> dict[Cell, Tally]:
        """One tally per cell that has rows, in the order of the cells."""
        import numpy as np

        counts = np.bincount(self.cell.astype(np.int64) * 3 + self.outcome, minlength=3 * len(self.cells))
        return {
            cell: Tally(solved, solved + unsolved, errors)
            for cell, (unsolved, solved, errors) in zip(self.cells, counts.reshape(-1, 3).tolist(), strict=True)
            if unsolved or solved or errors
        }

    def reason_counts(self, outcome: str) -> Counter[str]:
        """How often each reason ended an episode so, the most common first."""
        import numpy as np

        found = self.reason[self.outcome == OUTCOMES.index(outcome)]
        counts = np.bincount(found, minlength=len(self.reasons)).tolist()
        counted = {reason: count for reason, count in zip(self.reasons, counts, strict=True) if count}
        return Counter(dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))))

    def versions(self) -> dict[str, list[str]]:
        """The versions of every suite that has rows; more than one only in a file that was put together by hand."""
        import numpy as np

        found: dict[str, list[str]] = {}
        for pair in np.unique(self.cell.astype(np.int64) * len(self.sources) + self.source).tolist():
            cell, source = divmod(pair, len(self.sources))
            known = found.setdefault(self.cells[cell].suite, [])
            if self.sources[source].version not in known:
                known.append(self.sources[source].version)
        return found

    def incomparable(self) -> dict[str, list[str]]:
        """Why results of a suite are not those of the published benchmark, where a suite says so of its data."""
        import numpy as np

        found: dict[str, list[str]] = {}
        for pair in np.unique(self.cell.astype(np.int64) * len(self.sources) + self.source).tolist():
            cell, source = divmod(pair, len(self.sources))
            remark = dict(self.sources[source].made_with).get(NOT_COMPARABLE)
            if remark and remark not in found.setdefault(self.cells[cell].suite, []):
                found[self.cells[cell].suite].append(remark)
        return {suite: remarks for suite, remarks in found.items() if remarks}

    def of_version(self, version: str) -> Table:
        import numpy as np

        wanted = np.array([source.version == version for source in self.sources], dtype=bool)
        return self.where(wanted[self.source]) if len(self) else self

    def renamed(self, name: Callable[[Cell], Cell]) -> Table:
        """The same rows under other cells; those that get one name are one cell."""
        import numpy as np

        names = [name(cell) for cell in self.cells]
        numbers = {cell: number for number, cell in enumerate(dict.fromkeys(names))}
        renumbered = np.array([numbers[cell] for cell in names], dtype=self.cell.dtype)
        return replace(self, cells=tuple(numbers), cell=renumbered[self.cell])

    def arranged(self, order: Sequence[Cell]) -> Table:
        """The same rows with the cells in this order, those that it does not have after them by name."""
        import numpy as np

        known = {cell: number for number, cell in enumerate(order)}
        cells = sorted(self.cells, key=lambda cell: (known.get(cell, len(known)), cell))
        numbers = {cell: number for number, cell in enumerate(cells)}
        renumbered = np.array([numbers[cell] for cell in self.cells], dtype=self.cell.dtype)
        table = replace(self, cells=tuple(cells), cell=renumbered[self.cell] if len(self) else self.cell)
        return table.where(np.lexsort((table.repeat, table.index, table.cell)))

    def key(self, row: int) -> EpisodeKey:
        cell, source = self.cells[self.cell[row]], self.sources[self.source[row]]
        suite, task, partition, perturbation = cell
        index, repeat = int(self.index[row]), int(self.repeat[row])
        return EpisodeKey(suite, task, partition, index, perturbation, source.version, repeat)

    def keys(self) -> KeySet:
        """All keys, as ranges."""
        import numpy as np

        if not len(self):
            return KeySet()
        order = np.lexsort((self.index, self.repeat, self.cell))
        cell, repeat, index = self.cell[order], self.repeat[order], self.index[order]
        breaks = (np.diff(cell) != 0) | (np.diff(repeat) != 0) | (np.diff(index) > 1)
        starts = np.flatnonzero(np.r_[True, breaks])
        ends = np.r_[starts[1:], len(index)] - 1
        groups: dict[tuple[Cell, int], list[tuple[int, int]]] = {}
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            group = (self.cells[cell[start]], int(repeat[start]))
            groups.setdefault(group, []).append((int(index[start]), int(index[end]) + 1))
        return KeySet({group: tuple(ranges) for group, ranges in groups.items()})


COLUMNS = tuple(field.name for field in fields(Table) if field.name not in ("cells", "sources", "reasons"))


class TableBuilder:
    """Takes records one by one and forgets them."""

    def __init__(self) -> None:
        self._cells: dict[Cell, int] = {}
        self._sources: dict[Source, int] = {}
        self._reasons: dict[str, int] = {}
        self._columns: dict[str, array[Any]] = {
            **{name: array("q") for name in ("cell", "index", "repeat", "outcome", "reason", "source", "letter")},
            **{name: array("q") for name in ("objected", "place")},
            **{name: array("Q") for name in ("scene", "digest")},
            "seconds": array("d"),
        }

    def add(self, record: Record, place: int, letter: str | None = None) -> None:
        """`letter` is all that a snapshot's table knows of the scene."""
        result, key = record.result, record.result.episode
        source = Source(key.version, made_with_of(result))
        digest = result.initial_digest
        shown = scene_letter(digest) if letter is None else letter
        row = {
            "cell": self._cells.setdefault(key.cell, len(self._cells)),
            "index": key.index,
            "repeat": key.repeat,
            "outcome": OUTCOMES.index(result.outcome),
            "reason": self._reasons.setdefault(result.reason or "", len(self._reasons)),
            "source": self._sources.setdefault(source, len(self._sources)),
            "scene": bits(digest),
            "digest": bits(result.digest),
            "letter": place_of(shown),
            "objected": record.objected,
            "seconds": result.seconds,
            "place": place,
        }
        for name, column in self._columns.items():
            column.append(row[name])

    def table(self, order: Sequence[Cell] = ()) -> Table:
        """What was added, each key once (its last line), cells in this order and then by name."""
        import numpy as np

        kinds: dict[str, Any] = {
            "cell": np.int32,
            "repeat": np.int32,
            "outcome": np.int8,
            "reason": np.int16,
            "source": np.int32,
        }
        kinds |= {"letter": np.int8, "objected": np.bool_}
        columns = {
            name: np.frombuffer(column, dtype=column.typecode).astype(kinds.get(name, column.typecode))
            for name, column in self._columns.items()
        }
        columns["faulted"] = np.zeros(len(columns["cell"]), dtype=np.bool_)
        everything = Table(tuple(self._cells), tuple(self._sources), tuple(self._reasons), **columns).arranged(order)
        if len(everything) < 2:
            return everything
        same = (np.diff(everything.cell) == 0) & (np.diff(everything.index) == 0) & (np.diff(everything.repeat) == 0)
        if not same.any():
            return everything
        last = np.r_[~same, True]  # the sort is stable: of equal keys the last line comes last
        fault = np.array([reason in FAULTS for reason in everything.reasons], dtype=bool)[everything.reason]
        starts = np.flatnonzero(np.r_[True, ~same])
        faulted = np.logical_or.reduceat(fault & (everything.outcome == ERROR) & ~last, starts)
        return replace(everything.where(last), faulted=faulted)


def made_with_of(result: Result) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((str(name), str(value)) for name, value in result.made_with.items()))


def place_of(letter: str) -> int:
    return SCENE_LETTERS.index(letter) if letter else UNKNOWN


def bits(digest: str) -> int:
    return int.from_bytes(hashlib.blake2b(digest.encode(), digest_size=8).digest()) if digest else 0


def scene_letter(initial_digest: str) -> str:
    """One letter for the state an episode started from; none without a digest."""
    if not initial_digest:
        return ""
    return SCENE_LETTERS[hashlib.blake2b(initial_digest.encode(), digest_size=1).digest()[0] % 32]


def sum_by(tallies: Mapping[Cell, Tally], group: Callable[[Cell], G]) -> dict[G, Tally]:
    """Tallies of cells added up by what `group` says of each, in order of first appearance."""
    summed: dict[G, Tally] = {}
    for cell, tally in tallies.items():
        name = group(cell)
        summed[name] = summed.get(name, Tally()) + tally
    return summed
