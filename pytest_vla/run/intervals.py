"""Confidence intervals of a success rate and of the difference of two: the only place that has them."""

from __future__ import annotations

Interval = tuple[float, float]
CONFIDENCE = 0.95


def rate_interval(solved: int, measured: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of one success rate."""
    from scipy.stats import binomtest

    if not measured:
        return (0.0, 1.0)
    interval = binomtest(solved, measured).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


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
    from scipy.stats import norm

    half: float = float(norm.ppf((1 + confidence) / 2)) * variance**0.5
    return max(-1.0, centre - half), min(1.0, centre + half)
