"""A number with its interval, and what it proves of a threshold: exact for shares, by resampling items for the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_vla.run.intervals import exact_interval

RESAMPLES = 1000
MANY_ITEMS, FEW_RESAMPLES = 5_000, 200  # of so many items fewer resamples are as good
SEED = 20_251_114  # intervals are the same whoever asks
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """What was measured of `size` items. A share has `hits`, anything else the values of its resamples."""

    value: float
    size: int
    hits: int | None = None
    draws: Any = None

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Clopper and Pearson's of a share; percentiles of the resamples else."""
        import numpy as np

        if self.hits is None:
            tail = 50 * (1 - confidence)
            low, high = np.percentile(self.draws, [tail, 100 - tail])
            return float(low), float(high)
        return exact_interval(self.hits, self.size, confidence)

    def pvalue(self, threshold: float, below: bool) -> float:
        """Against 'it is not below (or not above) the threshold': small where it is."""
        if self.hits is None:
            wrong = int((self.draws >= threshold if below else self.draws <= threshold).sum())
            return (1 + wrong) / (1 + len(self.draws))
        from scipy.stats import binom

        if below:
            return float(binom.cdf(self.hits, self.size, threshold))
        return float(binom.sf(self.hits - 1, self.size, threshold))


def share(hits: Any) -> Estimate | None:
    """The share of items that are so; None of no items."""
    count, size = int(sum(map(bool, hits))) if not hasattr(hits, "sum") else int(hits.sum()), len(hits)
    return Estimate(count / size, size, hits=count) if size else None


def resampled(statistic: Callable[[Any], float], size: int) -> Estimate | None:
    """A statistic of items by their weights, and what it is when items are drawn again.

    The statistic gets one weight an item: how often it was drawn.
    """
    import numpy as np

    if not size:
        return None
    rng = np.random.default_rng(SEED)
    count = RESAMPLES if size <= MANY_ITEMS else FEW_RESAMPLES
    draws = np.array([statistic(np.bincount(rng.integers(size, size=size), minlength=size)) for _ in range(count)])
    return Estimate(float(statistic(np.ones(size))), size, draws=draws)
