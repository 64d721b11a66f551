"""What a worker tells the controller while items run: typed values, on the reports that pytest carries anyway.

Only built-in types cross: one numpy scalar in a report would end a whole xdist run. This is the place that converts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_vla.run.hunts import HuntRecord, HuntStart
from pytest_vla.run.plan import Plan
from pytest_vla.run.record import Record


@dataclass(frozen=True)
class Planned:
    """What this session will run. Only who collects knows it, and the controller of xdist does not collect."""

    plan: Plan
    gate: Mapping[str, Any] | None = None
    """The gate's own part of the plan."""


@dataclass(frozen=True)
class HuntBegan:
    start: HuntStart


@dataclass(frozen=True)
class Probed:
    """A hunt's episode ended."""

    record: Record


@dataclass(frozen=True)
class HuntEnded:
    hunt: HuntRecord


@dataclass(frozen=True)
class Said:
    """A line for the terminal: a worker has none."""

    line: str


Message = Planned | HuntBegan | Probed | HuntEnded | Said

_MESSAGE, _RECORDS = "vla_message", "vla_records"


def send(item: pytest.Item, message: Message) -> None:
    """Tell the controller now, in the middle of an item; without workers that is this very process."""
    report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, "setup", duration=0, start=0, stop=0)
    setattr(report, _MESSAGE, _encoded(message))
    item.ihook.pytest_runtest_logreport(report=report)


def message_of(report: pytest.TestReport) -> Message | None:
    """The message a report was made to carry; None for the report of a test."""
    data = getattr(report, _MESSAGE, None)
    return None if data is None else _decoded(data)


def release(report: pytest.TestReport) -> None:
    """Let go of a message that was written: the terminal keeps every report until the end."""
    delattr(report, _MESSAGE)


def attach(report: pytest.TestReport, records: Sequence[Record]) -> None:
    """Put the rollouts of an item on the report of its call."""
    setattr(report, _RECORDS, [record.to_record() for record in records])


def records_of(report: pytest.TestReport) -> list[Record]:
    """The rollouts that came with a report."""
    return [Record.from_record(line) for line in getattr(report, _RECORDS, ())]


def _encoded(message: Message) -> dict[str, Any]:
    match message:
        case Planned(plan, gate):
            return {"planned": plan.to_record(), "gate": None if gate is None else dict(gate)}
        case HuntBegan(start):
            return {"hunt_start": start.to_record()}
        case Probed(record):
            return {"probed": record.to_record()}
        case HuntEnded(hunt):
            return {"hunt": hunt.to_record()}
        case Said(line):
            return {"said": line}


def _decoded(data: Mapping[str, Any]) -> Message:
    match data:
        case {"planned": plan, "gate": gate}:
            return Planned(Plan.from_record(plan), gate)
        case {"hunt_start": start}:
            return HuntBegan(HuntStart.from_record(start))
        case {"probed": record}:
            return Probed(Record.from_record(record))
        case {"hunt": hunt}:
            return HuntEnded(HuntRecord.from_record(hunt))
        case {"said": line}:
            return Said(line)
    raise ValueError(f"a worker sent {sorted(data)}, which means nothing here")
