"""The gate itself: from the episodes of a run (and of a baseline) to verdicts. A pure function, in a run or later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_vla.gate.baseline import read_baseline
from pytest_vla.gate.comparisons import Comparison, Scope, compare
from pytest_vla.gate.evidence import EXIT_CODES, Evidence, GateError, Verdict, combine, holm
from pytest_vla.gate.rules import Rules, check_rules, read_rules
from pytest_vla.run import Completeness, Run, Table
from pytest_vla.run.intervals import Interval


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
        verdict = combine([row.verdict for row in self.rows])
        return Verdict.UNDECIDED if verdict is Verdict.PASS and not self.finished else verdict

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    def to_record(self) -> dict[str, Any]:
        """A line of the run file: the verdict as it was when the run ended."""
        rows = [row.to_record() for row in self.rows]
        return {"type": "verdict", "verdict": str(self.verdict), "errors": self.errors, "rows": rows}


def judge(
    table: Table,
    rules: Rules,
    scope: Scope | None = None,
    baseline: Table | None = None,
    max_errors: int = 0,
    *,
    objections: int = 0,
    complete: Completeness | None = None,
) -> Judgement:
    """Answer every comparison.

    Failing is claimed with Holm's correction over all comparisons, as one failure fails the gate. Passing needs none:
    the gate passes only where every comparison does, so a bad task must pass its own test at alpha.
    """
    scope = scope or Scope()
    if complete is not None and not complete.finished:
        scope = replace(scope, unfinished=True)
    comparisons = compare(table, rules, scope, baseline)
    total = max(scope.comparisons, len(comparisons))
    evidence = [gather(comparison, rules, total, scope.early_stop) for comparison in comparisons]
    unseen = [1.0] * (total - len(comparisons))
    adjusted = holm([item.failing for item in evidence] + unseen)[: len(comparisons)]
    open_tests = total - sum(value <= rules.alpha for value in adjusted)
    rows = [
        _row(comparison, item, failing, rules, max(open_tests, 1), scope.early_stop)
        for comparison, item, failing in zip(comparisons, evidence, adjusted, strict=True)
    ]
    return Judgement(tuple(rows), rules, scope, table.error_count(), max_errors, objections, complete)


def judge_run(
    run: Run,
    baseline: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    max_errors: int | None = None,
) -> Judgement:
    """Judge a run by its own rules and baseline, or by those given here (`changes` to the rules' table).

    The same verdict after the run as in it: everything the gate needs is in the run file, also of merged shards.
    """
    options, lines = run.options, run.of_type("gate")
    table = lines[-1]["rules"] if lines else options.get("gate_table", {})
    rules = read_rules({**table, **(changes or {})})
    check_rules(rules, [cell[:3] for cell in run.table.cells])
    reference = baseline if baseline is not None else options.get("baseline")
    if reference is None and not rules.success:
        raise GateError("nothing to judge by: add --baseline=RUN, or a threshold such as --success=SUITE/TASK=0.8")
    return judge(
        run.table,
        rules,
        scope_of(run, lines),
        read_baseline(reference) if reference is not None else None,
        options.get("max_errors", 0) if max_errors is None else max_errors,
        objections=run.objections,
        complete=run.completeness(gated=True),
    )


def scope_of(run: Run, lines: Sequence[Mapping[str, Any]]) -> Scope:
    """What the gate of a run is about: the union of what its sessions or shards said."""
    first = int(run.options.get("first_episode") or 0)
    if not lines:
        return Scope(run.plan.whole.counts() if run.plan is not None else {}, first)
    scopes = [Scope.from_dict(line) for line in lines]
    cells = {cell: count for scope in scopes for cell, count in scope.cells.items()}
    return replace(scopes[0], cells=cells, comparisons=max(scope.comparisons for scope in scopes))


def gather(comparison: Comparison, rules: Rules, total: int, early_stop: bool) -> Evidence:
    """The evidence on one of `total` comparisons; it never depends on the others, so a run may stop each by itself."""
    return comparison.sample.evidence(comparison.bounds, (rules.alpha, rules.alpha / max(total, 1)), early_stop)


def _row(
    comparison: Comparison, evidence: Evidence, failing: float, rules: Rules, open_tests: int, early_stop: bool
) -> Row:
    verdict = evidence.stopped or Verdict.UNDECIDED
    if not evidence.stopped:
        if evidence.passing <= rules.alpha:
            verdict = Verdict.PASS
        elif failing <= rules.alpha:
            verdict = Verdict.FAIL
    pvalue = {Verdict.PASS: evidence.passing, Verdict.FAIL: failing}.get(verdict, min(evidence.passing, failing))
    sample = comparison.sample
    more = None
    if verdict is Verdict.UNDECIDED:
        more = sample.more(comparison.bounds, (rules.alpha, rules.alpha / open_tests), early_stop)
    return Row(comparison, evidence, verdict, pvalue, sample.interval(rules.confidence), more)
