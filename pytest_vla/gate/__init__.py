"""The statistical verdict on a run: against thresholds, or against a baseline run.

May import `run`, `suite`, `episode` and the options. Read `judge.py` first (the verdict, a pure function), then
`questions.py` and `comparisons.py` (what is asked, and which episodes answer it); `exact.py` (for a declared number of
episodes) and `sequential.py` (for any time) are the tests, `watch.py` and `plugin.py` are the gate in a running
session, `side_by_side.py` is `pytest-vla compare`.
"""

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
