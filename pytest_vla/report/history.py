"""A folder of runs as a series: success over commits with intervals, and where it changed beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_vla.gate.side_by_side import aligned
from pytest_vla.report.errors import ReportError
from pytest_vla.run import FILE_NAME, Run, RunFileError, Tally, read_run, sum_by

ERROR = 0.05
"""The chance that a series without a change shows any."""
WIDTH, HEIGHT, EDGE = 640, 180, 14
COMMIT_LETTERS = 9


@dataclass(frozen=True, slots=True)
class Moment:
    """One run in the series of a suite."""

    created: str
    commit: str
    policy: str
    name: str
    tally: Tally
    changed: int
    """1 where it went up from here on, -1 where it went down, beyond chance; else 0."""


@dataclass(frozen=True)
class Series:
    """The runs of one suite, the oldest first."""

    suite: str
    moments: tuple[Moment, ...]


def read_history(folder: Path) -> list[Run]:
    """All runs below a folder that can be read and have episodes, the oldest first."""
    runs = []
    for file in sorted(folder.rglob(FILE_NAME)):
        try:
            run = read_run(file)
        except RunFileError:
            continue
        if len(run):
            runs.append(run)
    if not runs:
        raise ReportError(f"there is no run with episodes below '{folder}'")
    return sorted(runs, key=lambda run: str(run.provenance.get("created", "")))


def history(runs: Sequence[Run]) -> list[Series]:
    """A series for each suite, over unperturbed episodes."""
    by_suite: dict[str, list[tuple[Run, Tally]]] = {}
    for run in runs:
        plain = {cell: tally for cell, tally in run.once.tallies().items() if not cell.perturbation and tally.measured}
        for suite, tally in sum_by(plain, lambda cell: cell.suite).items():
            by_suite.setdefault(suite, []).append((run, tally))
    return [Series(suite, tuple(_moments(found))) for suite, found in sorted(by_suite.items())]


def changes(tallies: Sequence[Tally]) -> list[int]:
    """Where a series moved beyond chance: each run against all since the last change, Bonferroni over the series."""
    from scipy.stats import fisher_exact

    limit = ERROR / max(len(tallies) - 1, 1)
    marks, since = [0] * len(tallies), Tally()
    for place, tally in enumerate(tallies):
        if since.measured:
            table = [[tally.solved, tally.measured - tally.solved], [since.solved, since.measured - since.solved]]
            if float(fisher_exact(table).pvalue) <= limit:
                marks[place] = 1 if (tally.rate or 0.0) > (since.rate or 0.0) else -1
                since = Tally()
        since = since + tally
    return marks


def history_text(series: Sequence[Series]) -> str:
    lines = []
    for each in series:
        rows = [
            (
                m.created[:16].replace("T", " "),
                m.commit[:COMMIT_LETTERS] or "-",
                m.policy,
                *m.tally.texts()[:3],
                _mark(m),
            )
            for m in each.moments
        ]
        lines += [each.suite, *aligned(("made", "commit", "policy", "success", "95% CI", "n", ""), rows), ""]
    return "\n".join([line.rstrip() for line in lines] + [ABOUT])


ABOUT = (
    f"changed: unlike all runs since the last change, by Fisher's exact test; a series without any change shows one in "
    f"{ERROR:.0%} of cases"
)


def write_history(series: Sequence[Series], output: str | Path) -> Path:
    """The page that CI publishes: a drawing and a table for each suite, in one file."""
    from pytest_vla.report.html.build import write_page

    drawn = [{"suite": each.suite, "moments": each.moments, "points": _points(each)} for each in series]
    return write_page(output, "history.html", series=drawn, about=ABOUT, width=WIDTH, height=HEIGHT, edge=EDGE)


def _points(series: Series) -> list[dict[str, Any]]:
    """Where each run is drawn."""
    count = len(series.moments)
    points = []
    for place, moment in enumerate(series.moments):
        low, high = moment.tally.interval() or (0.0, 1.0)
        x = EDGE + (WIDTH - 2 * EDGE) * (place + 0.5) / count
        ys = [EDGE + (HEIGHT - 2 * EDGE) * (1 - share) for share in (moment.tally.rate or 0.0, low, high)]
        points.append({"x": round(x, 1), "y": round(ys[0], 1), "low": round(ys[1], 1), "high": round(ys[2], 1)})
    return points


def _moments(found: Sequence[tuple[Run, Tally]]) -> list[Moment]:
    marks = changes([tally for _, tally in found])
    return [
        Moment(
            str(run.provenance.get("created", "")),
            str((run.provenance.get("commit") or {}).get("id", "")),
            run.policy.text,
            run.path.parent.name,
            tally,
            mark,
        )
        for (run, tally), mark in zip(found, marks, strict=True)
    ]


def _mark(moment: Moment) -> str:
    return {1: "changed: better", -1: "changed: worse", 0: ""}[moment.changed]
