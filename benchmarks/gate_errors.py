"""How often the gate's tests are wrong, question by question: fixed n, early stopping, and with workers."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import binomtest

from pytest_vla.gate import exact, sequential
from pytest_vla.gate.evidence import Bounds, holm

ALPHA = 0.05
RATES = (0.05, 0.2, 0.5, 0.8, 0.95)
COMPARISONS = (1, 17, 68)
EPISODES = 50  # per comparison, in the tests of fixed n
MOST_EPISODES = 150  # per comparison, in the sequential ones
MARGIN = 0.1
FLIPS = 0.4  # how often paired outcomes differ, as a share of what independent ones would
WORKERS = 8
MANY_TRIALS = 4000
THRESHOLD = Bounds(0.6, 0.8)


@dataclass(frozen=True)
class ErrorRate:
    """How often a simulated gate was wrong, with its 95% Monte-Carlo interval."""

    name: str
    wrong: int
    trials: int

    @property
    def rate(self) -> float:
        return self.wrong / self.trials

    @property
    def ok(self) -> bool:
        """At or below 5%, as far as this many trials can tell; with many of them the estimate must be near it too."""
        near = self.trials < MANY_TRIALS or self.rate <= 1.1 * ALPHA
        return near and bool(binomtest(self.wrong, self.trials, ALPHA, alternative="greater").pvalue > 0.01)

    def __str__(self) -> str:
        low, high = binomtest(self.wrong, self.trials).proportion_ci(0.95, method="wilson")
        mark = "" if self.ok else "TOO HIGH"
        return f"{self.name:58s} {100 * self.rate:5.2f}%  [{100 * low:4.1f}, {100 * high:4.1f}]  {mark}"


@dataclass(frozen=True)
class Scenario:
    """A kind of comparison at one success rate: how its outcomes are drawn at either bound, and how it is tested."""

    kind: str
    rate: float

    def bounds(self, bad: bool) -> Bounds:
        """A threshold's bounds are rates: the simulated one is the lower (bad) or the upper; otherwise a margin."""
        if self.kind != "threshold":
            return Bounds(-MARGIN, 0.0)
        return (
            Bounds(self.rate, min(1.0, self.rate + MARGIN)) if bad else Bounds(max(0.0, self.rate - MARGIN), self.rate)
        )

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...], bad: bool) -> tuple[np.ndarray, np.ndarray]:
        """(baseline, new) outcomes; the baseline's are unused by a threshold."""
        if self.kind == "threshold":
            new = rng.random(shape) < self.rate
            return new, new
        gap = MARGIN if bad else 0.0
        old_rate, new_rate = (self.rate, self.rate - gap) if self.rate + gap > 1 else (self.rate + gap, self.rate)
        if self.kind == "unpaired":
            return rng.random(shape) < old_rate, rng.random(shape) < new_rate
        gained = FLIPS * new_rate * (1 - old_rate)
        lost = gained + gap
        return draw_pairs(rng, shape, gained, lost, old_rate)

    def pvalues(self, old: np.ndarray, new: np.ndarray, bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
        """Passing and failing p-values of the fixed-n test over the last axis."""
        n = new.shape[-1]
        if self.kind == "threshold":
            return looked_up(lambda k: exact.rate_evidence(k, n, bounds), new.sum(-1))
        if self.kind == "unpaired":
            return looked_up(lambda a, b: exact.unpaired_evidence((a, n), (b, n), bounds), old.sum(-1), new.sum(-1))
        gained, lost = (new & ~old).sum(-1), (old & ~new).sum(-1)
        return looked_up(lambda g, x: exact.paired_evidence(g, x, n, bounds), gained, lost)

    def stakes(self, old: np.ndarray, new: np.ndarray, bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
        """Passing and failing log stakes of the sequential test after every episode."""
        count = np.arange(1.0, new.shape[-1] + 1)
        if self.kind == "threshold":
            hits = new.cumsum(-1).astype(float)
            return (
                sequential.rate_stake(hits, count, bounds.low, bounds.high),
                sequential.rate_stake(count - hits, count, 1 - bounds.high, 1 - bounds.low),
            )
        return pair_stakes(old, new, bounds)


def draw_pairs(
    rng: np.random.Generator, shape: tuple[int, ...], gained: float, lost: float, old_rate: float
) -> tuple[np.ndarray, np.ndarray]:
    draw = rng.random(shape)
    up, down = draw < gained, (draw >= gained) & (draw < gained + lost)
    both = (draw >= gained + lost) & (draw < gained + old_rate)
    return both | down, both | up


def pair_stakes(old: np.ndarray, new: np.ndarray, bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
    count = np.arange(1.0, new.shape[-1] + 1)
    gained = (new & ~old).cumsum(-1).astype(float)
    lost = (old & ~new).cumsum(-1).astype(float)
    return (
        sequential.paired_stake(gained, lost, count, bounds.low, bounds.high),
        sequential.paired_stake(lost, gained, count, -bounds.high, -bounds.low),
    )


def looked_up(evidence: Callable[..., object], *counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The evidence of many tables, computed once per distinct table."""
    tables, where = np.unique(np.stack([c.ravel() for c in counts]), axis=1, return_inverse=True)
    found = [evidence(*map(int, table)) for table in tables.T]
    shape = counts[0].shape
    passing = np.array([e.passing for e in found])[where.ravel()].reshape(shape)  # type: ignore[attr-defined]
    failing = np.array([e.failing for e in found])[where.ravel()].reshape(shape)  # type: ignore[attr-defined]
    return passing, failing


def scenarios() -> Iterator[Scenario]:
    for kind in ("threshold", "paired", "unpaired"):
        for rate in RATES:
            yield Scenario(kind, rate)


def fixed_errors(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    """The gate at fixed n.

    False fail: nothing is worse, and any comparison fails. False pass: one comparison is bad, and it passes though all
    others do (so that it alone stands between the gate and a wrong answer).
    """
    for scenario in scenarios():
        for total in COMPARISONS:
            name = f"fixed n, {scenario.kind}, p={scenario.rate}, {total} comparisons"
            bounds = scenario.bounds(bad=False)
            passing, failing = scenario.pvalues(*scenario.draw(rng, (trials, total, EPISODES), False), bounds)
            adjusted = np.array([holm(list(row)) for row in failing])
            wrong = ((adjusted <= ALPHA) & (passing > ALPHA)).any(axis=1)
            yield ErrorRate(f"{name}: false fail", int(wrong.sum()), trials)
            passing, _ = scenario.pvalues(*scenario.draw(rng, (trials, EPISODES), True), scenario.bounds(bad=True))
            yield ErrorRate(f"{name}: false pass", int((passing <= ALPHA).sum()), trials)


def early_errors(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    """The same under early stopping: every comparison is looked at after each of its episodes."""
    for scenario in scenarios():
        for total in COMPARISONS:
            name = f"early stop, {scenario.kind}, p={scenario.rate}, {total} comparisons"
            yield settled(f"{name}: false fail", partial(_early_fails, rng, scenario, total), trials)
            yield settled(f"{name}: false pass", partial(_early_passes, rng, scenario, total), trials)


def settled(name: str, wrong: Callable[[int], int], trials: int) -> ErrorRate:
    """Several of these rates are 5% and no less, and of many such estimates some are too high by chance.

    So one beyond the bar is made with ten times as many trials more, and all of them count.
    """
    first = ErrorRate(name, wrong(trials), trials)
    if first.ok:
        return first
    more = sum(wrong(trials) for _ in range(10))
    return ErrorRate(f"{name} (x 11)", first.wrong + more, 11 * trials)


def _early_fails(rng: np.random.Generator, scenario: Scenario, total: int, trials: int) -> int:
    wrong = np.zeros(trials, dtype=bool)
    for _ in range(total):
        old, new = scenario.draw(rng, (trials, MOST_EPISODES), False)
        passing, failing = scenario.stakes(old, new, scenario.bounds(bad=False))
        wrong |= first_answer(passing, failing, total)[1] == -1
    return int(wrong.sum())


def _early_passes(rng: np.random.Generator, scenario: Scenario, total: int, trials: int) -> int:
    old, new = scenario.draw(rng, (trials, MOST_EPISODES), True)
    answer = first_answer(*scenario.stakes(old, new, scenario.bounds(bad=True)), total)[1]
    return int((answer == 1).sum())


def first_answer(passing: np.ndarray, failing: np.ndarray, total: int) -> tuple[np.ndarray, np.ndarray]:
    """After how many episodes each trial stopped, and with what: 1 pass, -1 fail, 0 undecided after all of them."""
    passed, failed = passing >= -np.log(ALPHA), failing >= -np.log(ALPHA / total)
    crossed = passed | failed
    stop = np.where(crossed.any(-1), crossed.argmax(-1), crossed.shape[-1] - 1)
    at = (
        np.take_along_axis(passed, stop[..., None], -1)[..., 0],
        np.take_along_axis(failed, stop[..., None], -1)[..., 0],
    )
    return stop + 1, np.where(at[0], 1, np.where(at[1], -1, 0))


def under_workers(rng: np.random.Generator, trials: int, in_order: bool) -> Iterator[ErrorRate]:
    """The threshold gate with 8 workers, where solved episodes end early: fed in episode order, or as they arrive."""
    order = "in episode order" if in_order else "as they arrive (for contrast)"
    for rate, wrong_answer, name in ((THRESHOLD.low, 1, "false pass"), (THRESHOLD.high, -1, "false fail")):
        wrong = sum(answer_under_workers(rng, rate, in_order) == wrong_answer for _ in range(trials))
        yield ErrorRate(f"{WORKERS} workers, {order}: {name} at {rate}", wrong, trials)


def answer_under_workers(rng: np.random.Generator, rate: float, in_order: bool, most: int = 150) -> int:
    solved = rng.random(most) < rate
    seconds = np.where(solved, rng.uniform(0.1, 0.5, most), 1.0)
    free = [0.0] * WORKERS
    ends = []
    for duration in seconds:
        end = heapq.heappop(free) + duration
        heapq.heappush(free, end)
        ends.append(end)
    fed = solved if in_order else solved[np.argsort(ends, kind="stable")]
    step = np.where(fed, np.log(THRESHOLD.high / THRESHOLD.low), np.log((1 - THRESHOLD.high) / (1 - THRESHOLD.low)))
    stake = np.cumsum(step)
    return int(first_answer(stake[None], -stake[None], 1)[1][0])
