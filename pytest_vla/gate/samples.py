"""The three kinds of evidence: one success rate, two rates over the same episodes, two rates over different ones.

An outcome is True, False, or None for an error that may hide either: it counts against the policy where passing is to
be proven, and for it where failing is. Outcomes stand task by task, in episode order; `sizes` says how many of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pytest_vla.gate import exact, planning, sequential
from pytest_vla.gate.evidence import Bounds, Evidence
from pytest_vla.gate.planning import Alphas
from pytest_vla.run import intervals
from pytest_vla.run.intervals import Interval

if TYPE_CHECKING:
    from pytest_vla.gate.sequential import Array

Outcome = bool | None
Outcomes = tuple[Outcome, ...]
Sizes = tuple[int, ...]


class Sample(Protocol):
    """What a comparison looks at."""

    @property
    def test(self) -> str:
        """The word for the table."""

    @property
    def size(self) -> int:
        """Measured episodes (or pairs) in it."""

    @property
    def errors(self) -> int:
        """Episodes (or pairs) that may be either."""

    def evidence(self, bounds: Bounds, alphas: Alphas, anytime: bool) -> Evidence: ...

    def effect(self) -> float:
        """Of what was measured."""

    def worst(self) -> float:
        """The effect with every error counted against the policy."""

    def interval(self, confidence: float) -> Interval: ...

    def more(self, bounds: Bounds, alphas: Alphas) -> int | None:
        """How many more episodes decide, were the rates to stay as they are and one to go on with this run."""


@dataclass(frozen=True, slots=True)
class RateSample:
    """The outcomes of one policy, against a threshold."""

    outcomes: Outcomes
    sizes: Sizes = ()

    @property
    def test(self) -> str:
        return "threshold"

    @property
    def size(self) -> int:
        return len(self.outcomes) - self.errors

    @property
    def errors(self) -> int:
        return self.outcomes.count(None)

    @property
    def solved(self) -> int:
        return self.outcomes.count(True)

    def evidence(self, bounds: Bounds, alphas: Alphas, anytime: bool) -> Evidence:
        worst, best = least(self.outcomes), most(self.outcomes)
        if anytime:
            match = sequential.Match.of_rate(bounds)
            return sequential.evidence(match, in_rounds(worst, self.sizes), in_rounds(best, self.sizes), *alphas)
        passing = exact.pooled_rate_evidence(counts(worst, self.sizes), bounds).passing
        failing = exact.pooled_rate_evidence(counts(best, self.sizes), bounds).failing
        return Evidence(passing, failing, len(worst))

    def effect(self) -> float:
        return self.solved / max(self.size, 1)

    def worst(self) -> float:
        return self.solved / max(len(self.outcomes), 1)

    def interval(self, confidence: float) -> Interval:
        return intervals.rate_interval(self.solved, self.size, confidence)

    def more(self, bounds: Bounds, alphas: Alphas) -> int | None:
        return planning.more_rate(self.solved, self.size, bounds, alphas, sequential=True)


@dataclass(frozen=True, slots=True)
class PairedSample:
    """(baseline, new) outcomes of the same episodes."""

    pairs: tuple[tuple[Outcome, Outcome], ...]
    sizes: Sizes = ()

    @property
    def test(self) -> str:
        return "paired"

    @property
    def size(self) -> int:
        return len(self.pairs) - self.errors

    @property
    def errors(self) -> int:
        return sum(None in pair for pair in self.pairs)

    @property
    def gained(self) -> int:
        return sum(old is False and new is True for old, new in self.pairs)

    @property
    def lost(self) -> int:
        return sum(old is True and new is False for old, new in self.pairs)

    def evidence(self, bounds: Bounds, alphas: Alphas, anytime: bool) -> Evidence:
        worst, best = differences(self.pairs)
        if anytime:
            match = sequential.Match.of_difference(bounds)
            return sequential.evidence(match, in_rounds(worst, self.sizes), in_rounds(best, self.sizes), *alphas)
        passing = exact.paired_evidence(worst.count(1), worst.count(-1), len(worst), bounds).passing
        failing = exact.paired_evidence(best.count(1), best.count(-1), len(best), bounds).failing
        return Evidence(passing, failing, len(worst))

    def effect(self) -> float:
        return (self.gained - self.lost) / max(self.size, 1)

    def worst(self) -> float:
        return sum(differences(self.pairs)[0]) / max(len(self.pairs), 1)

    def interval(self, confidence: float) -> Interval:
        return intervals.paired_interval(self.gained, self.lost, self.size, confidence)

    def more(self, bounds: Bounds, alphas: Alphas) -> int | None:
        return planning.more_paired(self.gained, self.lost, self.size, bounds, alphas, sequential=True)


@dataclass(frozen=True, slots=True)
class UnpairedSample:
    """Outcomes of the baseline and of the new policy on episodes that have nothing to do with each other."""

    old: Outcomes
    new: Outcomes
    old_sizes: Sizes = ()
    new_sizes: Sizes = ()

    @property
    def test(self) -> str:
        return "unpaired"

    @property
    def size(self) -> int:
        return len(self.new) - self.new.count(None)

    @property
    def errors(self) -> int:
        return self.new.count(None) + self.old.count(None)

    def evidence(self, bounds: Bounds, alphas: Alphas, anytime: bool) -> Evidence:
        old_worst, old_best = most(self.old), least(self.old)  # what is good for the baseline is bad for the policy
        worst, best = least(self.new), most(self.new)
        if anytime:  # independent outcomes make pairs too: the k-th of a task in one with the k-th in the other
            match = sequential.Match.of_difference(bounds)
            return sequential.evidence(
                match, self._in_rounds(old_worst, worst), self._in_rounds(old_best, best), *alphas
            )
        passing = exact.pooled_unpaired_evidence(
            counts(old_worst, self.old_sizes), counts(worst, self.new_sizes), bounds
        ).passing
        failing = exact.pooled_unpaired_evidence(
            counts(old_best, self.old_sizes), counts(best, self.new_sizes), bounds
        ).failing
        return Evidence(passing, failing, len(self.new))

    def _in_rounds(self, old: Sequence[float], new: Sequence[float]) -> Array:
        before, after = in_rounds(old, self.old_sizes), in_rounds(new, self.new_sizes)
        rounds = min(len(before), len(after))
        return after[:rounds] - before[:rounds]

    def effect(self) -> float:
        return _rate(self.new) - _rate(self.old)

    def worst(self) -> float:
        return _rate(least(self.new)) - _rate(most(self.old))

    def interval(self, confidence: float) -> Interval:
        return intervals.unpaired_interval(_measured(self.old), _measured(self.new), confidence)

    def more(self, bounds: Bounds, alphas: Alphas) -> int | None:
        steps = self._in_rounds(most(self.old), least(self.new))
        gained, lost = int((steps > 0).sum()), int((steps < 0).sum())
        return planning.more_paired(gained, lost, steps.size, bounds, alphas, sequential=True)


def least(outcomes: Iterable[Outcome]) -> list[int]:
    """Errors as failures."""
    return [int(outcome is True) for outcome in outcomes]


def most(outcomes: Iterable[Outcome]) -> list[int]:
    """Errors as successes."""
    return [int(outcome is not False) for outcome in outcomes]


def differences(pairs: Iterable[tuple[Outcome, Outcome]]) -> tuple[list[int], list[int]]:
    """New minus baseline, each pair at its worst and at its best."""
    pairs = list(pairs)
    old, new = [old for old, _ in pairs], [new for _, new in pairs]
    worst = [after - before for before, after in zip(most(old), least(new), strict=True)]
    best = [after - before for before, after in zip(least(old), most(new), strict=True)]
    return worst, best


def by_task(values: Sequence[float], sizes: Sizes) -> list[Sequence[float]]:
    """The values of each task."""
    parts, start = [], 0
    for size in sizes or (len(values),):
        parts.append(values[start : start + size])
        start += size
    return parts


def in_rounds(values: Sequence[float], sizes: Sizes) -> Array:
    """Round by round, as far as every task goes: (rounds, tasks)."""
    import numpy as np

    tasks = by_task(values, sizes)
    rounds = min(map(len, tasks))
    return np.stack([np.asarray(task[:rounds], dtype=float) for task in tasks], axis=1)


def counts(values: Sequence[float], sizes: Sizes) -> tuple[tuple[int, int], ...]:
    """(solved, measured) of each task."""
    return tuple((int(sum(task)), len(task)) for task in by_task(values, sizes))


def _measured(outcomes: Outcomes) -> tuple[int, int]:
    return outcomes.count(True), len(outcomes) - outcomes.count(None)


def _rate(outcomes: Sequence[bool | int | None]) -> float:
    measured = [outcome for outcome in outcomes if outcome is not None]
    return sum(measured) / max(len(measured), 1)
