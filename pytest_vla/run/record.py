"""One rollout as the run file keeps it: its result, the item that made it, and that item's own verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pytest_vla.episode import Cell, EpisodeKey, Outcome, Result

Kind = Literal["episode", "probe"]
Verdict = Literal["passed", "failed"]


@dataclass(frozen=True, slots=True)
class Record:
    """A line of type `episode` or, for an episode that a hunt asked for, `probe`."""

    result: Result
    nodeid: str = ""
    test: Verdict = "passed"
    """What the test function said: it may fail an episode that was solved, and need not fail one that was not."""
    objection: str = ""
    """What the test said when it failed although all that it rolled out was solved."""
    item: EpisodeKey | None = None
    """The planned key, where the test rolled out another one than it was given."""
    kind: Kind = "episode"

    def __post_init__(self) -> None:
        if self.objection and (self.test != "failed" or not self.result):
            raise ValueError("an objection is what a failed test has against a solved episode")

    @property
    def key(self) -> EpisodeKey:
        return self.result.episode

    @property
    def planned(self) -> EpisodeKey:
        """The key of the item this record belongs to."""
        return self.item or self.result.episode

    @property
    def cell(self) -> Cell:
        return self.result.episode.cell

    @property
    def outcome(self) -> Outcome:
        return self.result.outcome

    @property
    def solved(self) -> bool:
        return self.result.outcome == "solved"

    @property
    def measured(self) -> bool:
        """Whether this counts in a rate: an error is a defect, not a measurement."""
        return self.result.outcome != "error"

    @property
    def objected(self) -> bool:
        """Whether the test failed for a reason of its own: no rollout of it explains that."""
        return bool(self.objection)

    def to_record(self) -> dict[str, Any]:
        """The line of the run file, in built-in types."""
        return {**self.result.to_record(), "type": self.kind, **self._own()}

    def to_text(self) -> str:
        """The line as JSON: an episode's result was made one where it ended, to see that it can be written."""
        if self.kind != "episode":
            return json.dumps(self.to_record(), ensure_ascii=False, allow_nan=False)
        own = json.dumps(self._own(), ensure_ascii=False, allow_nan=False)
        return f"{self.result.text[:-1]}, {own[1:]}"

    def _own(self) -> dict[str, Any]:
        """What the line says beside the result."""
        own: dict[str, Any] = {"nodeid": self.nodeid, "test": self.test}
        if self.objection:
            own["objection"] = self.objection
        if self.item is not None and self.item != self.key:
            own["item"] = key_to_list(self.item)
        return own

    @classmethod
    def from_record(cls, line: Mapping[str, Any]) -> Record:
        """The record behind a line; ValueError where it is not one that `to_record` writes."""
        result = Result.from_record(line)
        extra = dict(result.extra)
        nodeid, objection, item = extra.pop("nodeid", ""), extra.pop("objection", ""), extra.pop("item", None)
        test: Any = extra.pop("test", "passed" if result else "failed")
        kind: Any = line.get("type", "episode")
        if test not in ("passed", "failed") or kind not in ("episode", "probe"):
            raise ValueError(f"a record of type {kind!r} with the verdict {test!r}")
        if not isinstance(nodeid, str) or not isinstance(objection, str):
            raise ValueError("nodeid and objection are texts")
        result = replace(result, extra=extra)
        return cls(result, nodeid, test, objection, None if item is None else key_from_list(item), kind)


def gist(message: str) -> str:
    """What a message comes to: of a traceback its last line. Numbers aside, equal ones are of one cause."""
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    return lines[-1] if "Traceback (most recent call last)" in message else lines[0]


def alike(message: str) -> str:
    """The same text for messages that differ in numbers alone."""
    return re.sub(r"[-+]?\d[\d.e+-]*", "#", gist(message))


def key_to_list(key: EpisodeKey) -> list[Any]:
    """A key in built-in types, as it stands inside other lines."""
    return [key.suite, key.task, key.partition, key.index, key.perturbation, key.repeat]


def key_from_list(data: Any) -> EpisodeKey:
    """The key again; ValueError for anything else."""
    match data:
        case [str(suite), str(task), str(partition), int(index), str(perturbation), int(repeat)]:
            return EpisodeKey(suite, task, partition, index, perturbation, repeat=repeat)
    raise ValueError(f"{data!r} is not the key of an episode")
