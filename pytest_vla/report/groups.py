"""Results by groups of tasks, where a suite has them: what kind of thing a policy can do, whatever the level."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_vla.episode import Cell
from pytest_vla.registry import get_suite
from pytest_vla.run import Tally, sum_by
from pytest_vla.suite import SuiteError


def grouped(tallies: Mapping[Cell, Tally]) -> dict[Cell, Tally]:
    """Unperturbed tallies with a group in the place of the task, in the order of the groups."""
    groups = {suite: _groups(suite) for suite in dict.fromkeys(cell.suite for cell in tallies)}
    plain = {
        cell: tally for cell, tally in tallies.items() if not cell.perturbation and cell.task in groups[cell.suite]
    }
    pooled = sum_by(plain, lambda cell: cell._replace(task=groups[cell.suite][cell.task]))
    places = {suite: list(dict.fromkeys(names.values())) for suite, names in groups.items()}
    return dict(sorted(pooled.items(), key=lambda item: places[item[0].suite].index(item[0].task)))


def _groups(suite: str) -> dict[str, str]:
    """The group of each task, in the order of the groups; none of a suite that is not installed here."""
    try:
        return {task: name for name, tasks in get_suite(suite).groups().items() for task in tasks}
    except SuiteError:
        return {}
