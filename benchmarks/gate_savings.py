"""How many episodes early stopping takes: against a fixed number, and against Wald's test; and what a look costs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.gate_errors import ALPHA, THRESHOLD, draw_pairs, first_answer, looked_up, pair_stakes
from benchmarks.gate_modes import by_difficulty, coins, tasks
from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.gate import exact, planning, sequential
from pytest_vla.gate.comparisons import Scope
from pytest_vla.gate.evidence import Bounds
from pytest_vla.gate.rules import read_rules
from pytest_vla.gate.watch import Watch
from pytest_vla.run import Record, Table

THRESHOLD_FIXED_N = 54  # the usual formula for 0.8 against 0.6 at 5%/5%; the exact test needs a few more
POOLED_ROUNDS = 10  # of the fixed number: with fewer, a look after a round is hardly a look


@dataclass(frozen=True)
class Saving:
    """The median number of episodes (against Wald: the mean), and what it is compared with."""

    name: str
    median: float
    fixed: float
    allowed: float

    @property
    def ratio(self) -> float:
        return self.median / self.fixed

    @property
    def ok(self) -> bool:
        return self.ratio <= self.allowed

    def __str__(self) -> str:
        return (
            f"{self.name:58s} median {self.median:5.0f} of {self.fixed:4.0f} = {100 * self.ratio:3.0f}%"
            f"  (at most {100 * self.allowed:.0f}%)  {'' if self.ok else 'TOO MANY'}"
        )


def savings(rng: np.random.Generator, trials: int) -> Iterator[Saving]:
    """Episodes needed at either hypothesis (at most 60% of fixed n) and well beyond them (at most 35%)."""
    for rate, allowed in ((0.4, 0.35), (0.6, 0.6), (0.8, 0.6), (0.9, 0.35)):
        hits = (rng.random((trials, 400)) < rate).cumsum(-1).astype(float)
        count = np.arange(1.0, 401)
        passing = sequential.rate_stake(hits, count, THRESHOLD.low, THRESHOLD.high)
        failing = sequential.rate_stake(count - hits, count, 1 - THRESHOLD.high, 1 - THRESHOLD.low)
        stop = np.median(first_answer(passing, failing, 1)[0])
        yield Saving(f"threshold 0.8 against 0.6, true rate {rate}", stop, THRESHOLD_FIXED_N, allowed)
    for margin, flips in ((0.1, 0.05), (0.2, 0.05), (0.2, 0.16)):
        bounds = Bounds(-margin, 0.0)
        fixed = fixed_pairs(rng, bounds, flips, trials)
        for effect, allowed in ((-2.5 * margin, 0.35), (-margin, 0.6), (0.0, 0.6), (1.5 * margin, 0.35)):
            lost, gained = flips + max(0.0, -effect), flips + max(0.0, effect)
            old, new = draw_pairs(rng, (trials, 3 * fixed), gained, lost, lost)
            stop = np.median(first_answer(*pair_stakes(old, new, bounds), 1)[0])
            name = f"paired, margin {margin}, {100 * flips:.0f}% flips each way, effect {effect:+.2f}"
            yield Saving(name, stop, fixed, allowed)


def fixed_pairs(rng: np.random.Generator, bounds: Bounds, flips: float, trials: int) -> int:
    """The smallest n (within 3%) at which the exact paired test decides rightly 95% of the time at either bound."""

    def enough(n: int) -> bool:
        for effect in (bounds.low, bounds.high):
            draws = rng.multinomial(n, [flips, flips - effect, 1 - 2 * flips + effect], trials)
            passing, failing = looked_up(lambda g, x: exact.paired_evidence(g, x, n, bounds), draws[:, 0], draws[:, 1])
            right = passing <= ALPHA if effect == bounds.high else (failing <= ALPHA) & (passing > ALPHA)
            if right.mean() < 1 - ALPHA:
                return False
        return True

    guess = planning.plan_pairs(bounds, 2 * flips) or 0
    low, high = int(0.6 * guess), int(1.3 * guess)  # not enough, and enough
    while high - low > 0.03 * high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def pooled_savings(rng: np.random.Generator, trials: int) -> Iterator[Saving]:
    """Pooled over tasks, at either hypothesis, where the fixed number is ten rounds or more."""
    for count in (4, 17):
        for bounds in (Bounds(0.5, 0.6), Bounds(0.8, 0.9)):
            fixed = planning.plan_rate(bounds) or 0
            if fixed < POOLED_ROUNDS * count:
                continue
            for name, spread in (("alike", 0.0), ("by difficulty", 1.0)):
                for rate in (bounds.low, bounds.high):
                    rates = rate + spread * (by_difficulty(rate, count) - rate)
                    outcomes = coins(rng, trials, 3 * fixed // count, rates)
                    match = sequential.Match.of_rate(bounds)
                    passing = sequential.stakes(match.passing, outcomes)
                    failing = sequential.stakes(match.failing, match.mirrored(outcomes))
                    stop = count * np.median(first_answer(passing, failing, 1)[0])
                    title = f"{count} tasks {name}, {bounds.low}-{bounds.high}, true rate {rate}"
                    yield Saving(title, stop, fixed, 0.6)


def against_wald(rng: np.random.Generator, trials: int) -> Iterator[Saving]:
    """The mean at single cells against that of Wald's test on the same episodes."""
    for bounds in (Bounds(0.6, 0.8), Bounds(0.5, 0.6), Bounds(0.85, 0.95)):
        for rate in (bounds.low, bounds.high):
            hits = (rng.random((trials, 1500)) < rate).cumsum(-1).astype(float)
            stake = sequential.rate_stake(hits, np.arange(1.0, 1501), bounds.low, bounds.high)
            ours = first_answer(stake, -stake, 1)[0].mean()
            high, low = np.log((1 - ALPHA) / ALPHA), np.log(ALPHA / (1 - ALPHA))
            out = (stake >= high) | (stake <= low)
            wald = (out.argmax(-1) + 1).mean()
            yield Saving(f"mean against Wald's, {bounds.low}-{bounds.high}, true rate {rate}", ours, wald, 1.1)


@dataclass(frozen=True)
class Cost:
    """What the gate adds to an episode."""

    name: str
    ms: float
    allowed: float = 0.3

    @property
    def ok(self) -> bool:
        return self.ms <= self.allowed

    def __str__(self) -> str:
        return f"{self.name:58s} {self.ms:6.3f} ms an episode (at most {self.allowed})  {'' if self.ok else 'TOO SLOW'}"


def costs() -> Iterator[Cost]:
    """A gate that never decides, by task and pooled, with thresholds or a baseline: at 5,000 episodes and at 50,000."""
    for by in ("task", "partition"):
        for kind in ("threshold", "baseline"):
            for size in (5_000, 50_000):
                yield Cost(f"{kind}, by {by}, {size} episodes", _cost(by, kind, size))


def _cost(by: str, kind: str, size: int, count: int = 4) -> float:
    rng = np.random.default_rng(7)
    solved = rng.random((2, count, size // count)) < 0.5
    old, new = ([*_records(outcomes)] for outcomes in solved)
    table = {"by": by, "confidence": 1 - 1e-12, **({"success": 0.5} if kind == "threshold" else {})}
    scope = Scope(dict.fromkeys(tasks(count), size // count), 0, count, early_stop=True)
    watch = Watch(read_rules(table), scope, {} if kind == "threshold" else {"baseline": Table.of(old)})
    start = time.process_time()
    for record in new:
        for _ in watch.add(record):
            pass
    return 1000 * (time.process_time() - start) / len(new)


def _records(outcomes: np.ndarray) -> Iterator[Record]:
    for index in range(outcomes.shape[1]):
        for cell, solved in zip(tasks(len(outcomes)), outcomes[:, index].tolist(), strict=True):
            key = EpisodeKey(*cell[:3], index)
            yield Record(Result(key, "solved" if solved else "unsolved", None if solved else "step_limit"))
