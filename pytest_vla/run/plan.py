"""What a run set out to do, and whether it has: the one definition of "finished"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_vla.run.keys import KeySet

HuntName = tuple[str, str, str]  # suite, task, partition


@dataclass(frozen=True)
class Plan:
    """The keys a run is to give results for. A shard knows its part and the whole."""

    part: KeySet = field(default_factory=KeySet)
    whole: KeySet = field(default_factory=KeySet)
    hunts: frozenset[HuntName] = frozenset()
    count: int | None = None
    """Episodes in all, where an older file says no more."""
    extended: bool = False
    """Whether it was put together of plans for different episodes: their number was not declared before the first."""

    def __or__(self, other: Plan) -> Plan:
        """Plans add up: a resumed run, or a merged one, owes what each of its sessions set out to do."""
        counts = [plan.count for plan in (self, other) if plan.count is not None]
        return Plan(
            self.part | other.part,
            self.whole | other.whole,
            self.hunts | other.hunts,
            max(counts) if counts else None,
            self.extended or other.extended or self.whole != other.whole,
        )

    @property
    def episodes(self) -> int:
        """How many episodes this session, or shard, has to give."""
        return max(len(self.part), self.count or 0)

    def to_record(self) -> dict[str, Any]:
        """The line of the run file; the whole is written where it is more than the part."""
        line: dict[str, Any] = {"type": "plan", "episodes": len(self.part), "keys": self.part.to_list()}
        if self.whole != self.part:
            line["whole"] = self.whole.to_list()
        if self.hunts:
            line["hunts"] = sorted(map(list, self.hunts))
        if self.extended:
            line["extended"] = True
        return line

    @classmethod
    def from_record(cls, line: Mapping[str, Any]) -> Plan:
        if "keys" not in line:
            return cls(count=int(line["episodes"]))
        part = KeySet.from_list(line["keys"])
        whole = KeySet.from_list(line["whole"]) if "whole" in line else part
        return cls(part, whole, _hunts(line), extended=bool(line.get("extended", False)))


@dataclass(frozen=True, slots=True)
class Unrun:
    """Planned episodes that were not run, and why that is in order."""

    EXCUSES = ("decided", "budget", "unavailable")

    why: str
    """`decided` and `budget`: a gate needs no more. `unavailable`: not to be had here, which leaves a gate open."""
    message: str
    keys: KeySet
    hunts: frozenset[HuntName] = frozenset()

    def to_record(self) -> dict[str, Any]:
        hunts = {"hunts": sorted(map(list, self.hunts))} if self.hunts else {}
        return {"type": "unrun", "why": self.why, "message": self.message, "keys": self.keys.to_list(), **hunts}

    @classmethod
    def from_record(cls, line: Mapping[str, Any]) -> Unrun:
        if line.get("why") not in cls.EXCUSES:
            raise ValueError(f"episodes are not run because they are {', '.join(cls.EXCUSES)}, not {line.get('why')!r}")
        return cls(str(line["why"]), str(line.get("message", "")), KeySet.from_list(line["keys"]), _hunts(line))


@dataclass(frozen=True, slots=True)
class Completeness:
    """How much of a plan is done: recorded, or excused."""

    planned: int
    done: int
    missing: KeySet = field(default_factory=KeySet)
    hunts: tuple[HuntName, ...] = ()
    """Hunts that did not end."""

    @property
    def finished(self) -> bool:
        return self.done >= self.planned and not self.hunts

    def __str__(self) -> str:
        if self.finished:
            return f"complete: {self.done} of {self.planned} episodes"
        hunts = f", {len(self.hunts)} hunts not ended" if self.hunts else ""
        return f"incomplete: {self.done} of {self.planned} episodes{hunts}"


def _hunts(line: Mapping[str, Any]) -> frozenset[HuntName]:
    return frozenset((str(suite), str(task), str(partition)) for suite, task, partition in line.get("hunts", ()))
