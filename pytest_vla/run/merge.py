"""Several run files of one policy as one: shards, machines, what a killed run left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pytest_vla.episode import EpisodeKey
from pytest_vla.run.file import Run, RunFileError
from pytest_vla.run.plan import Plan
from pytest_vla.run.record import Record
from pytest_vla.run.table import ERROR, FAULTS, OUTCOMES
from pytest_vla.run.writer import RunWriter


def merge_runs(runs: Sequence[Run], path: Path) -> int:
    """Write the union of the runs, each episode once, and their plans, hunts, verdicts and excuses; the episodes.

    An error gives way to a measurement of the same episode; the policy's own errors stay, before what replaces them.
    Whether the union is finished follows from the plans, as in any run file: a cut file stays one.
    """
    _check_policies(runs)
    _check_versions(runs)
    chosen, plan = _chosen(runs), _plan(runs)
    writer = RunWriter.create(path, _provenance(runs))
    try:
        writer.write(plan.to_record())
        for line in _lines(runs, chosen):
            writer.write(line)
    finally:
        writer.close()
    return sum(map(len, chosen))


def _check_policies(runs: Sequence[Run]) -> None:
    for run in runs[1:]:
        difference = runs[0].policy.difference(run.policy)
        if difference:
            raise RunFileError(f"these runs are of different policies and cannot be merged: {difference}")


def _check_versions(runs: Iterable[Run]) -> None:
    versions: dict[str, str] = {}
    for run in runs:
        for suite, found in run.table.versions().items():
            for version in found:
                if versions.setdefault(suite, version) != version:
                    raise RunFileError(
                        f"suite '{suite}' has version {versions[suite]} in one run and {version} in '{run.path}'"
                    )


def _chosen(runs: Sequence[Run]) -> list[list[int]]:
    """For each run the rows that the union takes from it, in their order."""
    taken: dict[EpisodeKey, tuple[int, int]] = {}
    for number, run in enumerate(runs):
        for row in range(len(run)):
            key = run.table.key(row)
            mine = run.table.outcome[row]
            if key not in taken:
                taken[key] = (number, row)
                continue
            other_number, other_row = taken[key]
            theirs = runs[other_number].table.outcome[other_row]
            if theirs == ERROR:
                taken[key] = (number, row)
            elif mine not in (ERROR, theirs):
                raise RunFileError(
                    f"episode {key} is {OUTCOMES[theirs]} in '{runs[other_number].path}' and {OUTCOMES[mine]} in "
                    f"'{run.path}': the same key must give the same outcome"
                )
    rows: list[list[int]] = [[] for _ in runs]
    for number, row in sorted(taken.values()):
        rows[number].append(row)
    return rows


def _provenance(runs: Sequence[Run]) -> dict[str, Any]:
    """The first run's, with what each of them was."""
    kept = ("created", "options", "command", "commit", "platform")
    merged = [
        {"path": str(run.path), **{name: run.provenance[name] for name in kept if name in run.provenance}}
        for run in runs
    ]
    return {**runs[0].provenance, "merged": merged}


def _lines(runs: Sequence[Run], chosen: Sequence[Sequence[int]]) -> Iterable[dict[str, Any]]:
    for run, rows in zip(runs, chosen, strict=True):
        yield from map(Record.to_record, run.records(_faults(run, rows)))
    for run, rows in zip(runs, chosen, strict=True):
        yield from map(Record.to_record, run.records(rows))
        yield from (start.to_record() for start in run.hunt_starts)
        yield from map(Record.to_record, run.probes())
        for lines in (run.hunts, run.unrun, run.failures):
            yield from (line.to_record() for line in lines)
        yield from (line for line in run.lines if line["type"] != "end")
    if all(run.ended for run in runs):
        yield {"type": "end", "episodes": sum(map(len, chosen))}


def _faults(run: Run, chosen: Sequence[int]) -> list[int]:
    """The rows that another run replaces but that still count against the policy."""
    kept, table = set(chosen), run.table
    errors = (table.outcome == ERROR).nonzero()[0].tolist()
    return [row for row in errors if row not in kept and table.reasons[table.reason[row]] in FAULTS]


def _plan(runs: Sequence[Run]) -> Plan:
    """The union. A run that says only how many episodes it planned is taken to have planned those that it has."""
    union: Plan | None = None
    for run in runs:
        plan = run.plan
        if plan is None or not len(plan.part):
            if not run.completeness(gated=True).finished:
                raise RunFileError(
                    f"'{run.path}' is of an older version and unfinished: what it lacks is not known. Finish it with "
                    "--vla-resume first"
                )
            plan = Plan(run.items, run.items)
        union = plan if union is None else union | plan
    return union or Plan()
