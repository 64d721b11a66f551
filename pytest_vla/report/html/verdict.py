"""What the page says first: the rate, the gate's verdict where the run was judged, what is missing, what is damaged."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.judge import judge_run
from pytest_vla.gate.printing import cells_of, headline, remarks
from pytest_vla.report.html.page import Page
from pytest_vla.report.html.provenance import Facts, facts
from pytest_vla.report.html.success import Rate
from pytest_vla.report.html.success import headline as rate_of
from pytest_vla.report.summary import objection_lines
from pytest_vla.run import Run, Tally

SHOWN_FACTS = ("digest", "identity", "made", "suites", "commit")


@dataclass(frozen=True, slots=True)
class VerdictView:
    """The verdict in words; `kind` is pass, fail, undecided or none."""

    kind: str
    headline: str
    header: tuple[str, ...] = ()
    rows: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Overview:
    """The first thing a person reads."""

    policy: str
    rate: Rate
    perturbed: int
    """Perturbed episodes, which the rate is not about."""
    hunts: int
    verdict: VerdictView | None
    facts: Facts
    compared_with: str


@dataclass(frozen=True, slots=True)
class Missing:
    """What is not in a run file that should be, or not as it should be."""

    side: str = ""
    episodes: int = 0
    planned: int = 0
    ended: bool = True
    cells: list[str] = field(default_factory=list)
    hunts: int = 0
    objections: list[str] = field(default_factory=list)
    damaged: tuple[tuple[int, str], ...] = ()


def overview(page: Page) -> Overview:
    run, other = page.run, page.other
    perturbed = run.once.of_cells(lambda cell: bool(cell.perturbation))
    unperturbed = len(run.once) - len(perturbed)
    return Overview(
        run.policy.text,
        Rate(rate_of(run.once) if len(run) else Tally()),
        len(perturbed) if unperturbed else 0,
        len(run.hunts),
        page.verdict,
        [(name, value) for name, value in facts(run) if name in SHOWN_FACTS],
        other.policy.text if other is not None else "",
    )


def gate_view(page: Page) -> VerdictView | None:
    """The comparisons behind the verdict."""
    return page.verdict if page.verdict is not None and (page.verdict.rows or page.verdict.remarks) else None


def warnings_view(page: Page) -> list[Missing] | None:
    """What a reader must know before any number; None where everything is there."""
    names = ("This run", "The other run") if page.other is not None else ("",)
    found = [missing(side.run, name) for side, name in zip(page.sides, names, strict=True)]
    return [each for each in found if each != Missing(each.side, planned=each.planned)] or None


def missing(run: Run, side: str = "") -> Missing:
    """How far a run came: planned and finished episodes, the cells that lack some, and lines that cannot be read."""
    completeness = run.completeness(gated=False)
    done = run.once.tallies()
    lacking = {cell: count for cell, count in completeness.missing.counts().items() if count}
    here = {cell: done[cell].measured + done[cell].errors if cell in done else 0 for cell in lacking}
    return Missing(
        side,
        max(0, completeness.planned - completeness.done) if run.plan is not None else 0,
        completeness.planned,
        run.ended,
        [f"{cell}: {here[cell]} of {here[cell] + count}" for cell, count in lacking.items()],
        len(completeness.hunts),
        objection_lines(run),
        run.damaged,
    )


def verdict_of(run: Run, other: Run | None = None) -> VerdictView | None:
    """The gate's verdict once more, from the rules in the run file; None for a run without a gate."""
    if not run.of_type("gate"):
        return None
    own = run.options.get("baseline")
    elsewhere = other.path if other is not None and own is not None and not Path(own).exists() else None
    try:
        judgement = judge_run(run, elsewhere)
    except (GateError, KeyError, TypeError, ValueError) as error:
        return VerdictView("none", "The gate cannot be judged again", remarks=[str(error)])
    confidence = judgement.rules.confidence
    return VerdictView(
        str(judgement.verdict),
        headline(judgement).removeprefix("vla gate: "),
        ("suite/task/partition", "test", "n", "observed", f"{100 * confidence:g}% CI", "asked", "p-value", "verdict"),
        [(str(row.verdict), cells_of(row, confidence)) for row in judgement.rows],
        remarks(judgement),
    )
