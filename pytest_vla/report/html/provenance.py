"""What made the runs of a page, in the words of a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_vla.report.html.page import Page
from pytest_vla.run import Run

Facts = list[tuple[str, str]]


def provenance_view(page: Page) -> list[Facts]:
    return [facts(side.run) for side in page.sides]


def facts(run: Run) -> Facts:
    """Name and value of what is known; suites are those that were run, where any was."""
    provenance, policy = run.provenance, run.policy
    commit = provenance.get("commit")
    commit = commit if isinstance(commit, dict) else {}
    versions = {suite: ", ".join(found) for suite, found in run.table.versions().items()}
    suites = versions or provenance.get("suites") or {}
    packages = provenance.get("packages") or {}
    found: list[tuple[str, Any]] = [
        ("policy", policy.text),
        ("digest", policy.digest),
        ("identity", "unverified" if policy.verified is False else ""),
        ("leaked", f"trained on {', '.join(run.leaked)}, where it counts as unseen" if run.leaked else ""),
        ("not comparable", "; ".join(f"{s}: {r}" for s, found in run.table.incomparable().items() for r in found)),
        ("converted", "; ".join(_converted(run))),
        ("made", provenance.get("created")),
        ("suites", ", ".join(f"{name} version {number}" for name, number in suites.items())),
        ("commit", f"{str(commit.get('id', ''))[:12]}{' with changes' if commit.get('dirty') else ''}"),
        ("command", " ".join(map(str, provenance.get("command") or ()))),
        ("pytest-vla", provenance.get("pytest_vla")),
        ("python", provenance.get("python")),
        ("machine", f"{provenance.get('platform', '')}, {provenance.get('cpus', '?')} cpus"),
        ("packages", ", ".join(f"{name} {number}" for name, number in packages.items())),
        ("merged from", ", ".join(map(_source, provenance.get("merged") or ()))),
    ]
    return [(name, str(value)) for name, value in found if value]


def _converted(run: Run) -> list[str]:
    """What was converted between the policy and each suite."""
    lines = run.of_type("converted")
    return [f"{line.get('suite')}: {text}" for line in lines for text in line.get("lines") or () if text]


def _source(merged: Any) -> str:
    return str(merged.get("path", "?")) if isinstance(merged, Mapping) else str(merged)
