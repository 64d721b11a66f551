"""What it costs that a judged run has the same bits at any `-n`: its throughput beside that of free batches.

The shipped small policies, `-n 2`, each pair of runs one after the other; the best of each mode counts.

python -m benchmarks.deterministic [--quick]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
POLICIES = {
    "vima_cross": ("vima", "placement_generalization", 5),
    "bomb_visuomotor": ("bomb", "", 6),
}
MODES = {"free": ["--vla-no-deterministic"], "deterministic": ["--vla-deterministic", "--vla-batch=1"]}
TARGET = 0.85


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two pairs of runs a policy instead of five")
    pairs = 2 if parser.parse_args().quick else 5
    figures: dict[str, Any] = {}
    for policy in POLICIES:
        speeds: dict[str, list[float]] = {mode: [] for mode in MODES}
        for number in range(pairs):
            for mode in sorted(MODES, reverse=bool(number % 2)):
                speeds[mode].append(episodes_per_second(policy, mode))
        best = {mode: max(found) for mode, found in speeds.items()}
        figures[policy] = {**best, "share": round(best["deterministic"] / best["free"], 3)}
        print(f"{policy}: {figures[policy]}", flush=True)
    ok = all(figure["share"] >= TARGET for figure in figures.values())
    print(json.dumps({"name": "deterministic", **figures, "target": {"share": TARGET}, "ok": ok}))
    return 0 if ok else 1


def episodes_per_second(policy: str, mode: str) -> float:
    """Of one run, as its file says; starting and loading do not count."""
    suite, partition, episodes = POLICIES[policy]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:syrupy", "-n2", f"--vla-suite={suite}"),
            *(f"--vla-policy={ROOT / 'fixtures' / 'policies' / policy}.pt", f"--vla-episodes={episodes}"),
            *([f"--vla-partition={partition}"] if partition else []),
            *(f"--vla-run-dir={folder}", *MODES[mode]),
        ]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        lines = [json.loads(line) for line in (Path(folder) / "run.jsonl").read_text().splitlines()]
    return float(next(line["episodes_per_second"] for line in lines if line["type"] == "end"))


if __name__ == "__main__":
    sys.exit(main())
