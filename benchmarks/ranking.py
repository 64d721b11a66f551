"""Do the intervals of a ranking hold all at once, and is the best policy among those that may be first?

Policies with known success rates on shared scenes, whose outcomes go together more or less, ranked many times.
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from statistics import NormalDist

import numpy as np

from pytest_vla.gate.ranking import simultaneous
from pytest_vla.run.intervals import binomial_tail

STATED, UNLIKELY = 0.05, 0.01
POLICIES, EPISODES = (2, 3, 5, 8, 12), (20, 50, 200)
RATES = {"spread": (0.2, 0.8), "saturated": (0.85, 0.99), "equal": (0.5, 0.5)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 rankings a row instead of 2,000")
    trials = 200 if parser.parse_args().quick else 2000
    rows, ok = {}, True
    for policies, episodes, (name, rates) in product(POLICIES, EPISODES, RATES.items()):
        draw = np.random.default_rng([policies, episodes, *name.encode()])
        missed, lost = np.sum([trial(draw, policies, episodes, rates) for _ in range(trials)], axis=0).tolist()
        rows[f"{policies} x {episodes} {name}"] = [round(1 - missed / trials, 4), round(1 - lost / trials, 4)]
        ok &= not_above(missed, trials) and not_above(lost, trials)
        print(
            f"{policies:2d} policies, {episodes:3d} episodes, {name:9s}: all intervals hold in "
            f"{1 - missed / trials:.1%}, the best may be first in {1 - lost / trials:.1%}",
            flush=True,
        )
    print(json.dumps({"name": "ranking", "rows": rows, "trials": trials, "target": 1 - STATED, "ok": ok}))
    return 0 if ok else 1


def trial(draw: np.random.Generator, policies: int, episodes: int, rates: tuple[float, float]) -> tuple[bool, bool]:
    """Whether an interval misses its difference, and whether the best policy is proven worse than another."""
    true = draw.uniform(*rates, policies)
    together = draw.random()  # from independent outcomes to those that the scene decides
    scene, own = draw.standard_normal((1, episodes)), draw.standard_normal((policies, episodes))
    limits = np.array([NormalDist().inv_cdf(rate) for rate in true])
    found = simultaneous(np.sqrt(together) * scene + np.sqrt(1 - together) * own < limits[:, None], STATED)
    difference = true[:, None] - true[None, :]
    holds = (found.low <= difference + 1e-9) & (difference <= found.high + 1e-9)
    return not holds.all(), bool(found.better()[:, true.argmax()].any())


def not_above(missed: int, trials: int) -> bool:
    """Whether so many may be by chance what is stated."""
    return binomial_tail(missed, trials, STATED) > UNLIKELY if trials <= 500 else _normal_tail(missed, trials)


def _normal_tail(missed: int, trials: int) -> bool:
    spread = (trials * STATED * (1 - STATED)) ** 0.5
    return 1 - NormalDist().cdf((missed - 0.5 - trials * STATED) / spread) > UNLIKELY


if __name__ == "__main__":
    raise SystemExit(main())
