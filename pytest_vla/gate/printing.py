"""The verdict as people read it: a table in a terminal, Markdown on a page, annotations in GitHub Actions."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_vla.gate.evidence import Verdict
from pytest_vla.gate.judge import Judgement, Row
from pytest_vla.gate.ledger import spent
from pytest_vla.gate.metric_rules import MetricSample
from pytest_vla.gate.questions import ANCHOR
from pytest_vla.gate.rules import Group
from pytest_vla.gate.samples import PairedSample, RateSample

MOST_WIDTH = 1000  # columns: a table is as wide as it is, since one cut short would hide the verdict
HEADER = ("suite/task/partition", "test", "n", "observed", "CI", "asked", "p-value", "verdict")
LEVELS = {Verdict.FAIL: "error", Verdict.UNDECIDED: "warning"}
MOST_ANNOTATIONS = 10  # GitHub shows no more of one level per step
COLORS = {Verdict.PASS: "green", Verdict.FAIL: "red", Verdict.UNDECIDED: "yellow"}


def cells_of(row: Row, confidence: float) -> tuple[str, ...]:
    """One row of the table as text."""
    comparison, sample = row.comparison, row.comparison.sample
    name = str(comparison.group)
    if comparison.against == ANCHOR:
        name += " since the anchor"
    if not sample.size:
        return (name, sample.test, "0", "-", "-", _asked(row), "-", _verdict_text(row))
    return (
        name,
        sample.test,
        str(sample.size),
        _observed(row),
        _range(row),
        _asked(row),
        f"{row.pvalue:.3f}" if row.pvalue >= 0.0005 else "<0.001",
        _verdict_text(row),
    )


def render(judgement: Judgement, color: bool = False) -> str:
    """The table and everything a person must know with it."""
    from io import StringIO

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in _header(judgement):
        right = title in ("n", "observed", "p-value") or title.endswith("CI")
        table.add_column(title, justify="right" if right else "left", no_wrap=True)
    for row in judgement.rows:
        table.add_row(*cells_of(row, judgement.rules.confidence), style=COLORS[row.verdict])
    text = StringIO()
    console = Console(
        file=text,
        width=MOST_WIDTH,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
    )
    if judgement.rows:
        console.width = console.measure(table).maximum
        console.print(table)
    lines = [line.rstrip() for line in text.getvalue().rstrip("\n").splitlines()]
    return "\n".join([*lines, *remarks(judgement), headline(judgement)])


def markdown(judgement: Judgement) -> str:
    """The same for a pull request or a job summary."""
    header = _header(judgement)
    lines = [f"### {headline(judgement)}", ""]
    if judgement.rows:
        lines += [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}"]
        lines += [f"| {' | '.join(cells_of(row, judgement.rules.confidence))} |" for row in judgement.rows]
    lines += ["", *(f"- {remark}" for remark in remarks(judgement))]
    return "\n".join(lines).rstrip() + "\n"


def headline(judgement: Judgement) -> str:
    """One line with the verdict and its exit code."""
    verdict, rows = judgement.verdict, judgement.rows
    if judgement.too_many_errors:
        why = f"{judgement.errors} errors, {judgement.max_errors} allowed (--vla-max-errors)"
    elif judgement.objections:
        why = f"{judgement.objections} tests failed although their episodes were solved"
    elif verdict is Verdict.UNDECIDED and not judgement.finished:
        why = str(judgement.complete)
    elif verdict is Verdict.UNDECIDED and judgement.missing:
        why = f"the baseline has {_listed(judgement.missing)}, this run has not"
    elif not rows:
        why = "nothing was compared: no threshold and no baseline is about what was run"
    else:
        named = [row.comparison.group for row in rows if row.verdict is verdict and _decides(row)]
        needed = sum(not row.comparison.guard for row in rows)
        guards = f", and none of {len(rows) - needed} tasks is proven worse" if needed < len(rows) else ""
        why = f"all {needed} comparisons{guards}" if verdict is Verdict.PASS else _listed(named)
    return f"vla gate: {verdict.upper()} (exit {judgement.exit_code}): {why}"


def remarks(judgement: Judgement) -> list[str]:
    """Why a comparison was made as it was, how many episodes are missing, and what is made of errors."""
    lines: list[str] = []
    notes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in judgement.rows:
        if row.comparison.note:
            notes[(row.comparison.sample.test, row.comparison.note)].append(str(row.comparison.group))
    for (test, note), names in notes.items():
        where = names[0] if len(names) == 1 else f"{len(names)} comparisons"
        lines.append(f"{where}: {test}, {note}")
    if judgement.complete is not None and not judgement.finished:
        lines.append(f"{judgement.complete}: judged so far, by the episodes before which none is missing")
    if judgement.outside:
        lines.append(f"the baseline also has {_listed(judgement.outside)}, which this run was not asked for")
    for row in judgement.rows:
        if row.comparison.against == ANCHOR and row.comparison.sample.size:
            low, high = (100 * end for end in row.interval)
            moved = f"{100 * row.comparison.sample.effect():+.1f} points [{low:+.0f}, {high:+.0f}]"
            lines.append(f"{row.comparison.group}: moved by {moved} since the anchor")
    more = [row.more for row in judgement.rows if row.verdict is Verdict.UNDECIDED and row.more is not None]
    if more:
        lines.append(f"undecided: about {max(more)} more episodes each would decide, if the rates stay as observed")
    if judgement.errors and not judgement.too_many_errors:
        lines.append(
            f"{judgement.errors} errors are left out of every rate; a pass holds with the policy's as failures, a fail "
            "with them as successes"
        )
    if judgement.attempt is not None and judgement.attempt > 1:
        needed = 100 * (1 - judgement.rules.alpha * spent(judgement.attempt))
        lines.append(f"verdict number {judgement.attempt} on this policy: a pass needs {needed:.4g}% confidence by now")
    percent = 100 * judgement.rules.alpha
    lines.append(f"each error rate, at most {percent:g}%, {judgement.guarantee}")
    return lines


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
    if judgement.too_many_errors or judgement.objections or not judgement.finished:
        lines.append(_command(LEVELS.get(judgement.verdict, "warning"), "pytest-vla gate", headline(judgement)))
    for row in judgement.rows:
        if row.verdict in LEVELS and _decides(row):
            _, test, n, observed, interval, asked, pvalue, verdict = cells_of(row, judgement.rules.confidence)
            message = f"{verdict}: {observed} {interval} of n={n}, asked {asked} ({test} test, p {pvalue})"
            lines.append(_command(LEVELS[row.verdict], str(row.comparison.group), message))
    return sorted(lines, key=lambda line: not line.startswith("::error"))[:MOST_ANNOTATIONS]


def _decides(row: Row) -> bool:
    """Whether the gate's verdict may come from this row."""
    return not row.comparison.guard or row.verdict is Verdict.FAIL


def _listed(names: Sequence[Group]) -> str:
    """At most five by name."""
    unique = list(dict.fromkeys(map(str, names)))
    shown = ", ".join(unique[:5])
    return shown if len(unique) <= 5 else f"{shown} and {len(unique) - 5} more"


def _header(judgement: Judgement) -> tuple[str, ...]:
    confidence = f"{100 * judgement.rules.confidence:g}% CI"
    return tuple(confidence if title == "CI" else title for title in HEADER)


def _observed(row: Row) -> str:
    sample = row.comparison.sample
    effect = sample.effect()
    if isinstance(sample, MetricSample):
        return f"{effect:.4f}"
    if isinstance(sample, RateSample):
        return f"{100 * effect:.1f}%"
    flips = f" ({sample.gained} up, {sample.lost} down)" if isinstance(sample, PairedSample) else ""
    return f"{100 * effect:+.1f}{flips}"


def _range(row: Row) -> str:
    """The interval of what was measured; where there are errors also the effect with all of them against the policy."""
    sample, (low, high) = row.comparison.sample, row.interval
    if isinstance(sample, MetricSample):
        return f"[{low:.4f}, {high:.4f}]"
    sign = "" if isinstance(sample, RateSample) else "+"
    worst = f", worst {100 * sample.worst():{sign}.1f}" if sample.errors else ""
    return f"[{100 * low:.0f}, {100 * high:.0f}]{worst}"


def _asked(row: Row) -> str:
    bounds, sample = row.comparison.bounds, row.comparison.sample
    if row.comparison.guard:
        return "not proven worse"
    if isinstance(sample, MetricSample):
        return sample.rule.asked
    if isinstance(sample, RateSample):
        low, high = f"{100 * bounds.low:g}%", f"{100 * bounds.high:g}%"
        return f"at least {high}" if bounds.low == bounds.high else f"{high}, not {low}"
    return f"better by {100 * bounds.high:g}, not 0" if bounds.high > 0 else f"above {100 * bounds.low:+g}"


def _verdict_text(row: Row) -> str:
    if row.comparison.guard and row.verdict is not Verdict.FAIL:
        return row.comparison.note if not row.comparison.sample.size and row.comparison.note else "not proven worse"
    if row.verdict is not Verdict.UNDECIDED:
        stopped = f" after {row.evidence.used}" if row.evidence.stopped else ""
        return f"{row.verdict}{stopped}"
    if not row.comparison.sample.size:
        return f"undecided: {row.comparison.note or 'no episode measured'}"
    return "undecided" if row.more is None else f"undecided, ~{row.more} more"


def _command(level: str, title: str, message: str) -> str:
    escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    name = title.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={name}::{escaped}"
