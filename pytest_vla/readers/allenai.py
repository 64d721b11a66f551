"""AllenAI's vla-eval: its `*_aggregate.json`, or the SQLite recording behind it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pytest_vla.readers.harness import Foreign, ReaderError, key, result

KNOWN = ("0.6.", "0.7.", "0.8.")
SQLITE = b"SQLite format 3\0"
FROM_INITIAL_STATES = ("LIBERO", "CALVIN")
"""Benchmarks whose n-th episode starts from the n-th recorded state: they need no seed to be the same."""


def reads_json(path: Path) -> bool:
    return path.suffix == ".json" and '"harness_version"' in path.read_text(encoding="utf-8", errors="replace")


def reads_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def read_json(path: Path) -> Foreign:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        tasks = data["tasks"]
        rows = [(task["task"], episode) for task in tasks for episode in task["episodes"]]
        return _foreign(data, rows, _claim(data), path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReaderError(f"'{path}' looks like a result of vla-eval, but is none: {error!r}") from None


def read_sqlite(path: Path) -> Foreign:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            benchmarks = database.execute("SELECT eval_id, metadata FROM eval_metadata").fetchall()
            if len(benchmarks) != 1:
                raise ReaderError(f"'{path}' holds {len(benchmarks)} benchmarks: vla-eval export it, and import each")
            rows = list(_episodes(database, benchmarks[0]["eval_id"]))
            return _foreign(json.loads(benchmarks[0]["metadata"]), rows, None, path)
    except (sqlite3.Error, KeyError, TypeError, ValueError) as error:
        raise ReaderError(f"'{path}' is no recording of vla-eval: {error}") from None


def _episodes(database: sqlite3.Connection, eval_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The last result of every work item, as its own export counts."""
    found: dict[tuple[Any, ...], tuple[str, dict[str, Any]]] = {}
    query = "SELECT rowid, * FROM episode_results WHERE eval_id = ? ORDER BY rowid"
    for row in database.execute(query, (eval_id,)):
        context = json.loads(row["context"] or "{}")
        episode = {**context, "metrics": json.loads(row["metrics"] or "{}")}
        episode |= {name: row[name] for name in ("episode_id", "steps", "elapsed_sec")}
        episode |= {name: row[name] for name in ("failure_reason", "failure_detail") if row[name]}
        item = context.get("task_idx")
        place = (row["task_name"], row["episode_id"], item if item is not None else ("row", row["rowid"]))
        found[place] = str(row["task_name"] or "unknown"), episode
    yield from found.values()


def _foreign(
    data: Mapping[str, Any], rows: list[tuple[str, dict[str, Any]]], claimed: tuple[int, int] | None, path: Path
) -> Foreign:
    version = str(data.get("harness_version", ""))
    if not version.startswith(KNOWN):
        known = ", ".join(f"{each}x" for each in KNOWN)
        raise ReaderError(f"'{path}' was written by vla-eval {version or 'of no version'}; known are {known}")
    config = data.get("config") or {}
    seed = (config.get("params") or {}).get("seed") if isinstance(config, Mapping) else None
    benchmark = str(data.get("benchmark") or "benchmark").rpartition(":")[2]
    pairs = seed is not None or any(name in benchmark.upper() for name in FROM_INITIAL_STATES)
    made = {"harness": f"vla-eval {version}", **({} if seed is None else {"seed": str(seed)})}
    results = []
    for task, episode in rows:
        error = str(episode.get("failure_reason") or "")
        detail = str(episode.get("failure_detail") or "")
        results.append(
            result(
                key(benchmark, task, episode.get("suite"), int(episode.get("episode_id") or 0)),
                bool((episode.get("metrics") or {}).get("success")),
                f"{error}: {detail}" if detail else error,
                pairs=pairs,
                steps=int(episode.get("steps") or 0),
                seconds=float(episode.get("elapsed_sec") or 0.0),
                instruction=task,
                made_with=made,
            )
        )
    server = data.get("server_info") or {}
    policy = str(server.get("model") or server.get("name") or server.get("model_server") or "unknown policy")
    return Foreign("vla-eval", version, policy, tuple(results), claimed, {"config": config, "server": server})


def _claim(data: Mapping[str, Any]) -> tuple[int, int] | None:
    total, mean = data.get("num_episodes_total"), data.get("mean_success")
    if total is None or mean is None:
        return None
    return round(float(mean) * int(total)), int(total)
