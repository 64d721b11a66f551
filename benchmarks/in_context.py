"""Does retrieval find demonstrations that help? `python -m benchmarks.in_context [--quick]`

Each seen task of AGNOSTOS in turn counts as unseen: its demonstrations ask, and those of the others are chosen from.
A demonstration helps when it is of the same archetype, that is, when the same kind of motion does it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pytest_vla.suites.agnostos.policy.memory import Memory, Outcome, outcome_of_checkpoint
from pytest_vla.suites.agnostos.policy.retrieval import Demo, Select, at_random, by_cosine, by_dot_product, spread
from pytest_vla.suites.agnostos.policy.sentences import SIZE

SHOWN = 18
DRAWS = 10_000
REPOSITORY = Path(__file__).parents[1]
#: What kind of motion does it; tasks whose archetype no other seen task has cannot be helped and are left out.
ARCHETYPES = {
    "open_drawer": "drawer",
    "put_item_in_drawer": "drawer",
    "sweep_to_dustpan_of_size": "tool",
    "reach_and_drag": "tool",
    "put_groceries_in_cupboard": "place",
    "place_shape_in_shape_sorter": "place",
    "put_money_in_safe": "place",
    "meat_off_grill": "place",
    "close_jar": "insert",
    "place_cups": "insert",
    "place_wine_at_rack_location": "insert",
    "light_bulb_in": "insert",
    "insert_onto_square_peg": "insert",
    "stack_blocks": "stack",
    "stack_cups": "stack",
}


def typed(folder: Path, *words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "pytest_vla.cli", *words], cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: an episode was not solved, and there is no demonstration of it
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")


def helpful(select: Select, asked: Demo, pool: Sequence[Demo], shown: int) -> list[bool]:
    """Of each demonstration that is shown, whether it is of the archetype of the task that asks."""
    others = [demo for demo in pool if demo.task != asked.task]
    return [ARCHETYPES.get(demo.task) == ARCHETYPES[asked.task] for demo in select(asked.features, others, shown)]


def measure(memory: Memory, select: Select) -> dict[str, Any]:
    """By task the share of what is shown that helps, and how often any of it does; means over the tasks.

    Demonstrations of one task ask for nearly the same, so that it is the tasks that intervals are about.
    """
    shares, some = {}, {}
    for task in ARCHETYPES:
        found = [helpful(select, demo, memory.demos, SHOWN) for demo in memory.demos if demo.task == task]
        shares[task], some[task] = float(np.mean(found)), float(np.mean([any(row) for row in found]))
    return {"share": _mean(shares), "any": _mean(some), "by_task": shares}


def better(row: dict[str, Any], control: dict[str, Any]) -> dict[str, Any]:
    """How much larger the share is than the control's, task by task."""
    return _mean({task: row["by_task"][task] - control["by_task"][task] for task in ARCHETYPES})


def _mean(values: dict[str, float]) -> dict[str, Any]:
    """The mean over tasks with its 95% interval, by drawing the tasks again."""
    numbers = np.array(list(values.values()))
    drawn = np.random.default_rng(0).integers(len(numbers), size=(DRAWS, len(numbers)))
    low, high = np.quantile(numbers[drawn].mean(axis=1), (0.025, 0.975))
    return {"mean": round(float(numbers.mean()), 3), "interval": [round(float(low), 3), round(float(high), 3)]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4 demonstrations a task, not 20; a shorter training")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        episodes = 4 if quick else 20
        typed(
            folder, "record", "--suite=agnostos_floating", "--partition=seen", f"--episodes={episodes}", "--out=demos",
            "--cameras=front",
        )  # fmt: skip
        config = (REPOSITORY / "fixtures/policies/agnostos_outcome.toml").read_text()
        (folder / "outcome.toml").write_text(config.replace("steps = 2000", "steps = 200") if quick else config)
        typed(folder, "train", "--config=outcome.toml", "--data=demos", "--out=outcome.pt")
        outcome: Outcome = outcome_of_checkpoint(folder / "outcome.pt")
        said = Memory.read(folder / "demos")
        imagined = Memory.read(folder / "demos", outcome)
    rows = {
        "random": measure(said, at_random),
        "sentence": measure(said, by_dot_product),
        "outcome": measure(only_outcomes(imagined), by_dot_product),
        "lang_vis.out": measure(imagined, by_dot_product),
        "cosine": measure(imagined, by_cosine),
        "spread": measure(imagined, spread),
    }
    for name, row in rows.items():
        share, some = row["share"], row["any"]
        print(f"{name:>14}: {share['mean']:.1%} of what is shown helps {share['interval']}, any in {some['mean']:.0%}")
    gains = {name: better(row, rows["random"]) for name, row in rows.items() if name != "random"}
    for row in rows.values():
        del row["by_task"]
    ok = gains["lang_vis.out"]["interval"][0] > 0
    target = "lang_vis.out shows a larger share that helps than random selection does, 95% interval over tasks above 0"
    print(
        json.dumps({"name": "in_context", "demos": len(said.demos), **rows, "gain": gains, "target": target, "ok": ok})
    )
    return 0 if ok else 1


def only_outcomes(memory: Memory) -> Memory:
    """The same demonstrations by how they will look, without their sentences."""
    return replace(memory, demos=[replace(demo, features=demo.features[SIZE:]) for demo in memory.demos])


if __name__ == "__main__":
    raise SystemExit(main())
