"""The statistical verdict on a run: against thresholds, or against a baseline run."""

from pytest_vla.gate.comparisons import Comparison, Plan
from pytest_vla.gate.judge import Judgement, Row, judge
from pytest_vla.gate.rules import Rules, read_rules
from pytest_vla.gate.evidence import Bounds, Evidence, GateError, Verdict

__all__ = [
    "Bounds",
    "Comparison",
    "Evidence",
    "GateError",
    "Judgement",
    "Plan",
    "Row",
    "Rules",
    "Verdict",
    "judge",
    "read_rules",
]
