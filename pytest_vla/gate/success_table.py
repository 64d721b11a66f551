"""A baseline a person can review: one line per task and partition, with one letter per episode.

`.` is solved, `u` unsolved, `E` an error. The letters under `scenes` tell the initial states apart, so that a later run
pairs with the table only where it starts from the same scenes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, takewhile

from pytest_vla.gate.comparisons import Cell, Record, cell_of, scene_letter
from pytest_vla.gate.verdict import GateError

TITLE = "pytest-vla baseline 1"
HEADER = ("suite/task/partition", "version", "solved", "of", "first", "episodes", "scenes")
LETTERS = {"solved": ".", "unsolved": "u", "error": "E"}
OUTCOMES = {letter: outcome for outcome, letter in LETTERS.items()}


def render_table(records: Iterable[Record]) -> str:
    """The table of a run's first repetition; a gap in a cell's episodes ends its line."""
    cells: dict[Cell, dict[int, Record]] = {}
    for record in records:
        if not record.get("repeat"):
            cells.setdefault(cell_of(record), {})[record["index"]] = record
    rows = [HEADER]
    for name, episodes in sorted(cells.items()):
        first = min(episodes)
        run = [episodes[index] for index in takewhile(episodes.__contains__, count(first))]
        letters = "".join(LETTERS[record["outcome"]] for record in run)
        measured = len(letters) - letters.count("E")
        scenes = "".join(map(scene_letter, run)) or "-"
        title = "/".join(filter(None, name))
        version = str(run[0].get("version", "1"))
        rows.append((title, version, str(letters.count(".")), str(measured), str(first), letters, scenes))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([TITLE, *lines]) + "\n"


def parse_table(text: str) -> list[Record]:
    """The episodes behind a table, as far as a gate needs them."""
    lines = text.splitlines()
    if not lines or lines[0] != TITLE:
        raise GateError(f"this is not a baseline table: its first line must be '{TITLE}'")
    records: list[Record] = []
    for number, line in enumerate(lines[2:], start=3):
        try:
            records += _parse_line(line)
        except (ValueError, KeyError):
            raise GateError(
                f"the baseline table is damaged in line {number}: {line!r}. Take an undamaged copy"
            ) from None
    if not any(record["outcome"] != "error" for record in records):
        raise GateError("the baseline table is empty: it has no measured episode. Make it again")
    return records


def _parse_line(line: str) -> list[Record]:
    title, version, solved, measured, first, letters, scenes = line.split()
    suite, task, partition, *change = title.split("/", 3)
    if letters.count(".") != int(solved) or len(letters) - letters.count("E") != int(measured):
        raise ValueError
    digests = [""] * len(letters) if scenes == "-" else list(scenes)
    return [
        {
            "type": "episode",
            "suite": suite,
            "task": task,
            "partition": partition,
            "perturbation": "".join(change),
            "version": version,
            "index": int(first) + place,
            "outcome": OUTCOMES[letter],
            "scene": digest,
        }
        for place, (letter, digest) in enumerate(zip(letters, digests, strict=True))
    ]
