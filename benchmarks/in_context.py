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
from pathlib import Path

import numpy as np
from pytest_vla.suites.agnostos.policy.memory import Memory, Outcome, outcome_of_checkpoint
from pytest_vla.suites.agnostos.policy.retrieval import Demo, Select, at_random, by_cosine, by_dot_product

from pytest_vla.run.intervals import rate_interval

SHOWN = 18
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


def measure(memory: Memory, select: Select) -> dict[str, object]:
    """The share of what is shown that helps, and how often any of it does."""
    found = [helpful(select, demo, memory.demos, SHOWN) for demo in memory.demos if demo.task in ARCHETYPES]
    right, shown = int(np.sum(found)), int(np.size(found))
    low, high = rate_interval(right, shown)
    return {
        "share": round(right / shown, 3),
        "interval": [round(low, 3), round(high, 3)],
        "any": round(float(np.mean([any(row) for row in found])), 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 demonstrations a task, not 10; a shorter training")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        episodes = 2 if quick else 10
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
        "lang_vis.out": measure(imagined, by_dot_product),
        "cosine": measure(imagined, by_cosine),
    }
    for name, row in rows.items():
        print(f"{name:>14}: {row['share']:.1%} of what is shown helps {row['interval']}, any of it in {row['any']:.0%}")
    better = rows["lang_vis.out"]["interval"][0] > rows["random"]["interval"][1]  # type: ignore[index]
    target = "retrieval shows more that helps than random selection does, intervals apart"
    print(json.dumps({"name": "in_context", "demos": len(said.demos), **rows, "target": target, "ok": better}))
    return 0 if better else 1


if __name__ == "__main__":
    raise SystemExit(main())
