"""Tests that may look after every episode: their error rates hold at whatever moment one stops (Ville's inequality).

Each test multiplies fair bets against the hypothesis to be rejected: if that is true, the stake reaches 1/alpha with
probability alpha at most, ever. Results must come in episode order: solved episodes end early, so the order of arrival
is biased (see docs/gate.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log
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


def rate_evidence(solved: Sequence[bool], bounds: Bounds, alpha_pass: float, alpha_fail: float) -> Evidence:
    """One success rate. With room between the bounds this is Wald's test, stopping at 1/alpha."""
    import numpy as np

    outcomes = np.asarray(solved, dtype=float)
    hits, count = np.cumsum(outcomes), np.arange(1.0, len(outcomes) + 1)
    passing = rate_stake(hits, count, bounds.low, bounds.high)
    failing = rate_stake(count - hits, count, 1 - bounds.high, 1 - bounds.low)
    return _first_crossing(passing, failing, alpha_pass, alpha_fail)


def paired_evidence(differences: Sequence[int], bounds: Bounds, alpha_pass: float, alpha_fail: float) -> Evidence:
    """Rate of B minus rate of A from pairs in order: +1 solved by B only, -1 by A only, 0 by both or neither."""
    import numpy as np

    steps = np.asarray(differences, dtype=float)
    gained, lost = np.cumsum(steps > 0).astype(float), np.cumsum(steps < 0).astype(float)
    count = np.arange(1.0, len(steps) + 1)
    passing = paired_stake(gained, lost, count, bounds.low, bounds.high)
    failing = paired_stake(lost, gained, count, -bounds.high, -bounds.low)
    return _first_crossing(passing, failing, alpha_pass, alpha_fail)


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


def _first_crossing(passing: Array, failing: Array, alpha_pass: float, alpha_fail: float) -> Evidence:
    """The evidence where the first of the two stakes reached its goal, or after all episodes."""
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
    return Evidence(float(np.exp(-max(best_pass, 0.0))), float(np.exp(-max(best_fail, 0.0))), used, stopped)
