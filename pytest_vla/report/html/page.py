"""What a page is about: one run or two, their films, and what every view is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vla.report.film import Film
from pytest_vla.run import Pairs, Run, pair

if TYPE_CHECKING:
    from pytest_vla.report.html.verdict import VerdictView


@dataclass(frozen=True)
class Side:
    """One run on the page, its rows in the order of the suites, with its films by episode id."""

    run: Run
    films: Mapping[str, Film]


@dataclass(frozen=True)
class Page:
    """All that a view may ask for. The first side is what the page is about, a second one an earlier run."""

    sides: tuple[Side, ...]
    media: Path
    """The folder of the films."""
    inline_media: bool = False

    @property
    def run(self) -> Run:
        return self.sides[0].run

    @property
    def other(self) -> Run | None:
        return self.sides[1].run if len(self.sides) > 1 else None

    @cached_property
    def verdict(self) -> VerdictView | None:
        """What the gate says of the run; None where it was not judged."""
        from pytest_vla.report.html.verdict import verdict_of

        return verdict_of(self.run, self.other)

    @cached_property
    def pairs(self) -> Pairs | None:
        """The episodes both runs share."""
        return None if self.other is None else pair(self.run.table, self.other.table)
