"""Tallies and the summary of records that are dicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_vla.report.summary import write_summary as write_run_summary
from pytest_vla.run import Record, read_run
from pytest_vla.run import replay_command as key_command
from pytest_vla.run.tally import Tally as _Tally


class Tally(_Tally):
    @classmethod
    def of(cls, records: Iterable[Any]) -> Tally:
        tally = _Tally.of([Record.from_record({**record, "type": "episode"}) for record in records])
        return cls(tally.solved, tally.measured, tally.errors)


def format_tally(tally: _Tally) -> tuple[str, str, str, str]:
    return tally.texts()


def replay_command(run_file: str, record: Mapping[str, Any]) -> str:
    return key_command(run_file, Record.from_record({**record, "type": "episode"}).key)


def write_summary(
    reporter: pytest.TerminalReporter,
    records: Sequence[Mapping[str, Any]],
    *,
    skipped: Mapping[str, int],
    run_file: str,
    speed: float | None,
) -> None:
    write_run_summary(reporter, read_run(Path(run_file)), skipped=skipped, speed=speed)
