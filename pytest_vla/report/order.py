"""The order of a report: as the suites list their cells, not as episodes happened to end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_vla.episode import Cell
from pytest_vla.registry import get_suite
from pytest_vla.run import Run, Tally
from pytest_vla.suite import SuiteError


def suite_order(cells: Iterable[Cell]) -> list[Cell]:
    """The order the suites list their cells in; as they come where a suite is not installed here."""
    cells = list(cells)
    places = {suite: _places(suite) for suite in {cell.suite for cell in cells}}

    def place(numbered: tuple[int, Cell]) -> tuple[str, int, Cell]:
        number, cell = numbered
        known = places[cell.suite]
        return (cell.suite, number if known is None else known.get((cell.task, cell.partition), 0), cell)

    return [cell for _, cell in sorted(enumerate(cells), key=place)]


def ordered(tallies: Mapping[Cell, Tally]) -> dict[Cell, Tally]:
    """The same tallies in that order."""
    return {cell: tallies[cell] for cell in suite_order(tallies)}


def in_suite_order(run: Run) -> Run:
    """The same run with its rows in that order."""
    order = suite_order(run.table.cells)
    return run if order == list(run.table.cells) else replace(run, table=run.table.arranged(order))


def _places(suite: str) -> dict[tuple[str, str], int] | None:
    try:
        return {cell: number for number, cell in enumerate(get_suite(suite).cells())}
    except SuiteError:
        return None


def told_apart(runs: Sequence[Run]) -> list[str]:
    """What tells the runs apart, as short as it can be: the end of the policies' names, or of the runs' folders."""
    choices = ([run.policy.text for run in runs], [str(run.path.parent) for run in runs])
    for texts in choices:
        for length in range(1, max(text.count("/") for text in texts) + 2):
            names = ["/".join(text.rstrip("/").split("/")[-length:]) for text in texts]
            if all(names) and len(set(names)) == len(names):
                return names
    return [str(run.path) for run in runs]
