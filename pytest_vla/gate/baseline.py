"""A baseline: a run file, or a reviewed table with one line per task and partition and one letter per episode.

In the table `.` is solved, `u` unsolved, `E` an error. The letters under `scenes` tell the initial states apart, so
that a later run pairs with the table only where it starts from the same scenes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path

from pytest_vla.episode import EpisodeKey, Outcome, Result
from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.questions import ANCHOR, BASELINE
from pytest_vla.run import Record, RunFileError, Table, read_run, run_path
from pytest_vla.run.pair import UNSTATED
from pytest_vla.run.table import ERROR, OUTCOMES, SCENE_LETTERS, UNKNOWN, TableBuilder

SNAPSHOT_SUFFIX = ".baseline"
TITLE = "pytest-vla baseline 1"
HEADER = ("suite/task/partition", "version", "solved", "of", "first", "episodes", "scenes")
LETTERS: dict[str, str] = {"solved": ".", "unsolved": "u", "error": "E"}
REASONS: dict[str, tuple[Outcome, str | None]] = {
    ".": ("solved", None),
    "u": ("unsolved", "step_limit"),
    "E": ("error", "env_error"),
}


@dataclass(frozen=True)
class Reference:
    """What a run is compared with."""

    table: Table
    stopped_early: bool = False
    """Whether its own results decided how many episodes it has: only a test for any time is fair to both then."""


def read_references(baseline: str | Path | None, anchor: str | Path | None = None) -> dict[str, Reference]:
    """What was given of BASELINE and ANCHOR, by name."""
    given = {BASELINE: baseline, ANCHOR: anchor}
    return {name: read_reference(run, name) for name, run in given.items() if run is not None}


def read_baseline(run: str | Path) -> Table:
    """The episodes of a baseline."""
    return read_reference(run).table


def read_reference(run: str | Path, name: str = BASELINE) -> Reference:
    """A baseline, or an anchor; an empty, damaged or unfinished one is an error that says what to do."""
    path = run_path(run)
    if path.suffix == SNAPSHOT_SUFFIX:
        try:
            return Reference(parse_table(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise GateError(f"cannot read the {name} '{path}': {error}") from None
    try:
        baseline = read_run(path)
    except RunFileError as error:
        raise GateError(f"the {name} cannot be used: {error}") from None
    if baseline.damaged:
        number, problem = baseline.damaged[0]
        raise GateError(
            f"the {name} '{path}' is damaged: {len(baseline.damaged)} of its lines cannot be read, the first is "
            f"line {number} ({problem}). Make it again, or take an undamaged copy"
        )
    if not len(baseline.table.measured()):
        raise GateError(f"the {name} '{path}' is empty: it has no measured episode. Make it again")
    complete = baseline.completeness(gated=False)
    if not complete.finished:
        raise GateError(
            f"the {name} '{path}' was not finished ({complete.done} of {complete.planned} episodes): add --vla-resume"
        )
    return Reference(baseline.once, baseline.stopped_early)


def render_table(table: Table) -> str:
    """The table of a run's first repetition; a gap in a cell's episodes ends its line."""
    table = table.once()
    table = table.arranged(sorted(table.cells))
    rows = [HEADER]
    for number, cell in enumerate(table.cells):
        mine = table.where(table.cell == number)
        if not len(mine):
            continue
        first = int(mine.index[0])
        length = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(mine.index.tolist(), count(first))))
        letters = "".join(LETTERS[OUTCOMES[outcome]] for outcome in mine.outcome[:length].tolist())
        scenes = "".join("" if letter == UNKNOWN else SCENE_LETTERS[letter] for letter in mine.letter[:length].tolist())
        measured = len(letters) - letters.count("E")
        version = mine.sources[mine.source[0]].version
        title = "/".join(filter(None, cell))
        rows.append((title, version, str(letters.count(".")), str(measured), str(first), letters, scenes or "-"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([TITLE, *lines]) + "\n"


def parse_table(text: str) -> Table:
    """The episodes behind a table, as far as a gate needs them."""
    lines = text.splitlines()
    if not lines or lines[0] != TITLE:
        raise GateError(f"this is not a baseline table: its first line must be '{TITLE}'")
    builder = TableBuilder()
    for number, line in enumerate(lines[2:], start=3):
        try:
            _parse_line(line, builder)
        except (ValueError, KeyError):
            raise GateError(
                f"the baseline table is damaged in line {number}: {line!r}. Take an undamaged copy"
            ) from None
    table = builder.table()
    if not (table.outcome != ERROR).any():
        raise GateError("the baseline table is empty: it has no measured episode. Make it again")
    return table


def _parse_line(line: str, builder: TableBuilder) -> None:
    title, version, solved, measured, first, letters, scenes = line.split()
    suite, task, partition, *change = title.split("/", 3)
    if letters.count(".") != int(solved) or len(letters) - letters.count("E") != int(measured):
        raise ValueError
    shown = [""] * len(letters) if scenes == "-" else list(scenes)
    for place, (letter, scene) in enumerate(zip(letters, shown, strict=True)):
        key = EpisodeKey(suite, task, partition, int(first) + place, "".join(change), version)
        outcome, reason = REASONS[letter]
        builder.add(Record(Result(key, outcome, reason, made_with=dict(UNSTATED))), place, letter=scene)
