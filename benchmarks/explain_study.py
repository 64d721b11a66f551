"""The question of the BOMB study, asked of the shipped policies: does the destination matter, is it looked at, where?

`python -m benchmarks.explain_study [--episodes N] [--out DIR]` runs the first episodes of one task of BOMB and of VIMA,
explains them all (`--vla-explain`), and prints the tables of docs/explain.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pytest_vla.run import read_run

STUDIES = {
    "bomb": ("place_stone", "unperturbed", "bomb_visuomotor.pt"),
    "vima": ("visual_manipulation", "placement_generalization", "vima_cross.pt"),
}
EPISODES = 10
LISTED = 6


def explained(suite: str, episodes: int, folder: Path) -> dict[str, Any]:
    """The line of a run that was explained at its end."""
    task, partition, policy = STUDIES[suite]
    run = folder / suite
    command = [sys.executable, "-m", "pytest", f"--vla-suite={suite}", f"--vla-task={task}", "-p", "no:cacheprovider"]
    command += [f"--vla-partition={partition}", f"--vla-episodes={episodes}", f"--vla-explain={episodes}", "-n", "1"]
    command += [f"--vla-policy=fixtures/policies/{policy}", f"--vla-run-dir={run}"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL)
    assert done.returncode in (0, 1), f"{suite} could not be run"
    lines = read_run(run).of_type("explain")
    assert lines, f"{suite} was run, but not explained"
    return dict(lines[-1])


def rows(table: dict[str, Any]) -> list[str]:
    """A phase as rows of Markdown."""
    made = [f"| {table['suite']}, {table['phase']} | looks at {_shares(table['things'])} |"]
    for kind, title in (("painted", "painted over"), ("words", "words hidden"), ("inputs", "inputs")):
        made.append(f"| | {title}: {_effects(table[kind])} |")
    if table["units"]:
        best = ", ".join(
            f"{row['name']} {row['restored']:.2f}{_bounds(row['restored_interval'])}" for row in table["units"][:LISTED]
        )
        made.append(f"| | restored by {best} |")
    return made


def _shares(found: list[dict[str, Any]]) -> str:
    if not found:
        return "nothing above chance"
    parts = [
        f"{row['name']} {100 * row['share']:.0f} %{_bounds(row['share_interval'], 100, 0)}" for row in found[:LISTED]
    ]
    return ", ".join(parts)


def _effects(found: list[dict[str, Any]]) -> str:
    parts = []
    for row in found[:LISTED]:
        metres = f", {1000 * row['metres']:.0f} mm" if "metres" in row else ""
        parts.append(f"{row['name']} {row['effect']:.2f}{_bounds(row['effect_interval'])}{metres}")
    return "; ".join(parts)


def _bounds(interval: list[float] | None, times: float = 1.0, digits: int = 2) -> str:
    return "" if interval is None else f" [{times * interval[0]:.{digits}f}, {times * interval[1]:.{digits}f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--out", type=Path, help="where the runs and their pictures go (default: nowhere that stays)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        found = {suite: explained(suite, options.episodes, options.out or Path(spare)) for suite in STUDIES}
    for line in found.values():
        for table in line["tables"]:
            print(*rows(table), sep="\n")
    counted = {suite: line["episodes"] for suite, line in found.items()}
    ok = all(count == options.episodes for count in counted.values())
    print(
        json.dumps(
            {"benchmark": "explain_study", "episodes": counted, "targets": {"episodes": options.episodes}, "ok": ok}
        )
    )


if __name__ == "__main__":
    main()
