"""The gate itself: from the records of a run (and of a baseline) to verdicts. A pure function, in a run or after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_vla.gate.comparisons import Comparison, Plan, Record, compare, group_name
from pytest_vla.gate.intervals import Interval
from pytest_vla.gate.rules import Rules
from pytest_vla.gate.verdict import EXIT_CODES, Evidence, Verdict, combine, holm


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
            "comparison": group_name(self.comparison.group),
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
    plan: Plan
    errors: int = 0
    max_errors: int = 0

    @property
    def too_many_errors(self) -> bool:
        return self.errors > self.max_errors

    @property
    def verdict(self) -> Verdict:
        """Errors beyond the allowed number fail by their own rule; they are never measurements."""
        return Verdict.FAIL if self.too_many_errors else combine([row.verdict for row in self.rows])

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    def to_record(self) -> dict[str, Any]:
        """A line of the run file: the verdict as it was when the run ended."""
        rows = [row.to_record() for row in self.rows]
        return {"type": "verdict", "verdict": str(self.verdict), "errors": self.errors, "rows": rows}


def judge(
    records: Sequence[Record],
    rules: Rules,
    plan: Plan | None = None,
    baseline: Iterable[Record] | None = None,
    max_errors: int = 0,
) -> Judgement:
    """Answer every comparison.

    Failing is claimed with Holm's correction over all comparisons, as one failure fails the gate. Passing needs none:
    the gate passes only where every comparison does, so a bad task must pass its own test at alpha.
    """
    plan = plan or Plan()
    comparisons = compare(records, rules, plan, baseline)
    total = max(plan.comparisons, len(comparisons))
    evidence = [gather(comparison, rules, total, plan.early_stop) for comparison in comparisons]
    unseen = [1.0] * (total - len(comparisons))
    adjusted = holm([item.failing for item in evidence] + unseen)[: len(comparisons)]
    open_tests = total - sum(value <= rules.alpha for value in adjusted)
    rows = [
        _row(comparison, item, failing, rules, max(open_tests, 1), plan.early_stop)
        for comparison, item, failing in zip(comparisons, evidence, adjusted, strict=True)
    ]
    errors = sum(record["outcome"] == "error" for record in records)
    return Judgement(tuple(rows), rules, plan, errors, max_errors)


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
