"""What perturbations do to a policy: success by axis and level, always next to the same episodes unperturbed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from pytest_vla.report.html.hunts import HuntMap, hunt_map
from pytest_vla.report.html.page import Page
from pytest_vla.report.html.success import Rate, link
from pytest_vla.run import Table, Tally, control_pairs, sum_by


@dataclass(frozen=True, slots=True)
class Point:
    """One level of one axis: the perturbed rate, and that of the same scenes without perturbation."""

    level: int
    rate: Rate
    control: Tally


@dataclass(frozen=True, slots=True)
class AxisCurve:
    suite: str
    axis: str
    about: str
    points: dict[int, Point]


@dataclass(frozen=True, slots=True)
class Brittleness:
    curves: list[AxisCurve]
    levels: list[int]
    mixed: int
    """Episodes with several axes off neutral, which no curve shows."""


@dataclass(frozen=True, slots=True)
class BrittlenessView:
    """What was measured perturbed, and what hunts found; at least one of them."""

    measured: Brittleness | None
    hunts: HuntMap | None


def brittleness_view(page: Page) -> BrittlenessView | None:
    measured, hunts = brittleness(page.run.once), hunt_map(page.run)
    return BrittlenessView(measured, hunts) if measured or hunts else None


def parse_levels(perturbation: str) -> dict[str, int]:
    """`camera.yaw=3,light.brightness=5` as levels by axis; parts that are not of that form have no place on the map."""
    levels = {}
    for part in perturbation.split(","):
        axis, _, level = part.partition("=")
        if axis.strip() and level.strip().removeprefix("-").isdecimal():
            levels[axis.strip()] = int(level)
    return levels


def brittleness(table: Table) -> Brittleness | None:
    """The map of a run; None where nothing was perturbed."""
    points: dict[tuple[str, str], dict[int, Point]] = defaultdict(dict)
    mixed = 0
    for perturbation in dict.fromkeys(cell.perturbation for cell in table.cells if cell.perturbation):
        levels = parse_levels(perturbation)
        if len(levels) > 1:
            mixed += len(table.of_cells(lambda cell, text=perturbation: cell.perturbation == text))  # type: ignore[misc]
        elif levels:
            ((axis, level),) = levels.items()
            for suite, point in _points(table, perturbation, level).items():
                points[(suite, axis)][level] = point
    if not points and not mixed:
        return None
    curves = [
        AxisCurve(suite, axis, _about(axis), dict(sorted(found.items()))) for (suite, axis), found in points.items()
    ]
    return Brittleness(curves, sorted({level for curve in curves for level in curve.points}), mixed)


def _points(table: Table, perturbation: str, level: int) -> dict[str, Point]:
    """One per suite that has the perturbation."""
    pairs = control_pairs(table, perturbation)
    perturbed = sum_by(pairs.new.tallies(), lambda cell: cell.suite)
    control = sum_by(pairs.old.where(pairs.old_rows).tallies(), lambda cell: cell.suite)
    return {
        suite: Point(level, Rate(tally, link(suite=suite, perturbation=perturbation)), control.get(suite, Tally()))
        for suite, tally in perturbed.items()
    }


def _about(axis: str) -> str:
    from pytest_vla.perturb.axes import AXES

    return AXES[axis].about if axis in AXES else ""
