"""The gate itself: from the episodes of a run (and of a baseline) to verdicts. A pure function, in a run or later."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_vla.episode import Cell
from pytest_vla.gate.baseline import Reference, read_references
from pytest_vla.gate.comparisons import Comparison, Scope, compare
from pytest_vla.gate.evidence import EXIT_CODES, Evidence, GateError, Verdict, combine, holm
from pytest_vla.gate.ledger import Case, Ledger, spent
from pytest_vla.gate.metric_rules import metric_comparisons
from pytest_vla.gate.planning import Alphas
from pytest_vla.gate.questions import ANCHOR, BASELINE
from pytest_vla.gate.rules import Rules, check_rules, read_rules
from pytest_vla.run import Completeness, Run, Table
from pytest_vla.run.intervals import Interval

NEVER = 1e-12  # the level of an answer that is not wanted
#: Of the error rate: a verdict at the declared number of episodes uses this much. The rest is for whoever is not
#: content with it and goes on, or looked before: their test is one for any time, and covers all looks there may be.
DECLARED_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Guarantee:
    """When the stated error rates hold: for one verdict at a declared number of episodes, or whenever one looks."""

    reasons: tuple[str, ...] = ()
    """Why a test for a declared number would not do; none where it does."""
    from_the_start: bool = False
    """Whether there never was, and never will be, a verdict at a declared number."""

    @property
    def anytime(self) -> bool:
        return bool(self.reasons)

    @property
    def share(self) -> float:
        """Of the error rate, for this verdict."""
        if not self.anytime:
            return DECLARED_SHARE
        return 1.0 if self.from_the_start else 1 - DECLARED_SHARE

    def __str__(self) -> str:
        if not self.anytime:
            return "holds for this verdict: the number of episodes was declared before the first of them"
        return f"holds whenever one looks, and goes on: {'; '.join(self.reasons)}"


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison and its answer."""

    comparison: Comparison
    evidence: Evidence
    verdict: Verdict
    pvalue: float
    interval: Interval
    more: int | None = None

    def to_record(self) -> dict[str, Any]:
        """The row in built-in types, for readers of the run file."""
        sample = self.comparison.sample
        return {
            "comparison": str(self.comparison.group),
            "test": sample.test,
            "episodes": sample.size,
            "effect": sample.effect(),
            "interval": list(self.interval),
            "bounds": [self.comparison.bounds.low, self.comparison.bounds.high],
            "pvalue": self.pvalue,
            "verdict": str(self.verdict),
            "against": self.comparison.against,
            "errors": sample.errors,
            "worst": sample.worst(),
            "more": self.more,
            "note": self.comparison.note,
        }


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a gate says of a run."""

    rows: tuple[Row, ...]
    rules: Rules
    scope: Scope
    errors: int = 0
    max_errors: int = 0
    objections: int = 0
    """Tests that failed although their episodes were solved."""
    complete: Completeness | None = None
    """How much of the run is there, where that is known."""
    guarantee: Guarantee = Guarantee()
    missing: tuple[Cell, ...] = ()
    """Cells of the baseline that the run's selection has, and the run has not."""
    outside: tuple[Cell, ...] = ()
    """Cells of the baseline that were not asked for."""
    attempt: int | None = None
    """The how manieth verdict on this policy it is; None where nobody keeps count."""

    @property
    def too_many_errors(self) -> bool:
        return self.errors > self.max_errors

    @property
    def finished(self) -> bool:
        return self.complete is None or self.complete.finished

    @property
    def verdict(self) -> Verdict:
        """Errors beyond the allowed number and objections of tests fail by their own rule; they are no measurements.

        What is unfinished never passes: the episodes that are missing may be the bad ones.
        """
        if self.too_many_errors or self.objections:
            return Verdict.FAIL
        needed = [row.verdict for row in self.rows if not row.comparison.guard or row.verdict is Verdict.FAIL]
        verdict = combine(needed)
        whole = self.finished and not self.missing
        return Verdict.UNDECIDED if verdict is Verdict.PASS and not whole else verdict

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    def to_record(self) -> dict[str, Any]:
        """A line of the run file: the verdict as it was when the run ended."""
        return {
            "type": "verdict",
            "verdict": str(self.verdict),
            "errors": self.errors,
            "anytime": self.guarantee.anytime,
            "guarantee": str(self.guarantee),
            "attempt": self.attempt,
            "rows": [row.to_record() for row in self.rows],
        }


def judge(
    table: Table,
    rules: Rules,
    scope: Scope | None = None,
    baseline: Table | None = None,
    max_errors: int = 0,
    *,
    anchor: Table | None = None,
    objections: int = 0,
    complete: Completeness | None = None,
    history: Sequence[str] = (),
    absent: tuple[tuple[Cell, ...], tuple[Cell, ...]] = ((), ()),
    attempt: int | None = None,
    measured: Sequence[Comparison] = (),
) -> Judgement:
    """Answer every comparison, those of `measured` numbers after those of episodes.

    Failing is claimed with Holm's correction over all comparisons, as one failure fails the gate. Passing needs none:
    the gate passes only where every comparison does, so a bad task must pass its own test at alpha. `history` says why
    somebody could have stopped at another moment; `absent` are the baseline's cells that the run has not, those of its
    selection and the others. The `attempt` to pass, where a ledger counts them, has its share of the error rate.
    """
    scope = scope or Scope()
    guarantee = _guarantee(scope, history, complete)
    scope = replace(scope, anytime=guarantee.anytime)
    comparisons = [*compare(table, rules, scope, baseline, anchor), *measured]
    total = max(scope.comparisons, len(comparisons))
    alpha = rules.alpha * guarantee.share
    to_pass = alpha if attempt is None else alpha * spent(attempt)
    evidence = [gather(comparison, (to_pass, alpha / max(total, 1)), scope) for comparison in comparisons]
    unseen = [1.0] * (total - len(comparisons))
    adjusted = holm([item.failing for item in evidence] + unseen)[: len(comparisons)]
    open_tests = max(total - sum(value <= alpha for value in adjusted), 1)
    rows = [
        _row(comparison, item, failing, rules.confidence, (to_pass, alpha, alpha / open_tests))
        for comparison, item, failing in zip(comparisons, evidence, adjusted, strict=True)
    ]
    return Judgement(
        tuple(rows),
        rules,
        scope,
        table.error_count(),
        max_errors,
        objections,
        complete,
        guarantee,
        *absent,
        attempt,
    )


def _guarantee(scope: Scope, history: Sequence[str], complete: Completeness | None) -> Guarantee:
    reasons = list(history)
    if scope.early_stop:
        reasons.insert(0, "each comparison ends when it is decided")
    if complete is not None and not complete.finished:
        reasons.append("the run is not finished")
    return Guarantee(tuple(reasons), from_the_start=scope.early_stop)


def judge_run(
    run: Run,
    baseline: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    max_errors: int | None = None,
    anchor: str | Path | None = None,
    ledger: Ledger | None = None,
    *,
    trust: bool = False,
) -> Judgement:
    """Judge a run by its own rules, or by those given here (`changes` to the rules' table).

    The baseline and the anchor that its file names are opened with `trust` only.

    The same verdict after the run as in it: everything the gate needs is in the run file, also of merged shards.
    """
    options, lines = run.options, _gate_lines(run)
    table = lines[-1]["rules"] if lines else options.get("gate_table") or {}
    if not isinstance(table, Mapping):
        raise GateError("the rules that the run file names are no table")
    rules = read_rules({**table, **(changes or {})})
    check_rules(rules, [cell[:3] for cell in run.table.cells])
    given: dict[str, str | Path | None] = {BASELINE: baseline, ANCHOR: anchor}
    for name, typed in given.items():
        named = options.get(name)
        if typed is None and named is not None:
            if not trust:
                raise GateError(
                    f"the run was judged against the {name} '{named}': add --{name}={shlex.quote(str(named))}, "
                    "or --trust to open what the run file names"
                )
            given[name] = named
    references = read_references(*given.values())
    if not references and not rules.success and not rules.metrics:
        raise GateError("nothing to judge by: add --baseline=RUN, or a threshold such as --success=SUITE/TASK=0.8")
    errors = options.get("max_errors", 0) if max_errors is None else max_errors
    verdicts = run.of_type("verdict")
    attempt = verdicts[-1].get("attempt") if verdicts else None  # as its own ledger counted, when it was there
    return judge_by(run, rules, scope_of(run, lines), references, errors, ledger, attempt)


def judge_by(
    run: Run,
    rules: Rules,
    scope: Scope,
    references: Mapping[str, Reference],
    max_errors: int = 0,
    ledger: Ledger | None = None,
    attempt: int | None = None,
) -> Judgement:
    """Judge a run, in a session or later, with what its file says of how it came about; the ledger is told."""
    tables = {name: reference.table for name, reference in references.items()}
    planned = {*scope.cells, *run.table.cells}
    case = Case.of(run, rules, planned, tables)
    judgement = judge(
        run.table,
        rules,
        scope,
        tables.get(BASELINE),
        max_errors,
        anchor=tables.get(ANCHOR),
        objections=run.objections,
        complete=run.completeness(gated=True),
        history=history_of(run, references),
        absent=absent_cells(planned, tables[BASELINE], picked_tasks(run)) if BASELINE in tables else ((), ()),
        attempt=ledger.attempt(case) if ledger is not None else attempt,
        measured=metric_comparisons(run, rules.metrics),
    )
    if ledger is not None and judgement.finished:
        ledger.record(case, str(judgement.verdict))
    return judgement


def history_of(run: Run, references: Mapping[str, Reference] | None = None) -> list[str]:
    """Why a test for a declared number of episodes would not do for this run; nothing where it would."""
    reasons = []
    if run.plan is not None and run.plan.extended:
        reasons.append("its plan was changed after its first episodes")
    if run.looks:
        verdicts = "a verdict was" if run.looks == 1 else f"{run.looks} verdicts were"
        reasons.append(f"{verdicts} given before its last episodes")
    reasons += [f"the {name} was stopped early" for name, found in (references or {}).items() if found.stopped_early]
    return reasons


def absent_cells(
    planned: Collection[Cell], baseline: Table, picked: Collection[str] | None = None
) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
    """The baseline's cells that were not planned: those that the run's selection has, and those that it has not.

    A suite, a partition or a perturbation that was not run at all was not asked for; neither is a task that is not
    among the picked ones, where some were.
    """
    asked = {(cell.suite, cell.partition, cell.perturbation) for cell in planned}
    absent = sorted(cell for cell in baseline.tallies() if cell not in planned)
    inside = [
        cell
        for cell in absent
        if (cell.suite, cell.partition, cell.perturbation) in asked and (picked is None or cell.task in picked)
    ]
    return tuple(inside), tuple(cell for cell in absent if cell not in inside)


def picked_tasks(run: Run) -> Collection[str] | None:
    """The tasks that a run was told to take; None where it took all that there are.

    Whoever picks tests by -k, -m or a node id has picked what was planned, and nothing else.
    """
    words = [str(word) for word in run.provenance.get("command", ())]
    if any("::" in word or word.startswith(("-k", "-m", "--deselect", "--lf", "--last-failed")) for word in words[1:]):
        return {cell.task for cell in run.table.cells}
    return run.options.get("task") or None


def _gate_lines(run: Run) -> list[dict[str, Any]]:
    """The gate's own lines of a run file; GateError where one is not as `Scope` and `Rules` write it."""
    lines = run.of_type("gate")
    types = {"cells": list, "first": int, "comparisons": int, "early_stop": bool, "rules": dict}
    for line in lines:
        wrong = [name for name, kind in types.items() if not isinstance(line.get(name), kind)]
        if wrong:
            raise GateError(f"a line of the gate in '{run.path}' is damaged: {', '.join(wrong)}")
    return lines


def scope_of(run: Run, lines: Sequence[Mapping[str, Any]]) -> Scope:
    """What the gate of a run is about: the union of what its sessions or shards said."""
    first = run.first_episode
    if not lines:
        return Scope(run.plan.whole.counts() if run.plan is not None else {}, first)
    scopes = [Scope.from_dict(line) for line in lines]
    cells = {cell: count for scope in scopes for cell, count in scope.cells.items()}
    return replace(scopes[0], cells=cells, comparisons=max(scope.comparisons for scope in scopes))


def gather(comparison: Comparison, alphas: Alphas, scope: Scope) -> Evidence:
    """The evidence on one comparison; it never depends on the others, so a run may stop each by itself."""
    passing = alphas[0] if scope.early_stop or not comparison.guard else NEVER
    return comparison.sample.evidence(comparison.bounds, (passing, alphas[1]), scope.prefix)


def _row(
    comparison: Comparison,
    evidence: Evidence,
    failing: float,
    confidence: float,
    alphas: tuple[float, float, float],
) -> Row:
    """`failing` is corrected for all comparisons; the levels are of passing, of failing, and of failing uncorrected."""
    to_pass, to_fail, alone = alphas
    verdict = evidence.stopped or Verdict.UNDECIDED
    if not evidence.stopped:
        if evidence.passing <= to_pass:
            verdict = Verdict.PASS
        elif failing <= to_fail:
            verdict = Verdict.FAIL
    if comparison.guard and verdict is Verdict.PASS:
        verdict = Verdict.FAIL if not evidence.stopped and failing <= to_fail else Verdict.UNDECIDED
    pvalue = {Verdict.PASS: evidence.passing, Verdict.FAIL: failing}.get(verdict, min(evidence.passing, failing))
    sample = comparison.sample
    more = None
    if comparison.guard:
        pvalue = failing
    elif verdict is Verdict.UNDECIDED:
        more = sample.more(comparison.bounds, (to_pass, alone))
    return Row(comparison, evidence, verdict, pvalue, sample.interval(confidence), more)
