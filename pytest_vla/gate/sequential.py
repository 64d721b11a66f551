"""Tests that may look after every round: their error rates hold at whatever moment one stops (Ville's inequality).

Each test multiplies fair bets against the hypothesis to be rejected: if that is true, the stake reaches 1/alpha with
probability alpha at most, ever. Results must come in episode order: solved episodes end early, so the order of arrival
is biased (see docs/gate.md).

Where tasks are pooled, a round is one episode of each, and the stake counts after complete rounds only. One bet `b`
for all tasks of a round is fair whatever each of them is compared with, as long as that is the bound on average: the
product of 1 + b * (rate - centre) over the tasks is at most their mean to the power of the tasks. So every task is
centred on what its earlier rounds suggest, and differences between easy and hard tasks do not count as noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log
from typing import TYPE_CHECKING

from pytest_vla.gate.evidence import Bounds, Evidence, Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# How often two runs of the same scenes differ is not known in advance: a bet made for each of these, in equal shares.
FLIP_RATES = (0.02, 0.1, 0.3)
# Without room between the bounds: the alternatives that are bet on, as shares of the way from the bound to certainty.
RATE_STEPS = (0.1, 0.25, 0.5, 0.8)
LEAST_EFFECT = 0.1
MOST_AT_STAKE = 0.999  # of the stake: one bad episode must not ruin a test


# Of what a bet may lose of the stake in a pooled round: the tasks it is made on are known by their past only.
MOST_AT_STAKE_POOLED = 0.9
PRIOR_ROUNDS = 2.0  # by which a task's own past is drawn towards that of all tasks
LEAST_VARIANCE = 0.01


@dataclass(frozen=True, slots=True)
class Bets:
    """Fair bets against 'the mean is at most bound'; `shares` are the bets on one task, held in equal parts."""

    bound: float
    shares: tuple[float, ...]
    floor: float
    """The least outcome: 0 of a rate, -1 of a difference. The largest is 1."""

    def gains(self, outcomes: Array, totals: Array, rounds: Array) -> Array:
        """The log of what each bet multiplies its part by in a round.

        Outcomes are (..., tasks); `totals` sums up the outcomes of the `rounds` before. The last axis of the answer is
        the bet.
        """
        import numpy as np

        if not self.shares:  # nothing lies above the bound, or anything above it is proof
            proof = (outcomes > self.bound).any(axis=-1) & (self.bound <= self.floor)
            return np.where(proof, inf, 0.0)[..., None]
        shares = np.array(self.shares)
        if outcomes.shape[-1] == 1:
            centres, bets = np.full_like(outcomes, self.bound), shares
        else:
            centres = self._centres(totals, rounds)
            bets = np.broadcast_to(shares, (*centres.shape[:-1], len(shares)))
            if (
                self.floor == 0
            ):  # the shares are made for tasks that are all alike; others vary less around their own rates
                variance = np.maximum((centres * (1 - centres)).mean(axis=-1), LEAST_VARIANCE)
                bets = bets * (self.bound * (1 - self.bound) / variance)[..., None]
            bets = np.minimum(bets, MOST_AT_STAKE_POOLED / (centres.max(axis=-1) - self.floor)[..., None])
        with np.errstate(divide="ignore"):
            logs: Array = np.log1p(bets[..., None, :] * (outcomes - centres)[..., None])
        total: Array = logs.sum(axis=-2)
        return total

    def _centres(self, totals: Array, rounds: Array) -> Array:
        """What each task is compared with: its own past, moved so that the mean over all tasks is the bound."""
        import numpy as np

        mean = totals.mean(axis=-1, keepdims=True) / np.maximum(rounds, 1.0)[..., None]
        centres: Array = (totals + PRIOR_ROUNDS * mean) / (rounds + PRIOR_ROUNDS)[..., None]
        centres = centres + self.bound - centres.mean(axis=-1, keepdims=True)
        for _ in range(4):
            centres = np.clip(centres, self.floor, 1.0)
            centres = centres + self.bound - centres.mean(axis=-1, keepdims=True)
        return centres


@lru_cache(maxsize=1000)
def rate_bets(bound: float, alternative: float) -> Bets:
    """Against 'the rate is at most bound'. With room up to the alternative this is Wald's test."""
    if not 0 < bound < 1:
        return Bets(bound, (), 0.0)
    rates = [alternative] if alternative > bound else [bound + (1 - bound) * step for step in RATE_STEPS]
    return Bets(bound, tuple((rate - bound) / (bound * (1 - bound)) for rate in rates), 0.0)


@lru_cache(maxsize=1000)
def difference_bets(bound: float, alternative: float) -> Bets:
    """Against 'the rate of B minus the rate of A is at most bound'."""
    if not -1 < bound < 1:
        return Bets(bound, (), -1.0)
    return Bets(bound, paired_bets(bound, alternative if alternative > bound else bound + LEAST_EFFECT), -1.0)


@dataclass(frozen=True, slots=True)
class Match:
    """The two tests of a question, and how outcomes look to the one that would prove failure."""

    passing: Bets
    failing: Bets

    @classmethod
    def of_rate(cls, bounds: Bounds) -> Match:
        return cls(rate_bets(bounds.low, bounds.high), rate_bets(1 - bounds.high, 1 - bounds.low))

    @classmethod
    def of_difference(cls, bounds: Bounds) -> Match:
        return cls(difference_bets(bounds.low, bounds.high), difference_bets(-bounds.high, -bounds.low))

    def mirrored(self, outcomes: Array) -> Array:
        """The outcomes of the policy's failure: 1 - x of a rate, -x of a difference."""
        return 1.0 + self.failing.floor - outcomes


def stakes(bets: Bets, outcomes: Array) -> Array:
    """The log of the stake after every round, of outcomes (..., rounds, tasks)."""
    import numpy as np

    totals = np.cumsum(outcomes, axis=-2) - outcomes
    rounds = np.arange(outcomes.shape[-2], dtype=float)
    return _mean_of_stakes(np.cumsum(bets.gains(outcomes, totals, rounds), axis=-2))


def evidence(match: Match, worst: Array, best: Array, alpha_pass: float, alpha_fail: float) -> Evidence:
    """The answer of outcomes (rounds, tasks), where errors are failures in `worst` and successes in `best`."""
    passing, failing = stakes(match.passing, worst), stakes(match.failing, match.mirrored(best))
    return _first_crossing(passing, failing, alpha_pass, alpha_fail, worst.shape[-1])


class Looks:
    """The same, round by round as they come; a look costs the new round only."""

    def __init__(self, match: Match, tasks: int, alpha_pass: float, alpha_fail: float) -> None:
        self.match, self.tasks = match, tasks
        self.rounds = 0
        self.stopped: Verdict | None = None
        self._goals = -log(alpha_pass), -log(alpha_fail)
        self._sides = (_Side(match.passing, tasks), _Side(match.failing, tasks))

    @property
    def used(self) -> int:
        return self.rounds * self.tasks

    def add(self, worst: Sequence[float], best: Sequence[float]) -> None:
        """One round; after the answer nothing counts any more."""
        import numpy as np

        if self.stopped is not None:
            return
        passing, failing = self._sides
        self.rounds += 1
        passed = passing.add(np.asarray(worst, dtype=float)) >= self._goals[0]
        failed = failing.add(self.match.mirrored(np.asarray(best, dtype=float))) >= self._goals[1]
        if passed or failed:
            self.stopped = Verdict.PASS if passed else Verdict.FAIL


class _Side:
    """One of the two tests after so many rounds."""

    def __init__(self, bets: Bets, tasks: int) -> None:
        import numpy as np

        self.bets, self.rounds, self.totals = bets, 0, np.zeros(tasks)
        self.logs = np.zeros(max(len(bets.shares), 1))

    def add(self, outcomes: Array) -> float:
        import numpy as np

        self.logs = self.logs + self.bets.gains(outcomes, self.totals, np.array(float(self.rounds)))
        self.totals = self.totals + outcomes
        self.rounds += 1
        return float(_mean_of_stakes(self.logs))


def rate_evidence(solved: Sequence[bool], bounds: Bounds, alpha_pass: float, alpha_fail: float) -> Evidence:
    """One success rate. With room between the bounds this is Wald's test, stopping at 1/alpha."""
    import numpy as np

    outcomes = np.asarray(solved, dtype=float)[:, None]
    return evidence(Match.of_rate(bounds), outcomes, outcomes, alpha_pass, alpha_fail)


def paired_evidence(differences: Sequence[int], bounds: Bounds, alpha_pass: float, alpha_fail: float) -> Evidence:
    """Rate of B minus rate of A from pairs in order: +1 solved by B only, -1 by A only, 0 by both or neither."""
    import numpy as np

    steps = np.asarray(differences, dtype=float)[:, None]
    return evidence(Match.of_difference(bounds), steps, steps, alpha_pass, alpha_fail)


def rate_stake(hits: Array, count: Array, bound: float, alternative: float) -> Array:
    """The log of the stake against 'the rate is at most bound', for running counts (vectorised over any shape)."""
    import numpy as np
    from scipy.special import xlogy

    if bound >= 1:  # nothing lies above
        return np.zeros_like(hits)
    rates = np.array([alternative]) if alternative > bound else bound + (1 - bound) * np.array(RATE_STEPS)
    misses = count - hits
    with np.errstate(divide="ignore"):
        won = xlogy(hits[..., None], rates / bound) if bound > 0 else np.where(hits[..., None] > 0, np.inf, 0.0)
        kept = xlogy(misses[..., None], (1 - rates) / (1 - bound))
    return _mean_of_stakes(np.where(np.isneginf(kept), -np.inf, won + kept))


def paired_stake(gained: Array, lost: Array, count: Array, bound: float, alternative: float) -> Array:
    """The log of the stake against 'B minus A is at most bound', for running counts (vectorised over any shape)."""
    import numpy as np

    if bound >= 1:
        return np.zeros_like(gained)
    bets = np.array(paired_bets(bound, alternative if alternative > bound else bound + LEAST_EFFECT))
    up, down, same = np.log1p(bets * (1 - bound)), np.log1p(-bets * (1 + bound)), np.log1p(-bets * bound)
    equal = count - gained - lost
    return _mean_of_stakes(gained[..., None] * up + lost[..., None] * down + equal[..., None] * same)


@lru_cache(maxsize=1000)
def paired_bets(bound: float, alternative: float) -> tuple[float, ...]:
    """The bets lambda of 1 + lambda * (difference - bound) that grow fastest at the alternative, one per flip rate."""
    from scipy.optimize import minimize_scalar

    largest = MOST_AT_STAKE / max(1 + bound, bound, 1e-9)
    bets = []
    for flips in FLIP_RATES:
        differing = min(1.0, flips + abs(alternative))
        up, down = (differing + alternative) / 2, (differing - alternative) / 2

        def shrinkage(bet: float, up: float = up, down: float = down) -> float:
            return -(
                up * log(1 + bet * (1 - bound))
                + down * log(1 - bet * (1 + bound))
                + (1 - up - down) * log(1 - bet * bound)
            )

        best = minimize_scalar(shrinkage, bounds=(0.0, largest), method="bounded", options={"xatol": 1e-6})
        bets.append(float(best.x))
    return tuple(bets)


def _mean_of_stakes(logs: Array) -> Array:
    """log(mean(exp(logs))) over the last axis."""
    import numpy as np

    if logs.shape[-1] == 1:
        return logs[..., 0]
    top = np.clip(logs.max(axis=-1, keepdims=True), -1e300, 1e300)
    with np.errstate(divide="ignore", over="ignore"):
        mean: Array = top[..., 0] + np.log(np.exp(logs - top).mean(axis=-1))
    return mean


def _first_crossing(passing: Array, failing: Array, alpha_pass: float, alpha_fail: float, tasks: int) -> Evidence:
    """The evidence where the first of the two stakes reached its goal, or after all rounds."""
    import numpy as np

    passed, failed = passing >= -log(alpha_pass), failing >= -log(alpha_fail)
    crossed = np.flatnonzero(passed | failed)
    used = int(crossed[0]) + 1 if crossed.size else len(passing)
    if not used:
        return Evidence(1.0, 1.0, 0)
    stopped = None
    if crossed.size:
        stopped = Verdict.PASS if passed[used - 1] else Verdict.FAIL
    best_pass, best_fail = float(passing[:used].max()), float(failing[:used].max())
    return Evidence(float(np.exp(-max(best_pass, 0.0))), float(np.exp(-max(best_fail, 0.0))), used * tasks, stopped)
