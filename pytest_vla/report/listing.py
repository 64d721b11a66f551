"""`pytest-vla runs`: what lies in a folder of runs, a line each, under the numbers that other commands take."""

from __future__ import annotations

from pathlib import Path

from pytest_vla.run import RunFileError, read_run
from pytest_vla.run.places import listed_runs

HEADER = ("", "name", "made", "policy", "episodes", "success", "errors", "")


def runs_table(folder: Path) -> str:
    """The table as text; a run that cannot be read keeps its number and says why."""
    files = listed_runs(folder)
    if not files:
        raise RunFileError(f"there is no run in '{folder}/'")
    rows = [(str(number), file.parent.name, *_about(file)) for number, file in enumerate(files, start=1)]
    widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in (HEADER, *rows)
    )


def _about(file: Path) -> tuple[str, ...]:
    try:
        run = read_run(file)
    except RunFileError as error:
        return ("", "", "", "", "", str(error))
    tally = run.once.tally()
    rate, interval, *_ = tally.texts()
    complete = run.completeness(gated=False)
    hunts = f"{len(run.hunts)} hunts" if run.hunts else ""
    state = hunts if complete.finished else str(complete)
    made = str(run.provenance.get("created", ""))[:19].replace("T", " ")
    success = f"{rate} {interval}" if tally.measured else "-"
    return made, run.policy.text, str(len(run.once)), success, str(tally.errors), state
