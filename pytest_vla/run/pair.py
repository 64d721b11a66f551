"""Two runs of the same episodes: which of them pair, and why the others do not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import Cell
from pytest_vla.run.record import Record
from pytest_vla.run.table import ERROR, UNKNOWN, Table, bits, made_with_of, place_of, scene_letter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Why(StrEnum):
    """Why an episode of one run has no partner in the other, the first that holds."""

    ONLY_NEW = "only in the new run"
    ONLY_OLD = "only in the old run"
    ERROR = "an error on one side"
    VERSION = "another version of the suite"
    UNSEEDED = "a suite that takes no seed"
    MADE_WITH = "made with another renderer or simulator"
    SCENE = "another scene"


_SHARED = (Why.ERROR, Why.VERSION, Why.UNSEEDED, Why.MADE_WITH, Why.SCENE)
_CODES = {why: code for code, why in enumerate(Why, start=1)}


@dataclass(frozen=True)
class Pairs:
    """The episodes that pair, in the order of the new run; rows are of `new` and `old`, which count each key once."""

    new: Table
    old: Table
    new_rows: NDArray[np.int64]
    old_rows: NDArray[np.int64]
    left_out: Counter[tuple[Cell, Why]]
    """How many episodes of each cell do not pair, and why."""
    new_codes: NDArray[np.int8]
    """For every row of `new` 0 where it pairs, else the place of the reason among `Why`, from 1."""

    def __len__(self) -> int:
        return len(self.new_rows)

    @property
    def before(self) -> NDArray[np.bool_]:
        return self.old.solved[self.old_rows]

    @property
    def after(self) -> NDArray[np.bool_]:
        return self.new.solved[self.new_rows]

    @property
    def gained(self) -> int:
        return int((self.after & ~self.before).sum())

    @property
    def lost(self) -> int:
        return int((self.before & ~self.after).sum())

    def flips(self) -> NDArray[np.int8]:
        """For every row of `new` 1 where it was gained, -1 where it was lost, else 0."""
        import numpy as np

        flips = np.zeros(len(self.new), dtype=np.int8)
        flips[self.new_rows] = self.after.astype(np.int8) - self.before.astype(np.int8)
        return flips

    def why_new(self, row: int) -> Why | None:
        """Why this row of `new` does not pair; None where it does."""
        code = int(self.new_codes[row])
        return list(Why)[code - 1] if code else None

    def why(self) -> Counter[Why]:
        """How many episodes do not pair, over all cells."""
        total: Counter[Why] = Counter()
        for (_, why), count in self.left_out.items():
            total[why] += count
        return total


def pair(new: Table, old: Table, *, scenes: bool = True, errors: bool = False) -> Pairs:
    """Pair two runs by key. Repeats stand aside; without `scenes` the start need not be the same (a perturbed one).

    With `errors` a pair with an error on either side is one too: a gate asks what it might have been.
    """
    import numpy as np

    new, old = new.once(), old.once()
    numbers = {cell: number for number, cell in enumerate(new.cells)}
    renumbered = np.array([numbers.get(cell, UNKNOWN) for cell in old.cells], dtype=np.int64)
    theirs = renumbered[old.cell] if len(old) else np.empty(0, np.int64)
    new_keys = (new.cell.astype(np.int64) << 40) | new.index
    old_keys = np.where(theirs < 0, -1 - np.arange(len(old)), (theirs << 40) | old.index)
    _, new_rows, old_rows = np.intersect1d(new_keys, old_keys, assume_unique=True, return_indices=True)
    codes = _codes(new, old, new_rows, old_rows, scenes)
    left_out: Counter[tuple[Cell, Why]] = Counter()
    new_codes = np.full(len(new), _CODES[Why.ONLY_NEW], dtype=np.int8)
    new_codes[new_rows] = codes
    for why in (Why.ONLY_NEW, *_SHARED):
        _count(left_out, why, new, np.flatnonzero(new_codes == _CODES[why]))
    _count(left_out, Why.ONLY_OLD, old, np.setdiff1d(np.arange(len(old)), old_rows, assume_unique=True))
    fits = (codes == 0) | (errors & (codes == _CODES[Why.ERROR]))
    order = np.argsort(new_rows[fits], kind="stable")
    return Pairs(new, old, new_rows[fits][order], old_rows[fits][order], left_out, new_codes)


class Partners:
    """The same one record at a time: what a run is compared with, ready for the next result."""

    def __init__(self, old: Table) -> None:
        old = old.once()
        self.table = old
        keys = zip(old.cell.tolist(), old.index.tolist(), strict=True)
        self._rows = {(old.cells[cell], index): row for row, (cell, index) in enumerate(keys)}

    def row(self, record: Record) -> int | None:
        """The row of the same key, if there is one."""
        return self._rows.get((record.cell, record.key.index))

    def why(self, record: Record, row: int) -> Why | None:
        """Why the record and this row do not pair; None where they do."""
        result, old = record.result, self.table
        source = old.sources[old.source[row]]
        if not record.measured or old.outcome[row] == ERROR:
            return Why.ERROR
        if source.version != record.key.version:
            return Why.VERSION
        made_with = made_with_of(result)
        if UNSEEDED in (*made_with, *source.made_with):
            return Why.UNSEEDED
        if made_differently(made_with, source.made_with):
            return Why.MADE_WITH
        letter, scene = place_of(scene_letter(result.initial_digest)), bits(result.initial_digest)
        by_letter = (old.letter[row] != UNKNOWN and old.scene[row] == 0) or (letter != UNKNOWN and scene == 0)
        differs = letter != old.letter[row] if by_letter else scene != old.scene[row]
        return Why.SCENE if differs else None


def control_pairs(table: Table, perturbation: str) -> Pairs:
    """The episodes of one perturbation as the new run, and the same episodes without any as the old one."""
    perturbed = table.of_cells(lambda cell: cell.perturbation == perturbation)
    control = table.of_cells(lambda cell: not cell.perturbation)
    return pair(perturbed.renamed(lambda cell: cell._replace(perturbation="")), control, scenes=False)


def _codes(new: Table, old: Table, mine: Any, theirs: Any, scenes: bool) -> NDArray[np.int8]:
    """0 where two rows pair, else why not; what is checked last is written first, so that the first reason stays."""
    import numpy as np

    codes = np.zeros(len(mine), dtype=np.int8)
    if not len(mine):
        return codes
    if scenes:
        by_letter = (old.letter[theirs] != UNKNOWN) & (old.scene[theirs] == 0)
        by_letter |= (new.letter[mine] != UNKNOWN) & (new.scene[mine] == 0)
        differs = np.where(by_letter, new.letter[mine] != old.letter[theirs], new.scene[mine] != old.scene[theirs])
        codes[differs] = _CODES[Why.SCENE]
    sources = list(dict.fromkeys([*new.sources, *old.sources]))
    versions = _numbered([source.version for source in sources])
    new_source = np.array([sources.index(source) for source in new.sources])[new.source[mine]]
    old_source = np.array([sources.index(source) for source in old.sources])[old.source[theirs]]
    differ = np.array([[bool(made_differently(a.made_with, b.made_with)) for b in sources] for a in sources])
    codes[differ[new_source, old_source]] = _CODES[Why.MADE_WITH]
    unseeded = np.array([UNSEEDED in source.made_with for source in sources])
    codes[unseeded[new_source] | unseeded[old_source]] = _CODES[Why.UNSEEDED]
    codes[versions[new_source] != versions[old_source]] = _CODES[Why.VERSION]
    codes[(new.outcome[mine] == ERROR) | (old.outcome[theirs] == ERROR)] = _CODES[Why.ERROR]
    return codes


#: what a suite says in its provenance that cannot be told which scene to make
UNSEEDED = ("seed", "none")

#: what a snapshot's table says of the renderer: nothing
UNSTATED = (("unstated", ""),)


#: what older run files do not say of the simulator: nothing
SIMULATOR = "simulator"

MadeWith = tuple[tuple[str, str], ...]


def made_differently(mine: MadeWith, theirs: MadeWith) -> dict[str, tuple[str, str]]:
    """What two episodes were made with that is not the same, each with both values; nothing where one does not say."""
    if UNSTATED in (mine, theirs):
        return {}
    one, other = dict(mine), dict(theirs)
    names = {*one, *other} - ({SIMULATOR} if SIMULATOR not in one or SIMULATOR not in other else set())
    both = {name: (one.get(name, "none"), other.get(name, "none")) for name in sorted(names)}
    return {name: values for name, values in both.items() if values[0] != values[1]}


def _numbered(values: list[Any]) -> Any:
    import numpy as np

    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return np.array([numbers[value] for value in values])


def _count(left_out: Counter[tuple[Cell, Why]], why: Why, table: Table, rows: Any) -> None:
    import numpy as np

    for number, count in enumerate(np.bincount(table.cell[rows], minlength=len(table.cells)).tolist()):
        if count:
            left_out[(table.cells[number], why)] += count
