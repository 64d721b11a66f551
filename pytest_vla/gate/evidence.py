"""The three-valued answer of a gate, and what one statistical test contributes to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class GateError(Exception):
    """A gate cannot judge: its rules, its baseline or its runs are not what they must be."""


class Verdict(StrEnum):
    """What the episodes so far prove."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"


#: The process ends with one of these; pytest itself uses 0 to 5.
EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNDECIDED: 6}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is to be proven of an effect (a success rate, or a difference of two).

    Pass means: the effect is above `low`. Fail means: it is below `high`. Between the two either answer is right, and
    the wider they are apart the fewer episodes decide.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise GateError(f"a gate's lower bound {self.low:g} must not be above its upper bound {self.high:g}")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The p-values against 'not above low' (`passing`) and against 'not below high' (`failing`).

    `used` counts the episodes (or pairs) that went in; `stopped` is set by a sequential test that has decided.
    """

    passing: float
    failing: float
    used: int
    stopped: Verdict | None = None


def holm(pvalues: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: whatever is then at most alpha may be claimed together, at error rate alpha."""
    order = sorted(range(len(pvalues)), key=pvalues.__getitem__)
    adjusted, running = [1.0] * len(pvalues), 0.0
    for rank, position in enumerate(order):
        running = max(running, min(1.0, pvalues[position] * (len(pvalues) - rank)))
        adjusted[position] = running
    return adjusted


def combine(verdicts: Sequence[Verdict]) -> Verdict:
    """One answer for many comparisons: any proven failure fails, and only proof everywhere passes."""
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    if verdicts and all(verdict is Verdict.PASS for verdict in verdicts):
        return Verdict.PASS
    return Verdict.UNDECIDED
