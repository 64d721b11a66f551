"""Tests for a number of episodes fixed in advance: exact, so that the stated error rates hold at any rate and any n.

Two rates have a nuisance parameter (how high they are, or how often pairs differ). Barnard's answer is used for it: the
p-value is the largest over all its values. Tables are ordered by the score statistic, which is near the best order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_vla.gate.evidence import Bounds, Evidence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Count = int | Array

Counts = Sequence[tuple[int, int]]

NUISANCE_POINTS = 129
TIE = 1e-9  # two statistics closer than this are the same table order


def rate_evidence(solved: int, measured: int, bounds: Bounds) -> Evidence:
    """One success rate: the exact binomial test on either side."""
    from scipy.stats import binom

    if not measured:
        return Evidence(1.0, 1.0, 0)
    above = float(binom.sf(solved - 1, measured, bounds.low))
    below = float(binom.cdf(solved, measured, bounds.high))
    return Evidence(above, below, measured)


def unpaired_evidence(a: tuple[int, int], b: tuple[int, int], bounds: Bounds) -> Evidence:
    """Rate of B minus rate of A, each given as (solved, measured), from independent episodes."""
    if not a[1] or not b[1]:
        return Evidence(1.0, 1.0, b[1])
    return Evidence(unpaired_pvalue(a, b, bounds.low), unpaired_pvalue(b, a, -bounds.high), b[1])


def paired_evidence(gained: int, lost: int, pairs: int, bounds: Bounds) -> Evidence:
    """Rate of B minus rate of A over the same episodes: `gained` are solved by B only, `lost` by A only."""
    if not pairs:
        return Evidence(1.0, 1.0, 0)
    passing = paired_pvalue(gained, lost, pairs, bounds.low)
    failing = paired_pvalue(lost, gained, pairs, -bounds.high)
    return Evidence(passing, failing, pairs)


def pooled_rate_evidence(tasks: Counts, bounds: Bounds) -> Evidence:
    """One success rate over several tasks, each (solved, measured): the binomial test on what the tasks tell together.

    Easy and hard tasks vary less around their own rates than episodes of one task of their mean rate would, so that
    they count for more episodes; with one task, or tasks that are alike, this is the plain test.
    """
    from scipy.special import betainc

    solved, measured = _sums(tasks)
    worth = information(tasks)
    if worth == 1 or not measured:
        return rate_evidence(solved, measured, bounds)
    total = measured * worth
    above = (solved - 0.5) * worth + 0.5  # a step of one episode, centred on its old place
    below = (solved + 0.5) * worth - 0.5
    passing = float(betainc(above, total - above + 1, bounds.low)) if solved else 1.0
    failing = 1 - float(betainc(below + 1, total - below, bounds.high)) if solved < measured else 1.0
    return Evidence(passing, failing, measured)


def pooled_unpaired_evidence(a: Counts, b: Counts, bounds: Bounds) -> Evidence:
    """Rate of B minus rate of A over the same tasks, by independent episodes."""
    return unpaired_evidence(_worth(a), _worth(b), bounds)


def information(tasks: Counts) -> float:
    """How many episodes of one task of the mean rate an episode of these tasks is worth: at least 1."""
    solved, measured = _sums(tasks)
    if len(tasks) == 1 or min(size for _, size in tasks) < 2:
        return 1.0
    within = sum(size * _variance(hits, size) * (size + 1) / size for hits, size in tasks) / measured
    by_chance = float((2 * (len(tasks) - 1)) ** 0.5) / measured  # how far equal tasks seem to differ
    return max(1.0, _variance(solved, measured) / within - 2 * by_chance)


def _variance(solved: int, measured: int) -> float:
    """Half an episode is added to either side: a task that was solved ten times of ten is not certain."""
    rate = (solved + 0.5) / (measured + 1)
    return rate * (1 - rate)


def _worth(tasks: Counts) -> tuple[int, int]:
    solved, measured = _sums(tasks)
    total = int(measured * information(tasks))
    return round(solved * total / max(measured, 1)), total


def _sums(tasks: Counts) -> tuple[int, int]:
    return sum(solved for solved, _ in tasks), sum(measured for _, measured in tasks)


@lru_cache(maxsize=100_000)
def unpaired_pvalue(a: tuple[int, int], b: tuple[int, int], shift: float) -> float:
    """Against 'rate of B minus rate of A is at most shift' (Farrington and Manning's statistic)."""
    import numpy as np
    from scipy.stats import binom

    (solved_a, n_a), (solved_b, n_b) = a, b
    counts_a = np.arange(n_a + 1.0)
    observed = difference_score(np.array([float(solved_a)]), n_a, np.array([float(solved_b)]), n_b, shift)[0]
    needed = _first(
        lambda counts_b: difference_score(counts_a, n_a, counts_b, n_b, shift) >= observed - TIE, n_b, n_a + 1
    )
    rates_a = _spread(max(0.0, -shift), min(1.0, 1.0 - shift))[:, None]
    weight = binom.pmf(counts_a, n_a, rates_a)
    beyond = binom.sf(needed - 1, n_b, np.clip(rates_a + shift, 0.0, 1.0))
    return min(1.0, float((weight * beyond).sum(axis=1).max()))


@lru_cache(maxsize=100_000)
def paired_pvalue(gained: int, lost: int, pairs: int, shift: float) -> float:
    """The same from pairs (Tango's statistic, which is McNemar's where shift is 0)."""
    import numpy as np
    from scipy.stats import binom

    differing = np.arange(pairs + 1.0)
    observed = paired_score(np.array([float(gained)]), np.array([float(lost)]), pairs, shift)[0]
    needed = _first(
        lambda up: np.where(
            up > differing, True, paired_score(up, np.abs(differing - up), pairs, shift) >= observed - TIE
        ),
        pairs,
        pairs + 1,
    )
    flips = _spread(abs(shift), 1.0)[:, None]
    share = np.divide(flips + shift, 2 * flips, out=np.full_like(flips, 0.5), where=flips > 0)
    weight = binom.pmf(differing, pairs, flips)
    beyond = binom.sf(needed - 1, differing, np.clip(share, 0.0, 1.0))
    return min(1.0, float((weight * beyond).sum(axis=1).max()))


def difference_score(solved_a: Array, n_a: Count, solved_b: Array, n_b: Count, shift: float) -> Array:
    """(rate B - rate A - shift) over its standard error where the truth is exactly `shift`."""
    import numpy as np

    # Miettinen and Nurminen's closed form of the most likely rates with B - A = shift: the middle root of a cubic.
    total, solved = 1.0 * (n_a + n_b), solved_a + solved_b
    second = (n_b + 2 * n_a) * shift - total - solved
    first = (n_a * shift - total - 2 * solved_a) * shift + solved
    zeroth = solved_a * shift * (1 - shift)
    q = second**3 / (3 * total) ** 3 - first * second / (6 * total**2) + zeroth / (2 * total)
    p = np.where(q >= 0, 1.0, -1.0) * np.sqrt(np.maximum((second / (3 * total)) ** 2 - first / (3 * total), 0.0))
    ratio = np.divide(q, p**3, out=np.zeros_like(q), where=np.abs(p) > 1e-12)
    rate_a = 2 * p * np.cos((np.pi + np.arccos(np.clip(ratio, -1.0, 1.0))) / 3) - second / (3 * total)
    rate_a = np.clip(rate_a, max(0.0, -shift), min(1.0, 1.0 - shift))
    rate_b = np.clip(rate_a + shift, 0.0, 1.0)
    variance = rate_a * (1 - rate_a) / n_a + rate_b * (1 - rate_b) / n_b
    return _ratio(solved_b / n_b - solved_a / n_a - shift, variance)


def paired_score(gained: Array, lost: Array, pairs: Count, shift: float) -> Array:
    """The same for pairs: (gained - lost) / pairs - shift over its standard error at `shift`."""
    import numpy as np

    linear = (gained + lost) * (1 - shift) + 2 * (gained - pairs) * shift
    rate_lost = (linear + np.sqrt(np.maximum(linear**2 + 8 * pairs * lost * shift * (1 - shift), 0.0))) / (4 * pairs)
    rate_lost = np.clip(rate_lost, max(0.0, -shift), (1 - shift) / 2)
    variance = (2 * rate_lost + shift - shift**2) / pairs
    return _ratio((gained - lost) / pairs - shift, variance)


def _ratio(difference: Array, variance: Array) -> Array:
    """difference / sqrt(variance); where nothing varies only the sign of the difference is left."""
    import numpy as np

    sure = variance <= 1e-15
    limit = np.select([difference > TIE, difference < -TIE], [np.inf, -np.inf], 0.0)
    return np.where(sure, limit, difference / np.sqrt(np.where(sure, 1.0, variance)))


def _first(reached: Callable[[Any], Any], highest: int, size: int) -> Array:
    """Per row the smallest count that is reached, or highest + 1: found by bisection, as scores only rise."""
    import numpy as np

    low, high = np.zeros(size), np.full(size, highest + 1.0)
    for _ in range((highest + 1).bit_length() + 1):
        middle = np.floor((low + high) / 2)
        yes = reached(np.minimum(middle, highest)) | (middle > highest)
        low, high = np.where(yes, low, np.minimum(middle + 1, high)), np.where(yes, middle, high)
    return high


def _spread(low: float, high: float) -> Array:
    """Values of the nuisance parameter, denser towards the ends where the distributions are narrow."""
    import numpy as np

    return low + (high - low) * np.sin(np.linspace(0.0, np.pi / 2, NUISANCE_POINTS)) ** 2
