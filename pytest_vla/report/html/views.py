"""The parts of the page, one row each: a new one is a row here, a function of the page, and a template."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_vla.report.html.answers import answers_view
from pytest_vla.report.html.brittleness import brittleness_view
from pytest_vla.report.html.comparison import comparison_view
from pytest_vla.report.html.doctor import doctor_view
from pytest_vla.report.html.episodes import episodes_view
from pytest_vla.report.html.explain import explain_view
from pytest_vla.report.html.page import Page
from pytest_vla.report.html.provenance import provenance_view
from pytest_vla.report.html.published import published_view
from pytest_vla.report.html.spread import spread_view
from pytest_vla.report.html.success import success_view
from pytest_vla.report.html.verdict import gate_view, overview, warnings_view


@dataclass(frozen=True, slots=True)
class View:
    """One part of the page.

    The template finds what `data` returns under the name `data`, and nothing else of the run. A part with a title has
    `name` as the id of its element: there the navigation leads.
    """

    name: str
    title: str
    """Its link in the navigation; none where it is empty."""
    template: str
    data: Callable[[Page], Any | None]
    """What it shows, as frozen values; None where this page has no such part."""


#: in the order of the page
VIEWS = (
    View("overview", "Overview", "overview.html", overview),
    View("warnings", "", "warnings.html", warnings_view),
    View("gate", "", "gate.html", gate_view),
    View("success", "", "success.html", success_view),
    View("doctor", "Doctor", "doctor.html", doctor_view),
    View("answers", "Answers", "answers.html", answers_view),
    View("comparison", "Comparison", "comparison.html", comparison_view),
    View("published", "Published", "published.html", published_view),
    View("spread", "Papers", "spread.html", spread_view),
    View("brittleness", "Brittleness", "brittleness.html", brittleness_view),
    View("explain", "Why", "explain.html", explain_view),
    View("episodes", "Episodes", "episodes.html", episodes_view),
    View("provenance", "Provenance", "provenance.html", provenance_view),
)
