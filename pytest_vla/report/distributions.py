"""What papers report of a benchmark: the spread of published values, computed from a public leaderboard, beside a run.

One method measured by sixty papers has sixty values. A run's interval inside that spread says more than the one number
of one table. Shipped are the distributions only; `pytest-vla published update` computes them again from the rows.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles
from typing import Any

from pytest_vla.episode import Cell
from pytest_vla.gate.side_by_side import aligned
from pytest_vla.report.errors import ReportError
from pytest_vla.report.published import published_lines
from pytest_vla.run import Run, Tally, sum_by
from pytest_vla.suggest import unknown

SHIPPED = Path(__file__).parent / "data" / "published.json"
FORMAT = "pytest-vla published distributions 1"
ALL = "all methods"
FEWEST_PAPERS = 5
SHOWN = 6
LARGEST_COUNT = 5
"""Scores that stay below it are no percentages but a number of subtasks: a rate is not compared with them."""
LARGEST_FILE = 64 << 20
CAVEAT = (
    "Papers differ in training, protocol and episodes, and most state no interval: to lie inside the spread is no proof"
)


@dataclass(frozen=True, slots=True)
class Distribution:
    """The published values of one method (or of all) on one benchmark, or on one suite of it."""

    benchmark: str
    suite: str
    """Empty for the benchmark's own overall score."""
    method: str
    papers: int
    least: float
    p10: float
    median: float
    p90: float
    most: float

    def share_below(self, value: float) -> str:
        """Where a value lies, in words that five numbers allow."""
        below = ((self.least, "below all"), (self.p10, "in the lowest tenth"), (self.median, "below the median"))
        for bound, text in below:
            if value < bound:
                return text
        if value <= self.p90:
            return "above the median"
        return "in the highest tenth" if value <= self.most else "above all"


@dataclass(frozen=True)
class Published:
    """All distributions, with where they come from."""

    source: str
    updated: str
    distributions: tuple[Distribution, ...]

    def of(self, benchmark: str, suite: str) -> list[Distribution]:
        """All methods first, then by how many papers measured them."""
        found = [each for each in self.distributions if (each.benchmark, each.suite) == (benchmark, suite)]
        return sorted(found, key=lambda each: (each.method != ALL, -each.papers, each.method))

    def benchmarks(self) -> dict[str, set[str]]:
        """The suites of each benchmark."""
        found: dict[str, set[str]] = defaultdict(set)
        for each in self.distributions:
            found[each.benchmark].add(each.suite)
        return found


def distributions(rows: Iterable[Mapping[str, Any]]) -> list[Distribution]:
    """Five numbers of each method that enough papers measured, and of all methods together."""
    rows = list(rows)
    names = _names(rows)
    values: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for row in rows:
        scores = {"": row.get("overall_score"), **(row.get("suite_scores") or {})}
        place = f"{row['model']} {row.get('reported_paper')}"
        for suite, score in scores.items():
            if isinstance(score, (int, float)) and not isinstance(score, bool):
                for method in (names[_method(row)], ALL):
                    values[str(row["benchmark"]), suite, method][place] = float(score)
    found = []
    for (benchmark, suite, method), by_paper in sorted(values.items()):
        numbers = sorted(by_paper.values())
        if len(numbers) >= FEWEST_PAPERS:
            tenths = quantiles(numbers, n=10, method="inclusive")
            figures = (numbers[0], tenths[0], tenths[4], tenths[8], numbers[-1])
            rounded = [round(figure, 2) for figure in figures]
            found.append(Distribution(benchmark, suite, method, len(numbers), *rounded))
    return found


def _method(row: Mapping[str, Any]) -> str:
    """The method behind a row: `METHOD__MEASURING_PAPER` where somebody else measured it."""
    return str(row["model"]).partition("__")[0]


def _names(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What each method is called most, without who measured it; two of one name are told apart by their keys."""
    called: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        called[_method(row)][re.sub(r"\s*\(from .*\)$", "", str(row["display_name"]))] += 1
    names = {method: min(counts, key=lambda name: (-counts[name], name)) for method, counts in called.items()}
    times = Counter(names.values())
    return {method: name if times[name] == 1 else f"{name} ({method})" for method, name in names.items()}


def read_leaderboard(text: str, source: str) -> Published:
    """The distributions of a public leaderboard file; ReportError where it has another schema."""
    try:
        data = json.loads(text)
        rows = data["results"]
        found = Published(source, str(data["last_updated"]), tuple(distributions(rows)))
    except (KeyError, TypeError, ValueError) as error:
        raise ReportError(
            f"'{source}' is no leaderboard of the known schema (last_updated, and results with model, display_name, "
            f"benchmark, overall_score and suite_scores): {error!r}"
        ) from None
    if not found.distributions:
        raise ReportError(f"'{source}' has no method that {FEWEST_PAPERS} papers measured")
    return found


def own_file() -> Path:
    """Where a person's own update goes, used instead of the shipped one."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "pytest-vla" / "published.json"


def load() -> Published:
    """The person's own distributions where there are any, else the shipped ones."""
    path = own_file() if own_file().exists() else SHIPPED
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ValueError(data["format"])
        return Published(data["source"], data["updated"], tuple(Distribution(**row) for row in data["distributions"]))
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise ReportError(f"'{path}' is not what `pytest-vla published update` writes ({error!r}): delete it") from None


def save(found: Published, path: Path) -> None:
    data = {"format": FORMAT, "source": found.source, "updated": found.updated}
    rows = ",\n  ".join(json.dumps(asdict(each)) for each in found.distributions)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data)[:-1] + ', "distributions": [\n  ' + rows + "\n]}\n", encoding="utf-8")
    except OSError as error:
        raise ReportError(f"cannot write '{path}': {error.strerror or error}") from error


@dataclass(frozen=True)
class Level:
    """A run's episodes of one suite of a benchmark, beside what is published of it."""

    benchmark: str
    suite: str
    tally: Tally
    published: Sequence[Distribution]


def beside(run: Run, known: Published) -> list[Level]:
    """What of a run has published values, level by level; perturbed episodes have none."""
    suites = known.benchmarks()
    plain = {cell: tally for cell, tally in run.once.tallies().items() if not cell.perturbation and tally.measured}
    named = sum_by(plain, lambda cell: _place(cell, suites))
    return [Level(*place, tally, known.of(*place)) for place, tally in named.items() if place is not None]


def _place(cell: Cell, suites: Mapping[str, set[str]]) -> tuple[str, str] | None:
    """The benchmark and its suite that a cell is of."""
    suite = cell.suite.lower()
    for benchmark, names in suites.items():
        if suite in names and suite:
            return benchmark, suite
        if suite in (benchmark, f"{benchmark}benchmark"):
            return (benchmark, cell.partition) if cell.partition in names else (benchmark, "")
    return None


def beside_text(run: Run, known: Published) -> str:
    """The run beside its suites' published tables and inside the spread of papers, and what weakens the comparison."""
    levels, tables = beside(run, known), published_lines(run)
    if not levels and not tables:
        listed = ", ".join(sorted(known.benchmarks()))
        raise ReportError(f"nothing of this run has published values; there are some of {listed}")
    if not levels:
        return "\n".join(tables).strip()
    lines = [*tables, ""] if tables else []
    for level in levels:
        rate, interval, measured, errors = level.tally.texts()
        name = f"{level.benchmark}/{level.suite}" if level.suite else level.benchmark
        lines += [f"{name}: this run {rate} {interval} n={measured}" + (f", {errors} errors apart" if errors else "")]
        header = ("published", "papers", "least", "p10", "median", "p90", "most", "this run is")
        lines += [*aligned(header, [_row(each, level.tally) for each in level.published[: 1 + SHOWN]]), ""]
    lines += [f"from {known.source}, {known.updated}. {CAVEAT}", *warnings(run, levels)]
    return "\n".join(line.rstrip() for line in lines)


def listing(known: Published, benchmark: str | None = None) -> str:
    """What is published: of every benchmark its overall score over all methods, or of one benchmark everything."""
    names = sorted(known.benchmarks())
    if benchmark is not None and benchmark not in names:
        raise ReportError(unknown("benchmark", benchmark, names))
    rows = [
        (each.benchmark, each.suite or "overall", each.method, str(each.papers), *_figures(each))
        for each in known.distributions
        if each.benchmark == benchmark or (benchmark is None and each.method == ALL)
    ]
    header = ("benchmark", "suite", "method", "papers", "least", "p10", "median", "p90", "most")
    return "\n".join(line.rstrip() for line in [*aligned(header, rows), "", f"from {known.source}, {known.updated}"])


def warnings(run: Run, levels: Sequence[Level]) -> list[str]:
    """What of the run's own protocol makes the comparison weaker."""
    found = []
    few = [level.suite or level.benchmark for level in levels if level.tally.measured < 100]
    if few:
        found.append(f"few episodes ({', '.join(few)}): papers mostly run hundreds of each suite")
    if any(level.tally.errors for level in levels):
        found.append("errors are left out of this run's rates; most harnesses count them as failures")
    if run.stopped_early:
        found.append("the run was stopped early by its own results")
    for suite, remarks in run.table.incomparable().items():
        found += [f"{suite}: not comparable, {remark}" for remark in remarks]
    return found


def _row(each: Distribution, tally: Tally) -> tuple[str, ...]:
    where = each.share_below(100 * (tally.rate or 0.0)) if each.most > LARGEST_COUNT else "-"
    return (each.method, str(each.papers), *_figures(each), where)


def _figures(each: Distribution) -> list[str]:
    return [f"{figure:g}" for figure in (each.least, each.p10, each.median, each.p90, each.most)]
