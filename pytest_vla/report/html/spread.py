"""The run inside the spread of what papers report of the same benchmark: its interval beside each method's values."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_vla.report import distributions
from pytest_vla.report.distributions import CAVEAT, LARGEST_COUNT, SHOWN, Distribution, Level
from pytest_vla.report.html.page import Page
from pytest_vla.report.html.success import Rate


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """Five numbers of one method, in percent, and where the run lies among them."""

    published: Distribution
    where: str


@dataclass(frozen=True, slots=True)
class SpreadLevel:
    """The run's episodes of one suite of a benchmark, and what is published of it."""

    name: str
    run: Rate
    rows: list[SpreadRow]


@dataclass(frozen=True, slots=True)
class Spread:
    source: str
    updated: str
    caveat: str
    levels: list[SpreadLevel]
    warnings: list[str]


def spread_view(page: Page) -> Spread | None:
    """None where no paper's values are known of what was run, or they are no rates."""
    known = distributions.load()
    besides = [level for level in distributions.beside(page.run, known) if _rates(level)]
    if not besides:
        return None
    levels = [_level(level) for level in besides]
    return Spread(known.source, known.updated, CAVEAT, levels, distributions.warnings(page.run, besides))


def _rates(level: Level) -> list[Distribution]:
    """What can stand beside a success rate: an average number of subtasks cannot."""
    return [each for each in level.published if each.most > LARGEST_COUNT]


def _level(level: Level) -> SpreadLevel:
    name = f"{level.benchmark}/{level.suite}" if level.suite else level.benchmark
    rows = [SpreadRow(each, each.share_below(100 * (level.tally.rate or 0.0))) for each in _rates(level)[: 1 + SHOWN]]
    return SpreadLevel(name, Rate(level.tally), rows)
