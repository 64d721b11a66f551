"""Confidence intervals of a success rate and of the difference of two: the only place that has them."""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

Interval = tuple[float, float]
CONFIDENCE = 0.95


def rate_interval(solved: int, measured: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of one success rate."""
    if not measured:
        return (0.0, 1.0)
    rate, pull = solved / measured, _quantile(confidence) ** 2 / measured
    centre, half = rate + pull / 2, (pull * (rate * (1 - rate) + pull / 4)) ** 0.5
    low = 0.0 if solved == 0 else (centre - half) / (1 + pull)
    high = 1.0 if solved == measured else (centre + half) / (1 + pull)
    return low, high


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
