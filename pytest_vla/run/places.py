"""Where runs are: at a path, or in `vla-runs/` under a name, or under the number that `pytest-vla runs` gives them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

FILE_NAME = "run.jsonl"
RUNS_FOLDER = Path("vla-runs")
_LONGEST_PROVENANCE = 1 << 20  # bytes


def run_path(run: Path | str) -> Path:
    """The file behind what a person typed: the file itself, the folder it is in, its name, or its number."""
    path = Path(run)
    if path.is_dir():
        return path / FILE_NAME
    if path.exists() or len(path.parts) != 1:
        return path
    named = RUNS_FOLDER / path / FILE_NAME
    if named.is_file():
        return named
    listed = listed_runs() if str(run).isdecimal() else []
    return listed[int(str(run)) - 1] if 0 < int(str(run) if listed else 0) <= len(listed) else path


def listed_runs(runs: Path = RUNS_FOLDER) -> list[Path]:
    """The run files in a folder of runs, oldest first: a new one changes no other's number."""
    return sorted(runs.glob(f"*/{FILE_NAME}"), key=lambda file: (_created(file), file.parent.name))


def _created(file: Path) -> str:
    with suppress(OSError, ValueError, AttributeError, RecursionError), file.open("rb") as lines:
        return str(json.loads(lines.readline(_LONGEST_PROVENANCE)).get("created", ""))
    return ""
