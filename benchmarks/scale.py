"""Do the commands keep up with a run file of a million episodes? `python -m benchmarks.scale [--quick]`."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.run import FILE_NAME, KeySet, Plan, Record

TARGET = {"peak_mb": 400.0, "growth": 13.0}
"""Memory of the largest file; CPU time of ten times the episodes over that of one time, start-up taken off both."""
TASKS, PARTITIONS = tuple(f"task_{number:02d}" for number in range(20)), ("easy", "hard")
CELLS = len(TASKS) * len(PARTITIONS)
SMALL, LARGE = 100_000, 1_000_000
SUCCESS = 0.8
SEED = 7
UNDECIDED = 6

COMMANDS = {
    "show": ("show", "{run}"),
    "csv": ("export", "{run}", "--format=csv", "-o", "{out}/episodes.csv"),
    "markdown": ("export", "{run}", "--format=markdown", "-o", "{out}/table.md"),
    "gate": ("gate", "{run}", "--success=made_up=0.5"),
    "report": ("report", "{run}", "--video=none", "-o", "{out}/report.html"),
}


@dataclass(frozen=True)
class Cost:
    """What a process took. CPU time, so that whatever else the machine does is not in it."""

    cpu_s: float
    peak_mb: float


def write_run(folder: Path, episodes: int) -> Path:
    """A finished run file of made-up episodes, in the order in which workers would have ended them."""
    folder.mkdir(parents=True)
    plan = KeySet({(key.cell, 0): ((0, episodes // CELLS),) for key in _keys(CELLS)})
    first = {
        "type": "run",
        "format": 1,
        "created": "2026-01-01T00:00:00+00:00",
        "policy": {"text": "made_up.pt", "digest": "sha256:0", "verified": True},
        "suites": {"made_up": "1"},
        "options": {},
    }
    with (folder / FILE_NAME).open("w", encoding="utf-8") as file:
        for line in (first, Plan(plan, plan).to_record()):
            file.write(json.dumps(line) + "\n")
        for record in _records(episodes):
            file.write(json.dumps(record.to_record()) + "\n")
        file.write(json.dumps({"type": "end", "episodes_per_second": 100.0}) + "\n")
    return folder


def _keys(count: int) -> Iterator[EpisodeKey]:
    for number in range(count):
        index, cell = divmod(number, CELLS)
        task, partition = divmod(cell, len(PARTITIONS))
        yield EpisodeKey("made_up", TASKS[task], PARTITIONS[partition], index)


def _records(episodes: int) -> Iterator[Record]:
    draw = random.Random(SEED)
    for key in _keys(episodes):
        solved = draw.random() < SUCCESS
        result = Result(
            key,
            "solved" if solved else "unsolved",
            None if solved else "step_limit",
            steps=draw.randrange(200),
            progress=draw.random(),
            digest=f"{draw.getrandbits(128):032x}",
            initial_digest=f"{draw.getrandbits(128):032x}",
            seconds=draw.random(),
            timings={"reset": 0.01, "act": 0.2, "step": 0.1},
            instruction=f"Put {key.task} into the {key.partition} box.",
            made_with={"renderer": "osmesa"},
        )
        yield Record(result, f"test_made_up.py::test_made_up[{key.id}]", "passed" if solved else "failed")


def measure(name: str, run: Path, out: Path) -> Cost:
    """Run one command in a process of its own."""
    arguments = [part.format(run=run, out=out) for part in COMMANDS[name]]
    command = [sys.executable, "-m", "pytest_vla.cli", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, UNDECIDED):  # a gate says so of few episodes, having read them all
        raise SystemExit(f"{' '.join(arguments)} ended with exit code {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 and 100,000 episodes")
    parser.add_argument("names", nargs="*", default=list(COMMANDS), metavar="COMMAND", help=", ".join(COMMANDS))
    options = parser.parse_args()
    sizes = (SMALL // 10, LARGE // 10) if options.quick else (SMALL, LARGE)
    results = {}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        runs = {size: write_run(folder / str(size), size) for size in (CELLS, *sizes)}
        for name in options.names:
            start, small, large = (measure(name, runs[size], folder) for size in runs)
            results[name] = {
                "cpu_s": [round(start.cpu_s, 2), round(small.cpu_s, 2), round(large.cpu_s, 2)],
                "growth": round((large.cpu_s - start.cpu_s) / (small.cpu_s - start.cpu_s), 2),
                "peak_mb": round(large.peak_mb, 1),
            }
            print(f"{name}: {results[name]}", flush=True)
    ok = all(result[name] <= limit for result in results.values() for name, limit in TARGET.items())
    print(json.dumps({"name": "scale", "episodes": [CELLS, *sizes], **results, "target": TARGET, "ok": ok}))


if __name__ == "__main__":
    main()
