"""What perturbations do to a policy: success by axis and level, always next to the same episodes unperturbed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_vla.report.html.views import Rate, link
from pytest_vla.report.runfile import Record
from pytest_vla.report.table import Tally

Scene = tuple[str, str, str, int]


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


def parse_levels(perturbation: str) -> dict[str, int]:
    """`camera.yaw=3,light.brightness=5` as levels by axis; parts that are not of that form have no place on the map."""
    levels = {}
    for part in perturbation.split(","):
        axis, _, level = part.partition("=")
        if axis.strip() and level.strip().isdigit():
            levels[axis.strip()] = int(level)
    return levels


def brittleness(records: Iterable[Record]) -> Brittleness | None:
    """The map of a run; None where nothing was perturbed."""
    records = list(records)
    control = {_scene(record): record for record in records if not record.get("perturbation")}
    groups: dict[tuple[str, str], dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    mixed = 0
    for record in records:
        levels = parse_levels(record.get("perturbation") or "")
        mixed += len(levels) > 1
        if len(levels) == 1:
            ((axis, level),) = levels.items()
            groups[(record["suite"], axis)][level].append(record)
    if not groups and not mixed:
        return None
    curves = [
        AxisCurve(suite, axis, _about(axis), {n: _point(n, group, control) for n, group in sorted(levels.items())})
        for (suite, axis), levels in groups.items()
    ]
    shown = sorted({level for curve in curves for level in curve.points})
    return Brittleness(curves, shown, mixed)


def _point(level: int, group: Sequence[Record], control: dict[Scene, Record]) -> Point:
    matched = [control[_scene(record)] for record in group if _scene(record) in control]
    suites, changes = {record["suite"] for record in group}, {record["perturbation"] for record in group}
    where = link(suite=suites.pop(), perturbation=changes.pop() if len(changes) == 1 else "")
    return Point(level, Rate(Tally.of(group), where), Tally.of(matched))


def _scene(record: Record) -> Scene:
    return (record["suite"], record["task"], record["partition"], record["index"])


def _about(axis: str) -> str:
    try:
        from pytest_vla.perturb.axes import AXES
    except ImportError:
        return ""
    return AXES[axis].about if axis in AXES else ""
