"""Rules about what is measured of answers, such as `format_invalid_rate < 0.01`: from their text to comparisons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_vla.answers.collected import Answers, read_answers
from pytest_vla.answers.estimates import Estimate
from pytest_vla.answers.modes import METRICS
from pytest_vla.episode import Cell
from pytest_vla.gate.comparisons import Comparison
from pytest_vla.gate.evidence import Bounds, Evidence, GateError
from pytest_vla.gate.planning import Alphas
from pytest_vla.run import Run
from pytest_vla.run.intervals import Interval
from pytest_vla.suggest import unknown

_RULE = re.compile(r"\s*(\w+)\s*(<|>)\s*([-+]?[0-9]*\.?[0-9]+)\s*")


@dataclass(frozen=True, slots=True)
class MetricRule:
    """A number must be below, or above, a threshold."""

    name: str
    below: bool
    threshold: float

    @classmethod
    def parse(cls, text: str) -> MetricRule:
        match = _RULE.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise GateError(f"{text!r} is no rule: write NAME < NUMBER or NAME > NUMBER, as format_invalid_rate < 0.01")
        if match[1] not in METRICS:
            raise GateError(unknown("metric", match[1], list(METRICS), f"in the gate's rule {text!r}"))
        return cls(match[1], match[2] == "<", float(match[3]))

    @property
    def asked(self) -> str:
        return f"{'<' if self.below else '>'} {self.threshold:g}"


@dataclass(frozen=True, slots=True)
class MetricSample:
    """What a run tells of a rule. There is no test for any time: a run that may still go on leaves it open."""

    rule: MetricRule
    estimate: Estimate | None = None
    errors: int = 0

    @property
    def test(self) -> str:
        return "exact" if self.estimate is None or self.estimate.hits is not None else "resampled"

    @property
    def size(self) -> int:
        return self.estimate.size if self.estimate is not None else 0

    def evidence(self, bounds: Bounds, alphas: Alphas, anytime: bool) -> Evidence:
        if self.estimate is None or anytime:
            return Evidence(1.0, 1.0, self.size)
        threshold, below = self.rule.threshold, self.rule.below
        return Evidence(
            self.estimate.pvalue(threshold, below), self.estimate.pvalue(threshold, not below), self.estimate.size
        )

    def effect(self) -> float:
        return self.estimate.value if self.estimate is not None else 0.0

    def worst(self) -> float:
        return self.effect()

    def interval(self, confidence: float) -> Interval:
        return self.estimate.interval(confidence) if self.estimate is not None else (0.0, 1.0)

    def more(self, bounds: Bounds, alphas: Alphas) -> int | None:
        return None


def check_metric_rules(texts: Sequence[str]) -> tuple[str, ...]:
    """The same texts, where each is a rule."""
    for text in texts:
        MetricRule.parse(text)
    return tuple(texts)


def metric_comparisons(run: Run, texts: Sequence[str]) -> list[Comparison]:
    """One comparison a rule; what the run does not tell stays open, and says why."""
    if not texts:
        return []
    answers = read_answers(run)
    suites = {place[0] for place in answers.plain.answers} if answers is not None else set()
    suite = suites.pop() if len(suites) == 1 else "*"
    return [_comparison(MetricRule.parse(text), answers, suite) for text in texts]


def _comparison(rule: MetricRule, answers: Answers | None, suite: str) -> Comparison:
    estimate = METRICS[rule.name].measure(answers) if answers is not None else None
    note = "" if estimate is not None else f"this run does not tell {rule.name}"
    return Comparison(
        Cell(suite, rule.name, "*"), Bounds(rule.threshold, rule.threshold), MetricSample(rule, estimate), note
    )
