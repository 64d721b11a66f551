"""Reading a baseline: a run file, or the reviewed table of a snapshot; anything doubtful is refused."""

from __future__ import annotations

from pathlib import Path

from pytest_vla.gate.comparisons import Record
from pytest_vla.gate.verdict import GateError
from pytest_vla.report.runfile import Run, RunFileError, read_run, run_path


def read_baseline(run: str | Path) -> list[Record]:
    """The episodes of a baseline; an empty, damaged or unfinished one is an error that says what to do."""
    path = run_path(run)
    if path.suffix == SNAPSHOT_SUFFIX:
        from pytest_vla.gate.success_table import parse_table

        try:
            return parse_table(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise GateError(f"cannot read the baseline '{path}': {error}") from None
    try:
        baseline = read_run(path)
    except RunFileError as error:
        raise GateError(f"the baseline cannot be used: {error}") from None
    if baseline.damaged:
        number, problem = baseline.damaged[0]
        raise GateError(
            f"the baseline '{path}' is damaged: {len(baseline.damaged)} of its lines cannot be read, the first is "
            f"line {number} ({problem}). Make it again, or take an undamaged copy"
        )
    if not any(record["outcome"] != "error" for record in baseline.episodes):
        raise GateError(f"the baseline '{path}' is empty: it has no measured episode. Make it again")
    check_finished(baseline, f"the baseline '{path}'")
    return list(baseline.episodes)


def check_finished(run: Run, name: str) -> None:
    """Refuse what a killed run left: unsolved episodes take longer, so those that are missing are the bad ones."""
    if not run.ended:
        raise GateError(
            f"{name} was not finished ({len(run.episodes)} of {run.plan or '?'} episodes): add --vla-resume"
        )


SNAPSHOT_SUFFIX = ".baseline"
