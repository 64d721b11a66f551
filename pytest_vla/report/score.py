"""A suite's own score, where that is not its success rate: CALVIN's average length, for one."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from pytest_vla.registry import get_suite
from pytest_vla.run import Run
from pytest_vla.run.table import ERROR
from pytest_vla.suite import Score, SuiteError

NORMAL_95 = 1.96


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of a run in one suite; its interval is None where one episode says nothing of the spread."""

    suite: str
    score: Score
    value: float
    interval: tuple[float, float] | None
    episodes: int

    def __str__(self) -> str:
        bounds = "" if self.interval is None else f" [{self.interval[0]:.2f}, {self.interval[1]:.2f}]"
        value = f"{self.score.name} {self.value:.3f} of {self.score.most:g}{bounds}"
        return f"{self.suite}: {value} over {self.episodes} episodes"


def scores(run: Run) -> list[Scored]:
    """The scores of the suites of a run that have one, over what was measured of its unperturbed episodes."""
    return [found for suite, score in _of_suites(run).items() if (found := _scored(run, suite, score)) is not None]


def _of_suites(run: Run) -> dict[str, Score]:
    found = {}
    for name in dict.fromkeys(cell.suite for cell in run.table.cells):
        try:
            score = get_suite(name).score
        except SuiteError:
            continue  # it is not installed here
        if score is not None:
            found[name] = score
    return found


def _scored(run: Run, suite: str, score: Score) -> Scored | None:
    table = run.once
    measured = table.of_cells(lambda cell: cell.suite == suite and not cell.perturbation)
    measured = measured.where(measured.outcome != ERROR)
    shares = [record.result.progress for record in run.records_of(measured) if record.result.progress is not None]
    if not shares:
        return None
    value, spread = score.most * mean(shares), score.most * stdev(shares) if len(shares) > 1 else None
    half = None if spread is None else NORMAL_95 * spread / sqrt(len(shares))
    interval = None if half is None else (max(0.0, value - half), min(score.most, value + half))
    return Scored(suite, score, value, interval, len(shares))
