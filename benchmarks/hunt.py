"""Planted brittleness: policies with known failure regions, and how many of them each way of searching finds.

    python -m benchmarks.hunt [--quick]

Every policy fails in five planted regions and, uninterestingly, when too much is off at once. A searcher has 500
episodes; its control episodes, confirmations and shrinking count. The search was tuned with the `development` policies
in view; the `held-out` ones were drawn afterwards. The last line is one JSON line with the verdict over both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from benchmarks.hunt_planted import DEVELOPMENT_SPACE, Planted, development, held_out
from benchmarks.hunt_rivals import (
    EPISODES,
    Found,
    Searcher,
    grid,
    optuna_tpe,
    plain_hypothesis,
    sparse_random,
    uniform_random,
)
from pytest_vla.hunt.search import Budget, Hunt, Probe
from pytest_vla.hunt.space import MAX_LEVEL, active

SEEDS, QUICK_SEEDS = 20, 3
NOISE = 0.10
ROBUST_EPISODES = 2000
SETS: dict[str, Callable[[float], list[Planted]]] = {"development": development, "held-out": held_out}
TARGETS = {"modes": 4.5, "extra": 0.05, "shrink": 12.0, "threshold": 0.10, "noisy_modes": 4.3, "noisy_extra": 0.10}
Row = dict[str, float]


def hunt(policy: Planted, seed: int, episodes: int = EPISODES) -> Found:
    """What `--vla-hunt` does."""

    def ask(probes: Sequence[Probe]) -> list[bool]:
        return [policy.solves(probe.point, probe.seed) for probe in probes]

    outcome = Hunt(policy.space, ask, Budget(episodes), random_seed=seed).run()
    return [(cause.point, cause.shrink_episodes) for cause in outcome.causes]


HUNTS: dict[str, tuple[Searcher, float]] = {"hunt": (hunt, 0.0), "hunt, 10% noise": (hunt, NOISE)}
RIVALS: dict[str, tuple[Searcher, float]] = {
    "uniform random + ddmin": (uniform_random, 0.0),
    "the same, 10% noise": (uniform_random, NOISE),
    "random 3-7 axes + ddmin": (sparse_random, 0.0),
    "one and two factors": (grid, 0.0),
}
SLOW_RIVALS: dict[str, tuple[Searcher, float]] = {
    "Optuna TPE + ddmin": (optuna_tpe, 0.0),
    "plain Hypothesis": (plain_hypothesis, 0.0),
}
"""These take most of the time of a run, so they get the policies that hunts were tuned with, and no others."""


@dataclass
class Score:
    """What searches brought, summed up: modes per search; per cause superfluous axes, episodes, thresholds off."""

    modes: list[int] = field(default_factory=list)
    kinds: list[tuple[str, bool]] = field(default_factory=list)
    extra: list[int] = field(default_factory=list)
    off: list[float] = field(default_factory=list)
    shrink: list[int] = field(default_factory=list)

    def add(self, policy: Planted, found: Found) -> None:
        hit: set[int] = set()
        for cause, episodes in found:
            self.shrink.append(episodes)
            axes = set(active(cause))
            inside = [number for number, mode in enumerate(policy.modes) if cause in mode]
            if not inside:  # the cause is none: all of its axes are superfluous
                self.extra.append(len(axes))
                continue
            best = min(inside, key=lambda number: len(axes - policy.modes[number].axes))
            hit.add(best)
            self.extra.append(len(axes - policy.modes[best].axes))
            self.off += [(cause[axis] - low) / MAX_LEVEL for axis, low, high in policy.modes[best].ranges if low < high]
        self.modes.append(len(hit))
        self.kinds += [(mode.kind, number in hit) for number, mode in enumerate(policy.modes)]

    def row(self) -> Row:
        return {
            "modes": round(statistics.mean(self.modes), 2),
            "extra": round(statistics.mean(self.extra or [0]), 3),
            "shrink": statistics.median(self.shrink or [0]),
            "threshold": round(statistics.mean(self.off or [0]), 3),
            "searches": len(self.modes),
        }

    def by_kind(self) -> str:
        kinds = dict.fromkeys(kind for kind, _ in self.kinds)
        return ", ".join(f"{k} {statistics.mean(hit for kind, hit in self.kinds if kind == k):.0%}" for k in kinds)


def measure(pool: ProcessPoolExecutor, search: Searcher, policies: list[Planted], seeds: int) -> Score:
    """Every policy with every seed, spread over the processes of the pool."""
    jobs = [(policy, seed) for policy in policies for seed in range(seeds)]
    total = Score()
    found: Iterator[Found] = pool.map(search, *zip(*jobs, strict=True), chunksize=4)
    for (policy, _), causes in zip(jobs, found, strict=True):
        total.add(policy, causes)
    return total


def compare(pool: ProcessPoolExecutor, name: str, quick: bool) -> dict[str, Row]:
    """One set of policies: hunts, and what else there is to search with."""
    seeds = QUICK_SEEDS if quick else SEEDS
    plan = dict(HUNTS)
    if not quick:
        plan |= RIVALS
        plan |= SLOW_RIVALS if name == "development" else {}
    rows = {}
    policies = SETS[name]
    print(f"\n{name}: {len(policies(0.0))} planted policies, {seeds} seeds each")
    print(f"{'':24}{'modes':>7}{'extra axes':>12}{'shrink':>8}{'threshold off':>15}{'searches':>10}{'seconds':>9}")
    for method, (search, noise) in plan.items():
        start = time.perf_counter()
        score = measure(pool, search, policies(noise), seeds)
        row = rows[method] = score.row()
        print(
            f"{method:24}{row['modes']:7.2f}{row['extra']:12.3f}{row['shrink']:8g}{row['threshold']:15.3f}"
            f"{row['searches']:10g}{time.perf_counter() - start:9.1f}",
            flush=True,
        )
        if method in HUNTS:
            print(f"{'':24}found of each kind: {score.by_kind()}")
    return rows


def robust() -> dict[str, int]:
    """Policies without any failure region: whatever is found is a false alarm."""
    steady, noisy = (
        Planted(name, DEVELOPMENT_SPACE, (), noise, overload=None)
        for name, noise in (("robust", 0.0), ("robust and noisy", NOISE))
    )
    return {policy.name: len(hunt(policy, 0, ROBUST_EPISODES)) for policy in (steady, noisy)}


def meets_targets(rows: dict[str, Row]) -> bool:
    steady, noisy = rows["hunt"], rows["hunt, 10% noise"]
    return (
        steady["modes"] >= TARGETS["modes"]
        and steady["extra"] <= TARGETS["extra"]
        and steady["shrink"] <= TARGETS["shrink"]
        and steady["threshold"] <= TARGETS["threshold"]
        and noisy["modes"] >= TARGETS["noisy_modes"]
        and noisy["extra"] <= TARGETS["noisy_extra"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SEEDS} seeds, without the comparison methods")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes (default: one a core)")
    options = parser.parse_args()
    print(f"{EPISODES} episodes a search over {len(DEVELOPMENT_SPACE.axes)} axes, 5 planted modes a policy")
    with ProcessPoolExecutor(options.workers) as pool:
        rows = {name: compare(pool, name, options.quick) for name in SETS}
    alarms = robust()
    print(f"\nrobust policies, {ROBUST_EPISODES} episodes each: finds {alarms}")
    ok = all(map(meets_targets, rows.values())) and not any(alarms.values())
    verdict = {"name": "hunt", "quick": options.quick, **rows, "false_alarms": alarms, "target": TARGETS, "ok": ok}
    print(json.dumps(verdict))


if __name__ == "__main__":
    main()
