"""What the doctor found, and what the policy costs, on the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_vla.report.html.page import Page


@dataclass(frozen=True, slots=True)
class DoctorView:
    """One examination as the page shows it."""

    suite: str
    verdict: str
    episodes: str
    findings: list[dict[str, str]]
    remarks: list[str]
    tried: list[tuple[str, str, str]]


def doctor_view(page: Page) -> list[DoctorView] | None:
    """Every examination of the run; None where there was none."""
    found = [view for line in page.run.of_type("doctor") if (view := _view(line)) is not None]
    return found or None


def _view(line: dict[str, Any]) -> DoctorView | None:
    """A line of a run file may hold anything: one that cannot be shown is left out."""
    try:
        names = ("fault", "cure", "before", "after", "evidence")
        return DoctorView(
            suite=str(line["suite"]),
            verdict=str(line.get("verdict", "")),
            episodes=str(line.get("episodes", "")),
            findings=[{name: str(each.get(name, "")) for name in names} for each in line["findings"]],
            remarks=[str(remark) for remark in line.get("remarks", ())],
            tried=[_tried(each) for each in line.get("tried", ())],
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _tried(each: dict[str, Any]) -> tuple[str, str, str]:
    change = ", ".join(f"no {name}" if value is None else f"{name} = {value}" for name, value in each["change"].items())
    solved = each["solved"]
    return change, "–" if each.get("agreement") is None else f"{each['agreement']:.2f}", f"{solved[0]} of {solved[1]}"
