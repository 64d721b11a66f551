"""A run in other people's formats: episodes as CSV or Parquet, the table as Markdown or a model card, a film as rrd."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_vla.report.html.page import ReportError
from pytest_vla.report.runfile import Record, Run
from pytest_vla.report.table import Tally, in_episode_order, partition_rows, summary_rows

COLUMNS = (
    *("suite", "version", "task", "partition", "index", "perturbation", "repeat"),
    *("outcome", "reason", "steps", "progress", "seconds", "instruction", "message"),
    *("digest", "initial_digest"),
)
TABLE_HEADER = ("suite/task", "partition", "success", "95% CI", "n", "errors")


def write_export(run: Run, kind: str, path: Path, episode: str | None = None, model: str | None = None) -> None:
    """Write the run as `csv`, `parquet`, `markdown`, `model-index` or `rrd` (one episode)."""
    writers: dict[str, Callable[[], None]] = {
        "csv": lambda: write_csv(run, path),
        "parquet": lambda: write_parquet(run, path),
        "markdown": lambda: _write_text(path, markdown(run)),
        "model-index": lambda: _write_text(path, model_index(run, model)),
        "rrd": lambda: _write_rrd(run, path, episode),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        writers[kind]()
    except OSError as error:
        raise ReportError(f"cannot write '{path}': {error.strerror or error}") from error


def write_csv(run: Run, path: Path) -> None:
    """One row per episode, in order."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for record in in_episode_order(run.episodes):
            writer.writerow(["" if record.get(name) is None else record[name] for name in COLUMNS])


def write_parquet(run: Run, path: Path) -> None:
    """The same rows with types, and the run's provenance in the metadata of the file."""
    try:
        pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise ReportError('Parquet needs pyarrow: pip install "pytest-vla[parquet]"') from None
    types = {"index": pa.int64(), "repeat": pa.int64(), "steps": pa.int64()}
    types |= {"progress": pa.float64(), "seconds": pa.float64()}
    records = in_episode_order(run.episodes)
    schema = pa.schema(
        [(name, types.get(name, pa.string())) for name in COLUMNS],
        metadata={"pytest_vla": json.dumps(run.provenance)},
    )
    columns = {name: [record.get(name) for record in records] for name in COLUMNS}
    pq.write_table(pa.table(columns, schema=schema), path)


def markdown(run: Run) -> str:
    """The table of the run, for a README or a pull request."""
    policy = run.provenance.get("policy") or {}
    tally = Tally.of(run.episodes)
    lines = [f"**{_cell(policy.get('text'))}** (`{policy.get('digest')}`), {run.provenance.get('created')}", ""]
    if run.plan is not None and len(run.episodes) < run.plan:
        lines += [f"Incomplete: {len(run.episodes)} of {run.plan} episodes.", ""]
    lines += [f"| {' | '.join(TABLE_HEADER)} |", f"|{' --- |' * len(TABLE_HEADER)}"]
    lines += [f"| {' | '.join(map(_cell, row))} |" for row in summary_rows(run.episodes)]
    lines += [
        f"| {' | '.join(f'**{_cell(text)}**' if text else '' for text in row)} |"
        for row in partition_rows(run.episodes)
    ]
    lines += ["", f"{tally.solved} of {tally.measured} episodes solved, {tally.errors} errors."]
    return "\n".join(lines) + "\n"


def model_index(run: Run, model: str | None = None) -> str:
    """The `model-index` block of a Hugging Face model card: one result per suite and partition."""
    name = model or str((run.provenance.get("policy") or {}).get("text", "policy"))
    groups: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in in_episode_order(run.episodes):
        if not record.get("perturbation"):
            groups[(record["suite"], str(record.get("version", "")), record["partition"])].append(record)
    lines = ["model-index:", f"- name: {_yaml(name)}", "  results:"]
    for (suite, version, partition), records in groups.items():
        tally = Tally.of(records)
        interval = tally.interval()
        if tally.rate is None or interval is None:
            continue
        note = f"{tally.solved} of {tally.measured} episodes, 95% CI [{interval[0]:.3f}, {interval[1]:.3f}]"
        lines += [
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
            f"      value: {tally.rate:.4f}",
            "      verified: false",
        ]
    return "\n".join(lines) + "\n"


def _write_rrd(run: Run, path: Path, episode: str | None) -> None:
    from pytest_vla.replay import find_episode
    from pytest_vla.report.rrd import write_rrd

    if episode is None:
        raise ReportError("an rrd file is about one episode: add --episode=SUITE/TASK-PARTITION-INDEX")
    write_rrd(run, find_episode(run, episode), path)


def _cell(value: Any) -> str:
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
