"""What the page says first: the gate's verdict where the run was judged, what is missing, and what is damaged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from pytest_vla.gate.read import gate_lines, judge_run
from pytest_vla.gate.table import cells_of, headline, remarks
from pytest_vla.gate.verdict import GateError
from pytest_vla.report.runfile import Run
from pytest_vla.suite import SuiteError, get_suite

DEFAULT_EPISODES = 10


@dataclass(frozen=True, slots=True)
class VerdictView:
    """The verdict in words; `kind` is pass, fail, undecided or none."""

    kind: str
    headline: str
    header: tuple[str, ...] = ()
    rows: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Missing:
    """What is not in a run file that should be."""

    episodes: int = 0
    planned: int | None = None
    ended: bool = True
    cells: list[str] = field(default_factory=list)
    damaged: list[tuple[int, str]] = field(default_factory=list)


def verdict_of(run: Run, other: Run | None = None) -> VerdictView | None:
    """The gate's verdict once more, from the rules in the run file; None for a run without a gate."""
    if not gate_lines(run):
        return None
    own = (run.provenance.get("options") or {}).get("baseline")
    elsewhere = other.path if other is not None and own is not None and not Path(own).exists() else None
    try:
        judgement = judge_run(run, elsewhere)
    except (GateError, KeyError, TypeError, ValueError) as error:
        return VerdictView("none", "The gate cannot be judged again", remarks=[str(error)])
    confidence = judgement.rules.confidence
    return VerdictView(
        str(judgement.verdict),
        headline(judgement).removeprefix("vla gate: "),
        ("suite/task/partition", "test", "n", "observed", f"{100 * confidence:g}% CI", "asked", "p-value", "verdict"),
        [(str(row.verdict), cells_of(row, confidence)) for row in judgement.rows],
        remarks(judgement),
    )


def missing(run: Run) -> Missing:
    """How far a run came: planned and finished episodes, the cells that lack some, and lines that cannot be read."""
    lacking = run.plan - len(run.episodes) if run.plan is not None else 0
    cells = _cells(run) if lacking > 0 else []
    return Missing(max(0, lacking), run.plan, run.ended, cells, run.damaged)


def _cells(run: Run) -> list[str]:
    """Cells with fewer episodes than were planned, where the options of the run explain its plan."""
    options = run.provenance.get("options") or {}
    done = Counter((r["suite"], r["task"], r["partition"]) for r in run.episodes if not r.get("perturbation"))
    names = list(options.get("suite") or dict.fromkeys(cell[0] for cell in done))
    try:
        planned = [
            (name, task, partition)
            for name in names
            for task, partition in get_suite(name).select(options.get("task") or (), options.get("partition") or ())
        ]
    except SuiteError:
        return []
    count = int(options.get("episodes") or DEFAULT_EPISODES) * max(1, int(options.get("repeat") or 1))
    if count * len(planned) != run.plan:
        return []
    return [f"{'/'.join(cell)}: {done[cell]} of {count}" for cell in planned if done[cell] < count]
