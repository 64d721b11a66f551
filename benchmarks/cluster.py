"""Past one machine: what a plan, a result and a Ray cluster cost, what kills cost, and where the design ends.

`python -m benchmarks.cluster [--quick] [--part=NAME]`; the kills take an hour in full and need root, for namespaces.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import cluster_driver, cluster_kills, cluster_planning, cluster_simulation
from benchmarks.cluster_hosts import possible

TARGET = {
    "million": {"first_episode_s": 60, "worker_mb": 400, "controller_mb": 1500},
    "hundred_thousand": {"first_episode_s": 5, "worker_mb": 150},
    "thousand_ratio": 1.1,
    "ray_ratio": 0.95,
    "driver_cpu_ms": 0.5,
    "driver_bytes": 600,
    "simulation_error": 0.2,
    "kills_wrong": 0,
}
KINDS = ("actor", "replica", "raylet", "driver")
STEP_S = "0.03"


def planning(quick: bool) -> tuple[dict[str, Any], bool]:
    """Plans of three sizes on 8 workers; a small one starts as fast as a smaller one."""
    small, thousand = cluster_planning.measure(10), cluster_planning.measure(1_000)
    hundred, million = cluster_planning.measure(100_000), cluster_planning.measure(1_000_000)
    ratio = round(thousand["first_episode_s"] / small["first_episode_s"], 2)
    found = {"thousand": thousand, "hundred_thousand": hundred, "million": million, "thousand_ratio": ratio}
    within = all(
        found[name][key] <= most
        for name in ("million", "hundred_thousand")
        for key, most in TARGET[name].items()  # type: ignore[attr-defined]
    )
    return found, within and ratio <= TARGET["thousand_ratio"]  # type: ignore[operator]


def driver(quick: bool) -> tuple[dict[str, Any], bool]:
    found = cluster_driver.measure(5_000, 840) if quick else cluster_driver.measure()
    return dict(found), all(found[name] <= TARGET[name] for name in ("driver_cpu_ms", "driver_bytes"))  # type: ignore[operator]


def overhead(quick: bool) -> tuple[dict[str, Any], bool]:
    """Episodes a second of two workers on a local Ray, over those of plain `-n 2`, each at its best of some runs."""
    rates: dict[str, float] = {"plain": 0.0, "ray": 0.0}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        cluster_kills.prepare(folder)
        for number in range(1 if quick else 3):
            for name, options in (("plain", ["-n2"]), ("ray", ["-n2", "--vla-engine=ray"])):
                typed = cluster_kills.command(f"runs/{name}{number}", *options, episodes=50 if quick else 100)
                environment = {**os.environ, "PYTEST_VLA_STEP_S": STEP_S}
                subprocess.run(typed, cwd=folder, check=True, capture_output=True, env=environment)
                lines = (folder / f"runs/{name}{number}/run.jsonl").read_text().splitlines()
                end = next(line for line in map(json.loads, lines) if line.get("type") == "end")
                rates[name] = max(rates[name], end["episodes_per_second"])
    ratio = round(rates["ray"] / rates["plain"], 3)
    return {"ray_ratio": ratio, **rates}, ratio >= TARGET["ray_ratio"]  # type: ignore[operator]


def simulation(quick: bool) -> tuple[dict[str, Any], bool]:
    """The simulation beside real runs, and what it says of larger ones; without --quick the figure is drawn again."""
    costs, checked = cluster_simulation.check(0.0005, quick)
    worst = max(abs(each["error"]) for each in checked.values())
    found = {"checked": checked, "simulation_error": worst, **cluster_simulation.ends(costs)}
    if not quick:
        curves = cluster_simulation.curves(costs)
        cluster_simulation.draw(curves, checked, Path(__file__).parent.parent / "docs" / "cluster.png")
        found["episodes_s_1000_workers_64_replicas"] = round(curves[64][1000]["episodes_s"], 1)
    return found, worst <= TARGET["simulation_error"]  # type: ignore[operator]


def kills(quick: bool) -> tuple[dict[str, Any], bool]:
    why = possible()
    if why is not None:
        return {"kills": why}, False
    with tempfile.TemporaryDirectory() as made:
        found = cluster_kills.measure(Path(made), KINDS, 1 if quick else 20)
    return found, not found["wrong"] and sum(found["kills"].values()) == len(KINDS) * (1 if quick else 20)


PARTS: dict[str, Callable[[bool], tuple[dict[str, Any], bool]]] = {
    "planning": planning,
    "driver": driver,
    "overhead": overhead,
    "simulation": simulation,
    "kills": kills,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", choices=PARTS, action="append")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    ok = True
    for name in options.part or PARTS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        found[name], holds = PARTS[name](options.quick)
        ok = ok and holds
    print(json.dumps({"benchmark": "cluster", **found, "target": TARGET, "ok": ok}))
    return 0 if ok else 1


if __name__ == "__main__":
    raise SystemExit(main())
