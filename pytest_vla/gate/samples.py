"""The three kinds of evidence: one success rate, two rates over the same episodes, two rates over different ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pytest_vla.gate import exact, planning, sequential
from pytest_vla.gate.evidence import Bounds, Evidence
from pytest_vla.gate.planning import Alphas
from pytest_vla.run import intervals
from pytest_vla.run.intervals import Interval


class Sample(Protocol):
    """What a comparison looks at; outcomes are in episode order."""

    @property
    def test(self) -> str:
        """The word for the table."""

    @property
    def size(self) -> int:
        """Episodes (or pairs) in it."""

    def evidence(self, bounds: Bounds, alphas: Alphas, early_stop: bool) -> Evidence: ...

    def effect(self) -> float: ...

    def interval(self, confidence: float) -> Interval: ...

    def more(self, bounds: Bounds, alphas: Alphas, early_stop: bool) -> int | None:
        """How many more episodes decide, were the rates to stay as they are."""


@dataclass(frozen=True, slots=True)
class RateSample:
    """The outcomes of one policy, against a threshold."""

    outcomes: tuple[bool, ...]

    @property
    def test(self) -> str:
        return "threshold"

    @property
    def size(self) -> int:
        return len(self.outcomes)

    def evidence(self, bounds: Bounds, alphas: Alphas, early_stop: bool) -> Evidence:
        if early_stop:
            return sequential.rate_evidence(self.outcomes, bounds, *alphas)
        return exact.rate_evidence(sum(self.outcomes), self.size, bounds)

    def effect(self) -> float:
        return _rate(self.outcomes)

    def interval(self, confidence: float) -> Interval:
        return intervals.rate_interval(sum(self.outcomes), self.size, confidence)

    def more(self, bounds: Bounds, alphas: Alphas, early_stop: bool) -> int | None:
        return planning.more_rate(sum(self.outcomes), self.size, bounds, alphas, early_stop)


@dataclass(frozen=True, slots=True)
class PairedSample:
    """(baseline, new) outcomes of the same episodes."""

    pairs: tuple[tuple[bool, bool], ...]

    @property
    def test(self) -> str:
        return "paired"

    @property
    def size(self) -> int:
        return len(self.pairs)

    @property
    def gained(self) -> int:
        return sum(new and not old for old, new in self.pairs)

    @property
    def lost(self) -> int:
        return sum(old and not new for old, new in self.pairs)

    def evidence(self, bounds: Bounds, alphas: Alphas, early_stop: bool) -> Evidence:
        if early_stop:
            return sequential.paired_evidence([new - old for old, new in self.pairs], bounds, *alphas)
        return exact.paired_evidence(self.gained, self.lost, self.size, bounds)

    def effect(self) -> float:
        return (self.gained - self.lost) / max(self.size, 1)

    def interval(self, confidence: float) -> Interval:
        return intervals.paired_interval(self.gained, self.lost, self.size, confidence)

    def more(self, bounds: Bounds, alphas: Alphas, early_stop: bool) -> int | None:
        return planning.more_paired(self.gained, self.lost, self.size, bounds, alphas, early_stop)


@dataclass(frozen=True, slots=True)
class UnpairedSample:
    """Outcomes of the baseline and of the new policy on episodes that have nothing to do with each other."""

    old: tuple[bool, ...]
    new: tuple[bool, ...]

    @property
    def test(self) -> str:
        return "unpaired"

    @property
    def size(self) -> int:
        return len(self.new)

    def evidence(self, bounds: Bounds, alphas: Alphas, early_stop: bool) -> Evidence:
        if early_stop:  # independent outcomes make pairs too: the k-th of one with the k-th of the other
            steps = [new - old for old, new in zip(self.old, self.new, strict=False)]
            return sequential.paired_evidence(steps, bounds, *alphas)
        return exact.unpaired_evidence(_counts(self.old), _counts(self.new), bounds)

    def effect(self) -> float:
        return _rate(self.new) - _rate(self.old)

    def interval(self, confidence: float) -> Interval:
        return intervals.unpaired_interval(_counts(self.old), _counts(self.new), confidence)

    def more(self, bounds: Bounds, alphas: Alphas, early_stop: bool) -> int | None:
        return planning.more_unpaired(_counts(self.old), _counts(self.new), bounds, alphas)


def _counts(outcomes: tuple[bool, ...]) -> tuple[int, int]:
    return sum(outcomes), len(outcomes)


def _rate(outcomes: tuple[bool, ...]) -> float:
    return sum(outcomes) / max(len(outcomes), 1)
