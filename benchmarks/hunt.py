"""Planted brittleness: what a hunt finds, what it makes up, and what it says about how often it happens.

    python -m benchmarks.hunt [--quick | --alone]

1. Policies that fail in five regions for certain, beside other ways to search: 500 episodes a search, its control
   episodes, confirmations and shrinking included. The search was tuned with the `development` policies in view; the
   `held-out` ones were drawn afterwards, and once more when one of them had been missed by every search.
2. Ten sorts of regions over few and many axes.
3. Causes that are effects: shares of the scenes, failures of the policy's own, features of the scene, no cause at all.
4. The same, typed: `pytest --vla-hunt` in processes of their own.

Counts come with their Monte-Carlo interval (exact, 95%). The last line is one JSON line with the verdict over all.
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

from benchmarks.hunt_effects import Figure, effects
from benchmarks.hunt_planted import DEVELOPMENT_SPACE, Planted, development, held_out, two_ways
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
from benchmarks.hunt_sorts import FEW, MANY, SORTS, planted
from benchmarks.hunt_typed import typed
from pytest_vla.hunt.outcome import Budget, Probe
from pytest_vla.hunt.search import Hunt
from pytest_vla.hunt.space import MAX_LEVEL, active

SEEDS, QUICK_SEEDS = 10, 1
SORT_SEARCHES, QUICK_SORT_SEARCHES = 24, 2
SEARCHES, QUICK_SEARCHES = 24, 12
NULL_SEARCHES, QUICK_NULL_SEARCHES = 300, 20
TYPED, QUICK_TYPED = 12, 3
NOISE = 0.10
LEAST_OF_SORT = 1.0
SETS: dict[str, Callable[[float], list[Planted]]] = {
    "development": development,
    "held-out": held_out,
    "two directions": two_ways,
}
TARGETS = {
    "modes": 4.95,
    "two_way_modes": 4.5,
    "extra": 0.0,
    "shrink": 12.0,
    "threshold": 0.10,
    "noisy_modes": 4.0,
    "noisy_extra": 0.10,
    "effects": "each count as its line says",
}
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
            ranges = [(axis, low) for axis, low, high in policy.modes[best].ranges if 0 < low < high]
            self.off += [(cause[axis] - low) / MAX_LEVEL for axis, low in ranges]
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


def compare(pool: ProcessPoolExecutor, name: str, seeds: int, rivals: bool) -> dict[str, Row]:
    """One set of policies: hunts, and what else there is to search with."""
    plan = dict(HUNTS)
    if name == "two directions":
        del plan["hunt, 10% noise"]
    elif rivals:
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


def sorts(pool: ProcessPoolExecutor, searches: int) -> Iterator[Figure]:
    """Ten sorts of regions: found, and not an axis too many."""
    for axes in (FEW, MANY):
        for sort in SORTS:
            policies = [planted(sort, axes, number) for number in range(searches)]
            score = Score()
            for policy, found in zip(policies, pool.map(hunt, policies, range(searches)), strict=True):
                score.add(policy, found)
            hits, modes = sum(score.modes), len(score.kinds)
            ok = hits >= LEAST_OF_SORT * modes and not any(score.extra)
            name = f"{sort} over {axes} axes, {sum(score.extra)} superfluous"
            yield Figure(name, hits, modes, f">= {LEAST_OF_SORT:.0%}, none superfluous", ok)


def meets_targets(name: str, rows: dict[str, Row]) -> bool:
    steady, noisy = rows["hunt"], rows.get("hunt, 10% noise")
    return (
        steady["modes"] >= TARGETS["two_way_modes" if name == "two directions" else "modes"]
        and steady["extra"] <= TARGETS["extra"]
        and steady["shrink"] <= TARGETS["shrink"]
        and steady["threshold"] <= TARGETS["threshold"]
        and (noisy is None or noisy["modes"] >= TARGETS["noisy_modes"])
        and (noisy is None or noisy["extra"] <= TARGETS["noisy_extra"])
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few searches a row, without the comparison methods")
    parser.add_argument("--alone", action="store_true", help="all rows of hunts, without the comparison methods")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes (default: one a core)")
    options = parser.parse_args()
    quick, start = options.quick, time.monotonic()
    print(f"{EPISODES} episodes a search over {len(DEVELOPMENT_SPACE.axes)} axes, 5 planted modes a policy")
    with ProcessPoolExecutor(options.workers) as pool:
        seeds, rivals = QUICK_SEEDS if quick else SEEDS, not (quick or options.alone)
        rows = {name: compare(pool, name, seeds, rivals) for name in SETS}
        figures = [
            *show("Ten sorts of regions", sorts(pool, QUICK_SORT_SEARCHES if quick else SORT_SEARCHES)),
            *show(
                "Causes that are effects",
                effects(
                    pool,
                    QUICK_SEARCHES if quick else SEARCHES,
                    QUICK_NULL_SEARCHES if quick else NULL_SEARCHES,
                ),
            ),
        ]
    figures += show("Typed hunts", typed(QUICK_TYPED if quick else TYPED, options.workers))
    ok = all(meets_targets(name, found) for name, found in rows.items()) and all(figure.ok for figure in figures)
    verdict = {
        "name": "hunt",
        "quick": quick,
        **rows,
        "effects": {figure.name.strip(): [figure.count, figure.of] for figure in figures},
        "missed": [figure.name.strip() for figure in figures if not figure.ok],
        "seconds": round(time.monotonic() - start, 1),
        "target": TARGETS,
        "ok": ok,
    }
    print(json.dumps(verdict))
    return 0 if ok else 1


def show(title: str, figures: Iterator[Figure]) -> Iterator[Figure]:
    print(f"\n{title}")
    for figure in figures:
        print(f"  {figure}", flush=True)
        yield figure


if __name__ == "__main__":
    raise SystemExit(main())
