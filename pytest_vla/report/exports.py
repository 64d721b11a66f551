"""A run in other formats: episodes as CSV or Parquet, the table as JSON, Markdown or a model card, a film as rrd."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from pytest_vla.episode import Cell
from pytest_vla.report.errors import ReportError
from pytest_vla.report.groups import grouped
from pytest_vla.report.order import in_suite_order, ordered
from pytest_vla.report.score import scores
from pytest_vla.report.summary import MARK, TABLE_HEADER, group_rows, incomparable_lines, partition_rows, summary_rows
from pytest_vla.run import Record, Run, Tally, sum_by
from pytest_vla.run.harmless import cell
from pytest_vla.run.tally import once

#: one row per record: every repeat of an episode has its own
COLUMNS: Mapping[str, Callable[[Record], Any]] = {
    "suite": lambda record: record.key.suite,
    "version": lambda record: record.key.version,
    "task": lambda record: record.key.task,
    "partition": lambda record: record.key.partition,
    "index": lambda record: record.key.index,
    "perturbation": lambda record: record.key.perturbation,
    "repeat": lambda record: record.key.repeat,
    "outcome": lambda record: record.outcome,
    "reason": lambda record: record.result.reason,
    "test": lambda record: record.test,
    "steps": lambda record: record.result.steps,
    "progress": lambda record: record.result.progress,
    "seconds": lambda record: record.result.seconds,
    "instruction": lambda record: record.result.instruction,
    "scene": lambda record: json.dumps(record.result.scene, ensure_ascii=False) if record.result.scene else "",
    "message": lambda record: record.result.message,
    "digest": lambda record: record.result.digest,
    "initial_digest": lambda record: record.result.initial_digest,
}
PARQUET_TYPES = {"index": "int64", "repeat": "int64", "steps": "int64", "progress": "float64", "seconds": "float64"}
ROWS_AT_ONCE = 20_000
"""Records in memory while Parquet is written: a row group."""


def write_export(
    run: Run, kind: str, path: Path, episode: str | None = None, model: str | None = None, *, trust: bool = False
) -> None:
    """Write the run as `csv`, `parquet`, `json`, `markdown`, `model-index` or `rrd` (one episode)."""
    writers: dict[str, Callable[[], None]] = {
        "csv": lambda: write_csv(run, path),
        "parquet": lambda: write_parquet(run, path),
        "json": lambda: _write_text(path, json.dumps(rates(run), indent=1, ensure_ascii=False) + "\n"),
        "markdown": lambda: _write_text(path, markdown(run)),
        "model-index": lambda: _write_text(path, model_index(run, model)),
        "rrd": lambda: _write_rrd(run, path, episode, trust),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        writers[kind]()
    except OSError as error:
        raise ReportError(f"cannot write '{path}': {error.strerror or error}") from error


def write_csv(run: Run, path: Path) -> None:
    """One row per record, in order."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for record in in_suite_order(run).records():
            values = [value(record) for value in COLUMNS.values()]
            writer.writerow([_for_a_spreadsheet(value) for value in values])


def _for_a_spreadsheet(value: Any) -> Any:
    return "" if value is None else cell(value) if isinstance(value, str) else value


def write_parquet(run: Run, path: Path) -> None:
    """The same rows with types, and the run's provenance in the metadata of the file."""
    try:
        pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise ReportError('Parquet needs pyarrow: pip install "pytest-vla[parquet]"') from None
    schema = pa.schema(
        [(name, getattr(pa, PARQUET_TYPES.get(name, "string"))()) for name in COLUMNS],
        metadata={"pytest_vla": json.dumps(run.provenance)},
    )
    with pq.ParquetWriter(path, schema) as writer:
        for group in _groups(in_suite_order(run).records()):
            columns = {name: [value(record) for record in group] for name, value in COLUMNS.items()}
            writer.write_table(pa.table(columns, schema=schema))


def _groups(records: Iterator[Record]) -> Iterator[list[Record]]:
    while group := list(islice(records, ROWS_AT_ONCE)):
        yield group


def rates(run: Run) -> dict[str, Any]:
    """The table of the run as data: every rate with its interval and its counts."""
    tallies = ordered(run.once.tallies())
    partitions = sum_by(tallies, lambda cell: cell._replace(task="*"))
    complete = run.completeness(gated=False)
    return {
        "policy": run.policy.to_dict(),
        "complete": {"planned": complete.planned, "done": complete.done, "finished": complete.finished},
        "objections": run.objections,
        "cells": [{**cell._asdict(), **_rate(tally)} for cell, tally in tallies.items()],
        "partitions": [{**cell._asdict(), **_rate(tally)} for cell, tally in partitions.items()],
        "groups": [
            {"suite": cell.suite, "group": cell.task, "partition": cell.partition, **_rate(tally)}
            for cell, tally in grouped(tallies).items()
        ],
        "all": _rate(run.once.tally()),
        "scenes": _scene_rates(run),
        "cost": [{name: value for name, value in line.items() if name != "type"} for line in run.of_type("cost")],
        "doctor": [{name: value for name, value in line.items() if name != "type"} for line in run.of_type("doctor")],
    }


def _scene_rates(run: Run) -> list[dict[str, Any]]:
    """The same by what the scenes were like, for every feature that is a word."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in once(run.records()):
        for feature, value in record.result.scene.items():
            if isinstance(value, str):
                groups.setdefault((*record.cell, feature, value), []).append(record)
    names = (*Cell._fields, "feature", "value")
    return [{**dict(zip(names, group, strict=True)), **_rate(Tally.of(groups[group]))} for group in sorted(groups)]


def _rate(tally: Tally) -> dict[str, Any]:
    interval = tally.interval()
    low, high = (None, None) if interval is None else interval
    counts = {"solved": tally.solved, "measured": tally.measured, "errors": tally.errors}
    return {**counts, "rate": tally.rate, "low": low, "high": high}


def markdown(run: Run) -> str:
    """The table of the run, for a README or a pull request."""
    table = run.once
    tally, completeness = table.tally(), run.completeness(gated=False)
    lines = [f"**{plain(run.policy.text)}** (`{run.policy.digest}`), {run.provenance.get('created')}", ""]
    if not completeness.finished:
        lines += [f"{str(completeness).capitalize()}.", ""]
    lines += markdown_table(summary_rows(table), [*partition_rows(table), *group_rows(table)])
    lines += ["", f"{tally.solved} of {tally.measured} episodes solved, {tally.errors} errors."]
    lines += [f"\n{plain(str(scored))}." for scored in scores(run)]
    lines += [f"\n{plain(line.removeprefix(MARK).strip().capitalize())}." for line in incomparable_lines(run)]
    lines += [f"\n{plain(text)}." for text in _cost_and_findings(run)]
    return "\n".join(lines) + "\n"


def _cost_and_findings(run: Run) -> Iterator[str]:
    """What the policy costs and what the doctor found, a sentence each; a line of a run file may hold anything."""
    from pytest_vla.inference.cost import cost_lines_recorded

    for line in run.of_type("cost"):
        yield from (text[:1].upper() + text[1:] for text in cost_lines_recorded(line))
    for line in run.of_type("doctor"):
        for found in line.get("findings") or ():
            if isinstance(found, Mapping):
                change = " -> ".join(str(found[name]) for name in ("before", "after") if found.get(name))
                told = ": ".join(part for part in (str(found.get("fault", "")), change) if part)
                yield f"Doctor, {line.get('suite')}: {told}; {found.get('cure', '')}"


def markdown_table(rows: Iterable[Sequence[str]], totals: Iterable[Sequence[str]] = ()) -> list[str]:
    """The rows of the terminal's table as Markdown, totals in bold."""
    lines = [f"| {' | '.join(TABLE_HEADER)} |", f"|{' --- |' * len(TABLE_HEADER)}"]
    lines += [f"| {' | '.join(map(plain, row))} |" for row in rows]
    lines += [f"| {' | '.join(f'**{plain(text)}**' if text else '' for text in row)} |" for row in totals]
    return lines


def model_index(run: Run, model: str | None = None) -> str:
    """The `model-index` block of a Hugging Face model card: one result per suite and partition."""
    table = run.once.of_cells(lambda cell: not cell.perturbation)
    lines = ["model-index:", f"- name: {_yaml(model or run.policy.text)}", "  results:"]
    found = {}
    for version in sorted({version for versions in table.versions().values() for version in versions}):
        tallies = ordered(table.of_version(version).tallies())
        for (suite, partition), tally in sum_by(tallies, lambda cell: (cell.suite, cell.partition)).items():
            found[(suite, version, partition)] = tally
    for (suite, version, partition), tally in sorted(found.items(), key=lambda item: item[0][0]):
        interval = tally.interval()
        if tally.rate is not None and interval is not None:
            note = f"{tally.solved} of {tally.measured} episodes, 95% CI [{interval[0]:.3f}, {interval[1]:.3f}]"
            lines += _model_result(suite, version, partition, note, tally.rate)
    return "\n".join(lines) + "\n"


def _model_result(suite: str, version: str, partition: str, note: str, rate: float) -> list[str]:
    return [
        "  - task:",
        "      type: robotics",
        "      name: Robot manipulation",
        "    dataset:",
        f"      type: {_yaml(suite)}",
        f"      name: {_yaml(f'{suite} {version}'.strip())}",
        f"      split: {_yaml(partition)}",
        "    metrics:",
        "    - type: success_rate",
        f"      name: {_yaml(f'success rate ({note})')}",
        f"      value: {rate:.4f}",
        "      verified: false",
    ]


def _write_rrd(run: Run, path: Path, episode: str | None, trust: bool) -> None:
    from pytest_vla.replay import find_episode
    from pytest_vla.report.rrd import write_rrd

    if episode is None:
        raise ReportError("an rrd file is about one episode: add --episode=SUITE/TASK-PARTITION-INDEX")
    write_rrd(run, find_episode(run, episode), path, trust)


def plain(value: Any) -> str:
    """Text that stays inside its cell and means nothing to Markdown."""
    text = str(value).replace("\n", " ")
    for character in "\\|<>`*":
        text = text.replace(character, f"\\{character}")
    return text


def _yaml(text: str) -> str:
    """A double-quoted scalar: JSON's strings are YAML's."""
    return json.dumps(text, ensure_ascii=False)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
