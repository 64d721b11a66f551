"""What a worker tells the controller: typed values, on the reports that pytest carries anyway.

Between processes a message is one JSON text: xdist would take a dict apart value by value, and end the whole run at the
first numpy scalar. In the process that is both worker and controller it stays what it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_vla.episode import EpisodeKey, builtin, printable
from pytest_vla.run.file import Failure
from pytest_vla.run.hunts import HuntRecord, HuntStart
from pytest_vla.run.plan import HuntName, Plan, Unrun
from pytest_vla.run.record import Record, key_from_list, key_to_list


@dataclass(frozen=True)
class Planned:
    """What this session will run. Only who collects knows it, and the controller of xdist does not collect."""

    plan: Plan
    functions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The suite of each benchmark function and its version, by the node id without parameters."""
    gate: Mapping[str, Any] | None = None
    """The gate's own part of the plan."""
    leaked: Sequence[str] = ()
    """Planned tasks that the policy was trained on although they count as unseen, as SUITE/TASK."""
    unavailable: Sequence[Unrun] = ()
    """What cannot run here and has no item, beside one that says so."""


@dataclass(frozen=True)
class Rolled:
    """The rollouts of an item, as its call ended."""

    records: tuple[Record, ...]


@dataclass(frozen=True)
class NotRun:
    """A planned episode or hunt that is not run, and why: see `Unrun`."""

    key: EpisodeKey | HuntName
    why: str
    message: str


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
class Working:
    """A worker has begun, in a process of this number."""

    process: int


@dataclass(frozen=True)
class Said:
    """A line for the terminal: a worker has none."""

    line: str


Message = Planned | Rolled | NotRun | Failure | HuntBegan | Probed | HuntEnded | Said | Working

CARRIER = "vla_carrier"
"""The attribute of reports that are nothing but a message on its way."""
_ATTRIBUTE, _OUTCOMES, _REPEATED = "vla", "vla_outcomes", "vla_repeated"


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is a worker of xdist; without workers the only process is the controller."""
    return hasattr(config, "workerinput")


def send(item: pytest.Item, message: Message) -> None:
    """Tell the controller now, in the middle of an item; without workers that is this very process."""
    report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, "setup", duration=0, start=0, stop=0)
    attach(item.config, report, message)
    setattr(report, CARRIER, True)
    item.ihook.pytest_runtest_logreport(report=report)


def attach(config: pytest.Config, report: pytest.TestReport, message: Message) -> None:
    """Let a report that goes to the controller anyway take a message along."""
    setattr(report, _ATTRIBUTE, json.dumps(_encoded(message)) if is_worker(config) else message)
    if isinstance(message, Rolled):
        setattr(report, _OUTCOMES, [record.outcome for record in message.records])


def message_of(report: pytest.TestReport) -> Message | None:
    """What a report has to tell, if anything."""
    message: Message | str | None = getattr(report, _ATTRIBUTE, None)
    return _decoded(json.loads(message)) if isinstance(message, str) else message


def release(report: pytest.TestReport) -> None:
    """Let go of a message that was written: the terminal keeps every report until the end."""
    delattr(report, _ATTRIBUTE)


def outcomes_of(report: pytest.TestReport) -> list[str]:
    """How the rollouts that came with a report ended: for pytest, which asks of every report how it shall be shown."""
    outcomes: list[str] = getattr(report, _OUTCOMES, [])
    return outcomes


def repeat(report: pytest.TestReport) -> None:
    """Mark an error that was shown already: the terminal counts it and says no more of it."""
    setattr(report, _REPEATED, True)


def is_repeated(report: pytest.TestReport) -> bool:
    return getattr(report, _REPEATED, False)


def sendable(data: Any) -> Any:
    """A report as xdist sends it; where it cannot, in built-in types and with escapes for what is no text."""
    import execnet

    try:
        execnet.dumps(data)
    except (execnet.DumpError, ValueError):
        return _escaped(builtin(data))
    return data


def _escaped(value: Any) -> Any:
    match value:
        case str():
            return printable(value)
        case list():
            return [_escaped(item) for item in value]
        case dict():
            return {printable(name): _escaped(item) for name, item in value.items()}
    return value


def _encoded(message: Message) -> dict[str, Any]:
    match message:
        case Rolled(records):
            return {"rolled": [record.to_record() for record in records]}
        case Planned(plan, functions, gate, leaked, unavailable):
            listed = {name: list(suite) for name, suite in functions.items()}
            told = {"functions": listed, "gate": None if gate is None else dict(gate), "leaked": list(leaked)}
            return {"planned": plan.to_record(), **told, "unavailable": [each.to_record() for each in unavailable]}
        case NotRun(key, why, text):
            named = key_to_list(key) if isinstance(key, EpisodeKey) else list(key)
            return {"not_run": named, "why": why, "message": text}
        case Failure():
            return {"failure": message.to_record()}
        case HuntBegan(start):
            return {"hunt_start": start.to_record()}
        case Probed(record):
            return {"probed": record.to_record()}
        case HuntEnded(hunt):
            return {"hunt": hunt.to_record()}
        case Said(line):
            return {"said": line}
        case Working(process):
            return {"working": process}


def _decoded(data: Mapping[str, Any]) -> Message:
    match data:
        case {"rolled": records}:
            return Rolled(tuple(map(Record.from_record, records)))
        case {"planned": plan, "functions": functions, "gate": gate, "leaked": leaked, "unavailable": unavailable}:
            told = {name: (suite, version) for name, (suite, version) in functions.items()}
            return Planned(
                Plan.from_record(plan), told, gate, leaked, [Unrun.from_record(each) for each in unavailable]
            )
        case {"not_run": [suite, task, partition], "why": why, "message": text}:
            return NotRun((suite, task, partition), why, text)
        case {"not_run": key, "why": why, "message": text}:
            return NotRun(key_from_list(key), why, text)
        case {"failure": failure}:
            return Failure.from_record(failure)
        case {"hunt_start": start}:
            return HuntBegan(HuntStart.from_record(start))
        case {"probed": record}:
            return Probed(Record.from_record(record))
        case {"hunt": hunt}:
            return HuntEnded(HuntRecord.from_record(hunt))
        case {"said": line}:
            return Said(line)
        case {"working": int(process)}:
            return Working(process)
    raise ValueError(f"a worker sent {sorted(data)}, which means nothing here")
