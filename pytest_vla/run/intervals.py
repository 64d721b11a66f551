"""Confidence intervals of a success rate and of the difference of two: the only place that has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import comb
from statistics import NormalDist

Interval = tuple[float, float]
CONFIDENCE = 0.95
MANY = 500
"""Above so many, binomial terms leave the range of floats."""


def rate_interval(solved: int, measured: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of one success rate."""
    if not measured:
        return (0.0, 1.0)
    rate, pull = solved / measured, _quantile(confidence) ** 2 / measured
    centre, half = rate + pull / 2, (pull * (rate * (1 - rate) + pull / 4)) ** 0.5
    low = 0.0 if solved == 0 else (centre - half) / (1 + pull)
    high = 1.0 if solved == measured else (centre + half) / (1 + pull)
    return low, high


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE, draws: int = 2000) -> Interval:
    """Of a mean, by drawing from the values again and again; the same for the same values."""
    import numpy as np

    drawn = np.random.default_rng(0).choice(np.asarray(values, float), (draws, len(values))).mean(1)
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def unpaired_interval(a: tuple[int, int], b: tuple[int, int], confidence: float = CONFIDENCE) -> Interval:
    """Rate of B minus rate of A, each (solved, measured): Agresti and Caffo's, one episode of each kind added."""
    (solved_a, n_a), (solved_b, n_b) = a, b
    rate_a, rate_b = (solved_a + 1) / (n_a + 2), (solved_b + 1) / (n_b + 2)
    variance = rate_a * (1 - rate_a) / (n_a + 2) + rate_b * (1 - rate_b) / (n_b + 2)
    return _normal(rate_b - rate_a, variance, confidence)


def paired_interval(gained: int, lost: int, pairs: int, confidence: float = CONFIDENCE) -> Interval:
    """The same over shared episodes: Agresti and Min's, half a pair of each kind added."""
    total = pairs + 2
    difference = (gained - lost) / total
    variance = ((gained + lost + 1) / total - difference**2) / total
    return _normal(difference, variance, confidence)


def _normal(centre: float, variance: float, confidence: float) -> Interval:
    half = _quantile(confidence) * variance**0.5
    return max(-1.0, centre - half), min(1.0, centre + half)


@cache
def _quantile(confidence: float) -> float:
    """How many standard deviations a two-sided interval reaches; without scipy, which takes a second to import."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


@cache
def exact_interval(count: int, measured: int, confidence: float = CONFIDENCE) -> Interval:
    """Clopper and Pearson's interval of one rate: it holds the true rate at least as often as it says."""
    tail = (1 - confidence) / 2
    if measured > MANY:
        from scipy.special import betaincinv

        low = float(betaincinv(count, measured - count + 1, tail)) if count else 0.0
        high = float(betaincinv(count + 1, measured - count, 1 - tail)) if count < measured else 1.0
        return low, high
    low = 0.0 if count == 0 else _solve(lambda rate: binomial_tail(count, measured, rate) - tail)
    high = 1.0 if count == measured else _solve(lambda rate: binomial_tail(count + 1, measured, rate) - (1 - tail))
    return low, high


def binomial_tail(count: int, measured: int, rate: float) -> float:
    """The chance of so many or more."""
    return sum(comb(measured, n) * rate**n * (1 - rate) ** (measured - n) for n in range(count, measured + 1))


def _solve(increasing: Callable[[float], float]) -> float:
    """Where it crosses zero between 0 and 1."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < 0 else (low, middle)
    return (low + high) / 2
