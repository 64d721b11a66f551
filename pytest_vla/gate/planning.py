"""How many episodes a question needs: after a run that was undecided (`more_*`), or before one (`plan_*`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_vla.gate.evidence import Bounds
from pytest_vla.gate.exact import difference_score, paired_score
from pytest_vla.gate.sequential import paired_stake, rate_stake

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST_EPISODES = 20_000
Alphas = tuple[float, float]  # the levels of passing and of failing


def more_rate(solved: int, measured: int, bounds: Bounds, alphas: Alphas, sequential: bool = False) -> int | None:
    """Episodes still missing for a verdict on one rate, were it to stay as observed; None if more than anyone runs."""
    import numpy as np
    from scipy.stats import binom

    counts = _totals(measured)
    hits = counts * (solved / measured if measured else bounds.high)
    if sequential:
        passing = rate_stake(hits, counts, bounds.low, bounds.high) >= -np.log(alphas[0])
        failing = rate_stake(counts - hits, counts, 1 - bounds.high, 1 - bounds.low) >= -np.log(alphas[1])
    else:
        passing = binom.sf(np.round(hits) - 1, counts, bounds.low) <= alphas[0]
        failing = binom.cdf(np.round(hits), counts, bounds.high) <= alphas[1]
    return _first_decided(counts, passing | failing, measured)


def more_unpaired(a: tuple[int, int], b: tuple[int, int], bounds: Bounds, alphas: Alphas) -> int | None:
    """The same for B against A, each (solved, measured), where A gets as many more as B."""
    from scipy.stats import norm

    (solved_a, n_a), (solved_b, n_b) = a, b
    counts = _totals(n_b)
    more_a = counts * (n_a / n_b) if n_b and n_a else counts
    hits_a = more_a * (solved_a / n_a if n_a else 0.5)
    hits_b = counts * (solved_b / n_b if n_b else 0.5)
    passing = difference_score(hits_a, more_a, hits_b, counts, bounds.low) >= norm.isf(alphas[0])
    failing = difference_score(hits_b, counts, hits_a, more_a, -bounds.high) >= norm.isf(alphas[1])
    return _first_decided(counts, passing | failing, n_b)


def more_paired(
    gained: int, lost: int, pairs: int, bounds: Bounds, alphas: Alphas, sequential: bool = False
) -> int | None:
    """The same for pairs."""
    import numpy as np
    from scipy.stats import norm

    counts = _totals(pairs)
    up, down = counts * (gained / max(pairs, 1)), counts * (lost / max(pairs, 1))
    if sequential:
        passing = paired_stake(up, down, counts, bounds.low, bounds.high) >= -np.log(alphas[0])
        failing = paired_stake(down, up, counts, -bounds.high, -bounds.low) >= -np.log(alphas[1])
    else:
        passing = paired_score(up, down, counts, bounds.low) >= norm.isf(alphas[0])
        failing = paired_score(down, up, counts, -bounds.high) >= norm.isf(alphas[1])
    return _first_decided(counts, passing | failing, pairs)


def plan_rate(bounds: Bounds, alphas: Alphas = (0.05, 0.05)) -> int | None:
    """The smallest fixed n whose one cut-off keeps both errors: good policies fail, and bad ones pass, that rarely."""
    import numpy as np
    from scipy.stats import binom

    counts = np.arange(1, MOST_EPISODES)
    too_few = binom.isf(alphas[0], counts, bounds.low)  # successes that do not pass yet
    enough = np.flatnonzero(binom.cdf(too_few, counts, bounds.high) <= alphas[1])
    return int(counts[enough[0]]) if enough.size else None


def plan_pairs(bounds: Bounds, flips: float, alphas: Alphas = (0.05, 0.05), power: float = 0.95) -> int | None:
    """Pairs for a verdict with this power at either bound, where two equal policies differ in a share `flips`."""
    from scipy.stats import norm

    room = bounds.high - bounds.low
    if room <= 0:
        return None
    # At the upper bound pairs differ in a share `flips`, at the lower one in `flips + room`; failing there is tested
    # against equal policies that differ as often.
    at_high, at_low = flips - bounds.high**2, min(1.0, flips + room) - bounds.low**2
    passing = (norm.isf(alphas[0]) * at_low**0.5 + norm.ppf(power) * at_high**0.5) / room
    failing = (norm.isf(alphas[1]) * min(1.0, flips + room) ** 0.5 + norm.ppf(power) * at_low**0.5) / room
    return int(max(passing, failing) ** 2) + 1


def _totals(used: int) -> Array:
    """Numbers of episodes beyond `used` to try, each at most 2% more than the one before."""
    import numpy as np

    steps = np.unique(np.geomspace(used + 1, MOST_EPISODES, 800).astype(int)) if used < MOST_EPISODES else np.array([])
    return np.asarray(steps, dtype=float)


def _first_decided(counts: Array, decided: NDArray[np.bool_], used: int) -> int | None:
    import numpy as np

    found = np.flatnonzero(decided)
    return int(counts[found[0]]) - used if found.size else None
