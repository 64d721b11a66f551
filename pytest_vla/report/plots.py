"""Figures for a paper: success by level, brittleness curves, and how many episodes an answer takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.report.errors import ReportError
from pytest_vla.report.html.brittleness import brittleness
from pytest_vla.report.html.success import levels
from pytest_vla.report.order import told_apart
from pytest_vla.run import Run
from pytest_vla.run.intervals import rate_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#2458c6", "#c2570c", "#0f766e", "#7b3fa0", "#b3261e", "#5a6472")
MARKERS = "osD^vP"
SUFFIXES = (".png", ".svg")
POWER_SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000)
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "figure.dpi": 150,
    "svg.fonttype": "none",
    "svg.hashsalt": "pytest-vla",
}


def write_plots(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write every figure the runs have data for, as PNG and SVG; the paths written."""
    try:
        import matplotlib
    except ImportError:
        raise ReportError('figures need matplotlib: pip install "pytest-vla[report]"') from None
    if not any(len(run) for run in runs):
        raise ReportError("nothing to draw: no episode was finished")
    names = told_apart(runs)
    with matplotlib.rc_context(STYLE):
        figures = {
            "success_by_level": success_by_level(runs, names),
            "power": power_curves(runs, names),
            "brittleness": brittleness_curves(runs, names),
        }
        folder.mkdir(parents=True, exist_ok=True)
        return [
            _save(figure, folder / f"{name}{suffix}")
            for name, figure in figures.items()
            if figure is not None
            for suffix in SUFFIXES
        ]


def success_by_level(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    """A dot with its 95% interval per level and run, one panel per suite."""
    tables = [levels(run.once) for run in runs]
    suites = list(dict.fromkeys(suite for table in tables for suite in table))
    figure, panels = _panels(len(suites), 4.2)
    for axes, suite in zip(panels, suites, strict=True):
        partitions = list(dict.fromkeys(level.name for table in tables for level in table.get(suite, ())))
        for number, (table, name) in enumerate(zip(tables, names, strict=True)):
            shift = 0.16 * (number - (len(runs) - 1) / 2)
            found = [level for level in table.get(suite, ()) if level.rate.value is not None]
            _dots(
                axes,
                [partitions.index(level.name) + shift for level in found],
                [(level.rate.value or 0.0, *level.rate.interval) for level in found],
                number,
                name,
            )
        counts = [_count(tables, suite, partition) for partition in partitions]
        words = [partition.replace("_", "\n") for partition in partitions]
        labels = [f"{word}\nn = {count}" for word, count in zip(words, counts, strict=True)]
        axes.set_xticks(range(len(partitions)), labels, fontsize=8)
        axes.set_xlim(-0.5, len(partitions) - 0.5)
        _rate_axis(axes, f"success, 95% interval ({suite})")
    _legend(panels[0], names)
    return figure


def power_curves(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    """How wide the interval of a rate is after so many episodes, at the rates that were seen."""
    figure, (axes,) = _panels(1, 5.0)
    for number, (run, name) in enumerate(zip(runs, names, strict=True)):
        tally = run.once.tally()
        if tally.rate is None:
            continue
        widths = [_width(tally.rate, size) for size in POWER_SIZES]
        color, marker = COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)]
        axes.plot(POWER_SIZES, widths, color=color, marker=marker, ms=4, label=f"{name}, at {100 * tally.rate:.0f}%")
        axes.plot([tally.measured], [_width(tally.rate, tally.measured)], "*", ms=11, color=color)
    axes.set_xscale("log")
    axes.set_xlabel("episodes (star: this run)")
    axes.set_ylabel("width of the 95% interval, points")
    axes.set_ylim(0)
    axes.legend(frameon=False)
    return figure


def brittleness_curves(runs: Sequence[Run], names: Sequence[str]) -> Figure | None:
    """Success by level of each axis, from the unperturbed control at level 0; None where nothing was perturbed."""
    maps = [brittleness(run.once) for run in runs]
    axes_names = list(dict.fromkeys(curve.axis for found in maps if found for curve in found.curves))
    if not axes_names:
        return None
    figure, panels = _panels(len(axes_names), 2.6)
    for panel, axis in zip(panels, axes_names, strict=True):
        for number, found in enumerate(maps):
            for curve in found.curves if found else ():
                if curve.axis != axis:
                    continue
                first = next(iter(curve.points.values())).control
                control = [(0, first)] if first.measured else []
                points = control + [(level, point.rate.tally) for level, point in curve.points.items()]
                known = [(level, tally) for level, tally in points if tally.rate is not None]
                rates = [(tally.rate or 0.0, *rate_interval(tally.solved, tally.measured)) for _, tally in known]
                _dots(panel, [level for level, _ in known], rates, number, names[number], line=True)
        panel.set_xlabel("level (0: the same scenes unperturbed)")
        panel.set_title(axis, fontsize=9)
        _rate_axis(panel, "success, 95% interval")
    _legend(panels[0], names)
    return figure


def _panels(count: int, width: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    columns = min(count, 3)
    rows = -(-count // columns)
    figure = Figure(figsize=(max(4.2, width * columns), 3.1 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    panels = list(grid.flat)
    for spare in panels[count:]:
        spare.set_axis_off()
    return figure, panels[:count]


def _dots(
    axes: Any,
    places: Sequence[float],
    rates: Sequence[tuple[float, float, float]],
    number: int,
    name: str,
    line: bool = False,
) -> None:
    values = [100 * rate for rate, _, _ in rates]
    low = [max(0.0, 100 * (rate - bound)) for rate, bound, _ in rates]
    high = [max(0.0, 100 * (bound - rate)) for rate, _, bound in rates]
    color, marker = COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)]
    axes.errorbar(
        places, values, yerr=[low, high], fmt=f"{marker}-" if line else marker, ms=4.5, capsize=2.5, lw=1.2,
        color=color, label=name,
    )  # fmt: skip


def _rate_axis(axes: Any, label: str) -> None:
    axes.set_ylim(-3, 103)
    axes.set_ylabel(label)


def _legend(axes: Any, names: Sequence[str]) -> None:
    if len(names) > 1:
        axes.legend(frameon=False, fontsize=8)


def _count(tables: Sequence[Any], suite: str, partition: str) -> str:
    counts = [level.rate.tally.measured for t in tables for level in t.get(suite, ()) if level.name == partition]
    return str(counts[0]) if len(set(counts)) == 1 else ", ".join(map(str, counts))


def _width(rate: float, size: int) -> float:
    low, high = rate_interval(round(rate * size), size)
    return 100 * (high - low)


def _save(figure: Any, path: Path) -> Path:
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    try:
        figure.savefig(path, metadata=metadata)
    except OSError as error:
        raise ReportError(f"cannot write '{path}': {error.strerror or error}") from error
    return path
