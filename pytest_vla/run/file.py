"""The run file as read back: JSON lines, provenance first, then one per episode. All that comes later reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_vla.episode import Cell, EpisodeKey
from pytest_vla.run.harmless import harmless, is_suspect
from pytest_vla.run.hunts import HuntRecord, HuntStart
from pytest_vla.run.identity import Identity
from pytest_vla.run.keys import KeySet
from pytest_vla.run.names import EpisodeName
from pytest_vla.run.places import run_path
from pytest_vla.run.plan import Completeness, Plan, Unrun
from pytest_vla.run.record import Record, key_from_list, key_to_list
from pytest_vla.run.table import ERROR, Table, TableBuilder

Line = dict[str, Any]


class RunFileError(Exception):
    """A run file cannot be read, written, resumed or merged."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of one of our items that no episode's outcome explains, such as a fixture that cannot be torn down."""

    nodeid: str
    when: str
    message: str
    item: EpisodeKey | None = None

    def to_record(self) -> Line:
        item = {} if self.item is None else {"item": key_to_list(self.item)}
        return {"type": "failure", "nodeid": self.nodeid, "when": self.when, "message": self.message, **item}

    @classmethod
    def from_record(cls, line: Line) -> Failure:
        item = key_from_list(line["item"]) if "item" in line else None
        return cls(str(line["nodeid"]), str(line["when"]), str(line["message"]), item)


@dataclass(frozen=True)
class Run:
    """A run file as read back. What is counted is in memory, by column; whole records are read when asked for."""

    path: Path
    provenance: Line
    table: Table
    items: KeySet = field(default_factory=KeySet)
    """The planned keys that have a record."""
    error_items: KeySet = field(default_factory=KeySet)
    """Those of them that have an error."""
    plan: Plan | None = None
    ended: bool = False
    unrun: tuple[Unrun, ...] = ()
    hunts: tuple[HuntRecord, ...] = ()
    """Those that ended."""
    hunt_starts: tuple[HuntStart, ...] = ()
    failures: tuple[Failure, ...] = ()
    probe_places: tuple[int, ...] = ()
    spent: Mapping[str, float] = field(default_factory=dict)
    """Seconds of all episodes (`episode`) and of their phases, such as `act`: what was run twice took time twice."""
    lines: tuple[Line, ...] = ()
    """Lines of other rooms, such as `gate`, `verdict`, `inference` and `end`."""
    looks: int = 0
    """Verdicts that were given before the last of its episodes: whoever saw them could decide to go on."""
    damaged: tuple[tuple[int, str], ...] = ()

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def once(self) -> Table:
        """What rates are made of: every episode once."""
        return self.table.once()

    @property
    def policy(self) -> Identity:
        return Identity.from_provenance(self.provenance)

    @property
    def leaked(self) -> list[str]:
        """Tasks of this run that its policy was trained on although they count as unseen, as SUITE/TASK."""
        return [*dict.fromkeys(str(task) for line in self.of_type("leaked") for task in line["tasks"])]

    @property
    def options(self) -> Line:
        options = self.provenance.get("options")
        return options if isinstance(options, dict) else {}

    @property
    def first_episode(self) -> int:
        """The index that its episodes begin at; 0 where its options say nothing that could be one."""
        first = self.options.get("first_episode")
        return first if isinstance(first, int) and 0 <= first < 1 << 31 else 0

    @property
    def merged(self) -> bool:
        return "merged" in self.provenance

    @property
    def stopped_early(self) -> bool:
        """Whether its own results decided how many episodes it has."""
        return any(excuse.why in ("decided", "budget") for excuse in self.unrun)

    @property
    def objections(self) -> int:
        """Tests that failed for reasons of their own: no rate shows them, and no gate may pass over them."""
        return int(self.table.objected.sum()) + len(self.failures)

    def of_type(self, kind: str) -> list[Line]:
        return [line for line in self.lines if line["type"] == kind]

    def completeness(self, *, gated: bool) -> Completeness:
        """How much of its plan the run has done.

        A shard by itself owes its part. Judged, or merged, a run owes the whole, and a suite that could not run leaves
        it unfinished.
        """
        if self.plan is None or (self.plan.count is not None and not len(self.plan.part)):
            planned = len(self) if self.ended or self.plan is None else max(self.plan.count or 0, len(self))
            unknown = 0 if self.ended else 1  # an older file: only its last line says that it was finished
            return Completeness(max(planned, len(self) + unknown), len(self))
        wanted = self.plan.whole if gated or self.merged else self.plan.part
        missing, hunts = wanted - self.items, self.plan.hunts - {hunt.name for hunt in self.hunts}
        for excuse in self.unrun:
            if excuse.why != "unavailable" or not gated:
                missing, hunts = missing - excuse.keys, hunts - excuse.hunts
        return Completeness(len(wanted), len(wanted) - len(missing), missing, tuple(sorted(hunts)))

    # --- single records ----------------------------------------------------------------------------------------------

    def records(self, rows: Iterable[int] | None = None) -> Iterator[Record]:
        """The records of these rows of `table`, or of all, read one by one in the order of the table."""
        places = self.table.place if rows is None else [self.table.place[row] for row in rows]
        yield from self._read(map(int, places))

    def records_of(self, table: Table) -> Iterator[Record]:
        """The records of a part of this run, in its order."""
        yield from self._read(map(int, table.place))

    def probes(self) -> Iterator[Record]:
        """The episodes hunts asked for, in the order in which they ended."""
        yield from self._read(self.probe_places)

    def find(self, text: str) -> Record | None:
        """The episode or probe that a node id, SUITE/ID or ID names; RunFileError where it names several."""
        name = EpisodeName.parse(text)
        if name is None:
            return None
        table = self.table
        rows = (table.index == name.index) & (table.repeat == name.repeat)
        found = [row for row in rows.nonzero()[0].tolist() if name.names(table.key(row))]
        records = list(self.records(found)) or [record for record in self.probes() if name.names(record.key)]
        exact = [record for record in records if record.nodeid == text]
        if len({record.key.suite for record in exact or records}) > 1:
            raise RunFileError(f"{text!r} names episodes of several suites: write SUITE/ID")
        return next(iter(exact or records), None)

    def _read(self, places: Iterable[int]) -> Iterator[Record]:
        try:
            with self.path.open("rb") as file:
                for place in places:
                    file.seek(place)
                    yield Record.from_record(parse_line(file.readline()))
        except (OSError, ValueError) as error:
            raise RunFileError(f"the run file '{self.path}' has changed while it was read: {error}") from error


def read_run(run: Path | str, order: Iterable[Cell] = ()) -> Run:
    """Read a run file, line by line; damaged lines are listed with their numbers, the rest is used.

    Rows come in the order of the plan, and cells that it does not name by name; `order` goes before both.
    """
    path = run_path(run)
    reader = _Reader()
    try:
        with path.open("rb") as file:
            place = 0
            for number, line in enumerate(file, start=1):
                reader.add(number, place, line)
                place += len(line)
    except OSError as error:
        raise RunFileError(f"cannot read the run file '{path}': {error.strerror or error}") from error
    return reader.run(path, order)


def parse_line(text: bytes) -> Line:
    """A line of a run file as data; ValueError where it is none, or has values that no run file may hold."""
    whole = _whole if _LONG_NUMBER.search(text) else None  # such digits may also stand in a text
    line: Line = json.loads(text, parse_int=whole, parse_constant=_refuse)
    if b"\\ud" in text.lower():
        json.dumps(line, ensure_ascii=False).encode()  # half a surrogate pair would end whoever prints it
    return harmless(line) if is_suspect(text) else line


_LONG_NUMBER = re.compile(rb"[0-9]{300}")


def _whole(digits: str) -> int:
    if len(digits) >= 300:
        raise ValueError("a number of 300 digits or more")  # no float could hold it
    return int(digits)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of a run file")


class _Reader:
    """What is known of a run file after so many of its lines."""

    def __init__(self) -> None:
        self.provenance: Line | None = None
        self.plan: Plan | None = None
        self.builder = TableBuilder()
        self.items: dict[EpisodeKey, EpisodeKey] = {}
        self.lines: list[Line] = []
        self.unrun: list[Unrun] = []
        self.hunts: dict[tuple[str, str, str], HuntRecord] = {}
        self.hunt_starts: dict[tuple[str, str, str], HuntStart] = {}
        self.failures: list[Failure] = []
        self.probes: list[int] = []
        self.spent: dict[str, float] = {}
        self.damaged: list[tuple[int, str]] = []
        self.ended = False
        self.verdicts = self.looks = 0

    def add(self, number: int, place: int, text: bytes) -> None:
        if not text.strip():
            return
        try:
            line = parse_line(text)
            self._take(line["type"], line, place)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            self.damaged.append((number, f"{type(error).__name__}: {error}"))

    def _take(self, kind: str, line: Line, place: int) -> None:
        if kind == "episode":
            record = Record.from_record(line)
            self.builder.add(record, place)
            for phase, seconds in (("episode", record.result.seconds), *record.result.timings.items()):
                self.spent[phase] = self.spent.get(phase, 0.0) + seconds
            if record.item is not None:
                self.items[record.key] = record.item
            self.ended, self.looks = False, self.verdicts
        elif kind == "probe":
            Record.from_record(line)
            self.probes.append(place)
        elif kind == "run":
            self.provenance = self.provenance or line
        elif kind == "plan":
            plan = Plan.from_record(line)
            self.plan = plan if self.plan is None else self.plan | plan
        elif kind == "unrun":
            self.unrun.append(Unrun.from_record(line))
        elif kind == "hunt":
            hunt = HuntRecord.from_record(line)
            self.hunts[hunt.name] = hunt
        elif kind == "hunt_start":
            start = HuntStart.from_record(line)
            self.hunt_starts[start.name] = start
        elif kind == "failure":
            self.failures.append(Failure.from_record(line))
        else:
            self.lines.append(line)
            self.ended = self.ended or kind == "end"
            self.verdicts += kind == "verdict"

    def run(self, path: Path, order: Iterable[Cell]) -> Run:
        if self.provenance is None:
            raise RunFileError(f"'{path}' is not a run file: its provenance line is missing")
        planned = self.plan.whole.cells() if self.plan is not None else []
        table = self.builder.table([*dict.fromkeys([*order, *planned])])
        errors = table.where(table.outcome == ERROR).keys()
        return Run(
            path=path,
            provenance=self.provenance,
            table=table,
            items=table.keys() | KeySet.of(self.items.values()),
            error_items=KeySet.of(self.items.get(key, key) for key in errors),
            plan=self.plan,
            ended=self.ended,
            unrun=tuple(self.unrun),
            hunts=tuple(self.hunts.values()),
            hunt_starts=tuple(self.hunt_starts.values()),
            failures=tuple(self.failures),
            probe_places=tuple(self.probes),
            spent=self.spent,
            lines=tuple(self.lines),
            looks=self.looks,
            damaged=tuple(self.damaged),
        )
