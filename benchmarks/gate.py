"""Does the gate keep its word? Simulated error rates and episode counts: `python -m benchmarks.gate [--quick]`."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

import numpy as np

from benchmarks.gate_errors import early_errors, fixed_errors, under_workers
from benchmarks.gate_modes import caught, modes
from benchmarks.gate_savings import against_wald, costs, pooled_savings, savings

TARGET = (
    "errors not above 5% (p > 0.01, estimate <= 5.5%) in every mode; episodes <= 60% of fixed n at the hypotheses, "
    "<= 35% well beyond, <= 110% of Wald's mean; a look <= 0.3 ms at any size"
)


class Figure(Protocol):
    @property
    def ok(self) -> bool: ...


F = TypeVar("F", bound=Figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="400 trials instead of 4000, and 200 of whole judgements")
    quick = parser.parse_args().quick
    trials, few = (400, 200) if quick else (4000, 4000)
    rng = np.random.default_rng(20260101)
    start = time.monotonic()
    used = [*show("Error rates in every mode", modes(rng, trials, few))]
    errors = [*show("Error rates at fixed n", fixed_errors(rng, trials))]
    early = [*show("Error rates under early stopping", early_errors(rng, trials))]
    workers = [*show("Error rates with parallel workers", under_workers(rng, trials, in_order=True))]
    arrival = [*show("The same, fed as results arrive", under_workers(rng, trials, in_order=False))]
    saved = [*show("Episodes under early stopping", savings(rng, trials))]
    pooled = [*show("The same, pooled", pooled_savings(rng, min(trials, 1000)))]
    wald = [*show("Episodes against Wald's test", against_wald(rng, min(trials, 2000)))]
    looks = [*show("What a look costs", costs())]
    found = {size: caught(rng, few // 4, size) for size in (20, 30)}
    print(
        f"\nOne task of twelve lost 50 points: two levels see it in {found[20]:.0%} of runs of 20 episodes a task, "
        f"{found[30]:.0%} of 30"
    )
    figures = {
        "name": "gate",
        "trials": trials,
        "worst_error_in_any_mode": max(e.rate for e in used),
        "worst_error_fixed": max(e.rate for e in errors),
        "worst_error_early_stop": max(e.rate for e in early),
        "worst_error_8_workers": max(e.rate for e in workers),
        "worst_error_8_workers_arrival_order": max(e.rate for e in arrival),
        "worst_share_at_hypotheses": round(max(s.ratio for s in saved if s.allowed == 0.6), 3),
        "worst_share_well_beyond": round(max(s.ratio for s in saved if s.allowed == 0.35), 3),
        "worst_share_pooled": round(max(s.ratio for s in pooled), 3),
        "worst_ratio_to_wald": round(max(s.ratio for s in wald), 3),
        "worst_look_ms": round(max(c.ms for c in looks), 3),
        "broken_task_seen_20_30": [found[20], found[30]],
        "seconds": round(time.monotonic() - start, 1),
        "target": TARGET,
        "ok": all(item.ok for item in [*used, *errors, *early, *workers, *saved, *pooled, *wald, *looks]),
    }
    print(json.dumps(figures))
    return 0 if figures["ok"] else 1


def show(title: str, items: Iterable[F]) -> Iterator[F]:
    print(f"\n{title}")
    for item in items:
        print(f"  {item}", flush=True)
        yield item


if __name__ == "__main__":
    raise SystemExit(main())
