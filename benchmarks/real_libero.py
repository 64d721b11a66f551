"""Gates on real episodes: `python -m benchmarks.real_libero EPISODES.csv`, results of three public models on LIBERO.

The table has the columns model, suite, task, init_index, success and error; suites that were run twice with one
checkpoint end in `.a` and `.b`. It is read, never shipped.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from pytest_vla.gate.comparisons import Scope
from pytest_vla.gate.evidence import Verdict
from pytest_vla.gate.judge import judge
from pytest_vla.gate.planning import plan_pairs
from pytest_vla.gate.rules import Rules
from pytest_vla.readers.harness import key, result
from pytest_vla.run import Record, Table, Tally

SUITES = ("libero_spatial", "libero_object", "libero_goal", "libero_10")
MODELS = {"new": "oft-joint", "baseline": "pi0-libero"}
MARGIN, RESAMPLES, STATED = 0.05, 300, 0.95
EXPECTED = {"as failures": 92.6, "apart": 98.5}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("episodes", type=Path, metavar="CSV")
    runs = read(parser.parse_args().episodes)
    apart = errors_apart(runs["pi0-libero", "libero_spatial"])
    passed, flips = same_checkpoint(runs["oft-joint", "libero_spatial.a"], runs["oft-joint", "libero_spatial.b"])
    decided = other_checkpoint(runs)
    ok = apart == EXPECTED and passed >= STATED and decided["verdict"] == decided["early"] != "undecided"
    found = {"errors": apart, "same_checkpoint": {"flips": flips, "passes": passed}, "other_checkpoint": decided}
    target = {"errors": EXPECTED, "passes": STATED}
    print(json.dumps({"name": "real_libero", **found, "target": target, "ok": ok}))
    return 0 if ok else 1


def read(path: Path) -> dict[tuple[str, str], list[Record]]:
    runs: dict[tuple[str, str], list[Record]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            suite = row["suite"].partition(".")[0]
            episode = key("libero", row["task"], suite, int(row["init_index"]))
            found = result(episode, row["success"] == "1", row["error"], pairs=True)
            runs[row["model"], row["suite"]].append(Record(found, "", "passed" if found else "failed"))
    return runs


def errors_apart(records: list[Record]) -> dict[str, float]:
    tally = Tally.of(records)
    whole = tally.measured + tally.errors
    return {"as failures": round(100 * tally.solved / whole, 1), "apart": round(100 * tally.solved / tally.measured, 1)}


def same_checkpoint(first: list[Record], second: list[Record]) -> tuple[float, int]:
    """How often the gate passes one checkpoint run twice, pairs of episodes drawn anew each time; and their flips."""
    pairs = list(zip(first, second, strict=True))
    flips = sum(one.outcome != other.outcome for one, other in pairs)
    draw, rules = np.random.default_rng(0), Rules(margin=MARGIN, by="partition")
    passes = 0
    for _ in range(RESAMPLES):
        chosen = [pairs[place] for place in draw.integers(len(pairs), size=len(pairs))]
        old, new = (Table.of(renumbered(side)) for side in zip(*chosen, strict=True))
        passes += judge(new, rules, baseline=old).verdict is Verdict.PASS
    return passes / RESAMPLES, flips


def renumbered(records: tuple[Record, ...]) -> list[Record]:
    """The same outcomes as episodes of their own: one that was drawn twice counts twice."""
    return [
        Record(result(key("libero", "all", "spatial", number), record.solved, pairs=True))
        for number, record in enumerate(records)
    ]


def other_checkpoint(runs: dict[tuple[str, str], list[Record]]) -> dict[str, object]:
    """Non-inferiority of one model to another over four suites, errors allowed: all at once, and stopping early."""
    new, old = ([record for suite in SUITES for record in _of(runs, model, suite)] for model in MODELS.values())
    rules, allowed = Rules(margin=MARGIN, by="suite"), Tally.of(new).errors + Tally.of(old).errors
    whole = judge(Table.of(new), rules, baseline=Table.of(old), max_errors=allowed)
    needed, early = None, Verdict.UNDECIDED
    for rounds in range(1, 51):
        sides = [Table.of(record for record in side if record.key.index < rounds) for side in (new, old)]
        early = judge(sides[0], rules, Scope(anytime=True), sides[1], allowed).verdict
        if early is not Verdict.UNDECIDED:
            needed = len(sides[0])
            break
    differ = np.mean([one.outcome != other.outcome for one, other in zip(new, old, strict=True)])
    fixed = plan_pairs(rules.baseline_bounds(), float(differ))
    verdicts = {"verdict": whole.verdict.value, "early": early.value}
    return {**verdicts, "episodes": len(new), "needed": needed, "fixed": fixed, "errors": allowed}


def _of(runs: dict[tuple[str, str], list[Record]], model: str, suite: str) -> list[Record]:
    """One model's episodes of a suite, sorted by key: of what was run twice the first run."""
    records = runs.get((model, suite)) or runs[model, f"{suite}.a"]
    return sorted(records, key=lambda record: (record.key.task, record.key.index))


if __name__ == "__main__":
    raise SystemExit(main())
