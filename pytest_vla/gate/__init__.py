"""The statistical verdict on a run: against thresholds, or against a baseline run."""

from pytest_vla.gate.comparisons import Comparison, Scope
from pytest_vla.gate.evidence import Bounds, Evidence, GateError, Verdict
from pytest_vla.gate.judge import Judgement, Row, judge
from pytest_vla.gate.rules import Rules, read_rules

__all__ = [
    "Bounds",
    "Comparison",
    "Evidence",
    "GateError",
    "Judgement",
    "Row",
    "Rules",
    "Scope",
    "Verdict",
    "judge",
    "read_rules",
]
