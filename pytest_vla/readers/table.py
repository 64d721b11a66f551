"""A table of episodes as CSV: columns `suite`, `task`, an index, `success`, and what else there is."""

from __future__ import annotations

import csv
from pathlib import Path

from pytest_vla.readers.harness import Foreign, ReaderError, key, result

INDEX = ("episode", "init_index", "index", "episode_id")
NEEDED = ("suite", "task", "success")
TRUE, FALSE = ("1", "true", "yes", "1.0"), ("0", "false", "no", "0.0", "")


def reads(path: Path) -> bool:
    return path.suffix == ".csv"


def read(path: Path) -> Foreign:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ReaderError(f"'{path}' is no CSV file: {error}") from None
    columns = set(rows[0]) if rows else set()
    index = next((name for name in INDEX if name in columns), None)
    lacking = [name for name in NEEDED if name not in columns] + ([] if index else [" or ".join(INDEX)])
    if index is None or lacking:
        raise ReaderError(f"'{path}' has no episodes: it needs the columns {', '.join(lacking)}")
    models = {row.get("model") or "unknown policy" for row in rows}
    if len(models) > 1:
        raise ReaderError(f"'{path}' is about {len(models)} models ({', '.join(sorted(models))}): make a file of each")
    results = []
    for number, row in enumerate(rows, start=2):
        try:
            success = {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}[row["success"].strip().lower()]
            episode = key(row["suite"], row["task"], row.get("partition"), int(row[index]))
            steps, seconds = int(float(row.get("steps") or 0)), float(row.get("elapsed_sec") or 0)
        except (KeyError, ValueError) as error:
            raise ReaderError(f"'{path}', line {number}: {error!r}") from None
        error_text = row.get("error") or ""
        results.append(
            result(episode, success, error_text, pairs=True, steps=steps, seconds=seconds, instruction=row["task"])
        )
    return Foreign("a table", "", models.pop(), tuple(results))
