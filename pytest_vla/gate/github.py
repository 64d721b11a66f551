"""What a gate tells GitHub Actions: a job summary, and an annotation per comparison that did not pass."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pytest_vla.gate.comparisons import group_name
from pytest_vla.gate.judge import Judgement
from pytest_vla.gate.table import cells_of, headline, markdown
from pytest_vla.gate.verdict import Verdict

LEVELS = {Verdict.FAIL: "error", Verdict.UNDECIDED: "warning"}
MOST_ANNOTATIONS = 10  # GitHub shows no more of one level per step


def write_step_summary(judgement: Judgement, environment: Mapping[str, str] = os.environ) -> None:
    """Append the verdict table to the job's page, where there is one."""
    path = environment.get("GITHUB_STEP_SUMMARY")
    if path:
        with Path(path).open("a", encoding="utf-8") as handle:
            handle.write(markdown(judgement) + "\n")


def workflow_commands(judgement: Judgement, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The annotations, one line each; none outside GitHub Actions."""
    if environment.get("GITHUB_ACTIONS") != "true":
        return []
    lines = []
    if judgement.too_many_errors:
        lines.append(_command("error", "pytest-vla gate", headline(judgement)))
    for row in judgement.rows:
        if row.verdict in LEVELS:
            _, test, n, observed, interval, asked, pvalue, verdict = cells_of(row, judgement.rules.confidence)
            message = f"{verdict}: {observed} {interval} of n={n}, asked {asked} ({test} test, p {pvalue})"
            lines.append(_command(LEVELS[row.verdict], group_name(row.comparison.group), message))
    return sorted(lines, key=lambda line: not line.startswith("::error"))[:MOST_ANNOTATIONS]


def _command(level: str, title: str, message: str) -> str:
    escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    name = title.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={name}::{escaped}"
