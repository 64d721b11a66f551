"""Our VIMA suite against the original, line by line: each row is measured on both sides, in one run.

It needs a checkout of the original (`VIMA_BENCH_ROOT`) and `pytest-vla install vima_upstream`. What is not equal, and
why, is in suites/vima/README.md.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import fisher_exact

import pytest_vla as vla
from benchmarks.vima_centre_push import CentrePush

L1, L3, L4 = "placement_generalization", "novel_object_generalization", "novel_task_generalization"
EXCEEDING, TOUCHING = "sweep_without_exceeding", "sweep_without_touching"
DIFFERENT = 0.001  # below this p-value two counts are not of one rate
THEIRS = Path(__file__).parent / "vima_parity_original.py"


@dataclass(frozen=True)
class Row:
    """One line of the sheet: what was measured there and here, and whether that is as it should be."""

    what: str
    original: Any
    ours: Any
    ok: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer episodes on both sides")
    quick = parser.parse_args().quick
    suite: Any = vla.get_suite("vima_upstream")
    missing = suite.missing()
    if missing is not None:
        raise SystemExit(f"the original is not here: it needs {missing.module}: {missing.install}")
    theirs = measure_theirs(suite, 5 if quick else 15)
    rows = compare(theirs, measure_ours(20 if quick else 60)) + [upstream_row(suite, 6 if quick else 42)]
    for row in rows:
        there, here = (
            str(each) if len(str(each)) < 24 else f"{len(each)} entries" for each in (row.original, row.ours)
        )
        print(f"{'ok ' if row.ok else 'NOT'} {row.what:62s} original {there:24s} ours {here}")
    ok = all(row.ok for row in rows)
    print(json.dumps({"name": "vima_parity", "rows": len(rows), "target": "all rows", "ok": ok}))


def compare(theirs: dict[str, Any], ours: dict[str, Any]) -> list[Row]:
    def row(what: str, name: str, fits: Callable[[Any, Any], bool]) -> Row:
        return Row(what, theirs[name], ours[name], fits(theirs[name], ours[name]))

    def at_least(share: float) -> Callable[[Any, Any], bool]:
        return lambda there, here: rate(here) >= share * rate(there)

    def both(value: Any) -> Callable[[Any, Any], bool]:
        return lambda there, here: there == here == value

    def near(within: float) -> Callable[[Any, Any], bool]:
        return lambda there, here: abs(there - here) <= within

    def alike(there: Any, here: Any) -> bool:
        """Two counts that one rate explains, by Fisher's exact test."""
        table = [[count, tried - count] for count, tried in (there, here)]
        return float(fisher_exact(table).pvalue) > DIFFERENT

    return [
        row("1 a push that starts at a block's centre moves it", "push_0mm", at_least(0.9)),
        row("1 ... 5 mm ahead of it", "push_5mm", at_least(0.9)),
        row("1 ... 5 mm behind it", "push_-5mm", at_least(0.9)),
        row("1 a pushed block stops short of the push's end (mm)", "short_mm", near(5)),
        row(f"1 pushes from the centre solve {EXCEEDING}", EXCEEDING, alike),
        row(f"1 ... {TOUCHING}", TOUCHING, alike),
        row("5 a distractor off the table is a failure", "distractor_off", both(False)),
        row("5 an unneeded target off the table leaves success", "target_off", both(True)),
        row("5 a block that was in counts for good", "latched", both(True)),
        row("6 a block's yaw is random", "yaw_random", both(True)),
        row("6 the least distance of two blocks' centres is below 3.5 cm", "crowded", both(True)),
        row("7 follow_order, 4 to 7 cm off the pile, no boxes", "follow_order", at_least(0.95)),
        row("9 make() without kwargs: all lists of names", "defaults", lambda there, here: there == here),
        row("novel_adj: three example shapes all different", "novel_adj_different", alike),
        row("novel_adj: one height for all examples", "novel_adj_one_height", both(True)),
        row("novel_adj_and_noun: episodes with a base as distractor", "noun_bases", alike),
        row("scene_understanding L3: share of base-like distractors", "scene_base_like", alike),
        row("same_shape: distractor shares a target's texture", "same_shape_texture", both([0, 1])),
        row("rearrange: share of episodes in which a look comes twice", "rearrange_repeats", alike),
    ]


def rate(value: Any) -> float:
    """A count of so many as a share; another number as it is."""
    return value[0] / max(value[1], 1) if isinstance(value, (list, tuple)) else float(value)


def measure_theirs(suite: Any, count: int) -> dict[str, Any]:
    """The original's half, in its own interpreter."""
    launch = suite.launch()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "theirs.json"
        command = [str(launch.python), str(THEIRS), str(suite.data_folder()), str(launch.world), str(count), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        if done.returncode:
            raise SystemExit(f"the original failed:\n{done.stderr[-2000:]}")
        found: dict[str, Any] = json.loads(out.read_text())
    return found


def measure_ours(count: int) -> dict[str, Any]:
    from pytest_vla.suites.vima import upstream
    from pytest_vla.suites.vima.tasks import TASKS

    suite: Any = vla.get_suite("vima")
    env: Any = suite.make_env("rotate")

    def drawn(task: str, partition: str) -> list[Any]:
        return [TASKS[task].instance(suite.episode(task, partition, 7000 + i)) for i in range(count)]

    def solved(task: str, partition: str) -> list[int]:
        keys = [suite.episode(task, partition, 7000 + i) for i in range(count)]
        return [sum(bool(vla.rollout(CentrePush(env), env, key)) for key in keys), count]

    found: dict[str, Any] = {**pushes(env.table), EXCEEDING: solved(EXCEEDING, L1), TOUCHING: solved(TOUCHING, L4)}
    found |= sweep_rules(drawn(EXCEEDING, L1))
    found["follow_order"] = beside_the_pile(suite, env, count)
    found["defaults"] = {
        name: {key: sorted(getattr(upstream.default_choices(task), part)) for key, part in upstream.SPEC_KEYS.items()}
        for name, task in TASKS.items()
    }
    adjectives = [[look_of(i, f"demo_blicker_obj_{n}") for n in (1, 2, 3)] for i in drawn("novel_adj", L1)]
    found["novel_adj_different"] = [sum(len({look.shape for look in three}) == 3 for three in adjectives), count]
    found["novel_adj_one_height"] = all(len({look.scale for look in three}) == 1 for three in adjectives)
    nouns = drawn("novel_adj_and_noun", L4)
    found["noun_bases"] = [sum(any(t.fixed for t in i.things[3:]) for i in nouns), count]
    found["scene_base_like"] = [sum(i.things[2].fixed for i in drawn("scene_understanding", L3)), count]
    same = [[t.look.texture for t in i.things[1:]] for i in drawn("same_shape", L1)]
    found["same_shape_texture"] = [int(any(three[2] in three[:2] for three in same)), 1]
    looks = [[t.look.kind for t in i.prompt.assets["scene"].things] for i in drawn("rearrange", L1)]
    found["rearrange_repeats"] = [sum(len(set(kinds)) < len(kinds) for kinds in looks), count]
    env.close()
    return found


def look_of(instance: Any, name: str) -> Any:
    return instance.prompt.assets[name].look


def pushes(table: Any) -> dict[str, Any]:
    """A block alone, turned at random, pushed towards the robot from its centre or beside it."""
    from pytest_vla.suites.vima.kit.moves import Move
    from pytest_vla.suites.vima.kit.scene import Look, Thing

    rng, found, short = np.random.default_rng(0), {}, []
    for offset in (0, 5, -5):
        moved = 0
        for _ in range(10):
            spot, yaw, angle = (0.62, rng.uniform(-0.2, 0.2)), rng.uniform(0, 2 * math.pi), rng.uniform(-0.6, 0.6)
            ahead = np.array([-math.cos(angle), math.sin(angle)])
            start, end = np.asarray(spot) + offset / 1000 * ahead, np.asarray(spot) + 0.15 * ahead
            table.reset([Thing("block", Look("small block", "red"), spot, yaw)], "spatula")
            table.act(Move(tuple(start), tuple(end)).action(), None)
            left = float((end - np.asarray(table.state()["block"].xy)) @ ahead)
            moved += left < 0.08
            short += [1000 * left] if left < 0.08 else []
        found[f"push_{offset}mm"] = [moved, 10]
    return {**found, "short_mm": round(float(np.median(short)), 1)}


def sweep_rules(drawn: list[Any]) -> dict[str, Any]:
    from pytest_vla.sim.pose import Pose

    several = next(i for i in drawn if len(i.judge.targets) > i.judge.number)
    judge, state = several.judge, {thing.label: thing.pose for thing in several.things}
    zone, away = judge.zone, Pose((0.8, 0.3, 0.015))
    middle = Pose(((zone.x_low + zone.x_high) / 2, 0.0, 0.015))
    off = bool(judge.update(state | {judge.others[0]: away}).failure)
    for label in judge.targets[: judge.number]:
        judge.update(state | {label: middle})
    latched = bool(judge.update(state).success)
    blocks = [[t for t in i.things if t.look.shape == "small block"] for i in drawn]
    gaps = [math.dist(a.spot, b.spot) for each in blocks for k, a in enumerate(each) for b in each[:k]]
    return {
        "distractor_off": off,
        "latched": latched,
        "target_off": bool(judge.update(state | {judge.targets[-1]: away}).success),
        "yaw_random": len({round(t.yaw, 3) for each in blocks for t in each}) > 10,
        "crowded": min(gaps) < 0.035,
    }


def beside_the_pile(suite: Any, env: Any, count: int) -> list[int]:
    """The first move of a demonstration, 4 to 7 cm beside its place; a cube falls off on both sides."""
    oracle, rng, met, tried = suite.oracle(env), np.random.default_rng(0), 0, 0
    for index in range(count):
        seen, _ = env.reset(options={"episode": suite.episode("follow_order", L1, 7000 + index)})
        if env.instance.things[0].look.shape == "block":
            continue
        goal = env.instance.judge.stages[0][0]
        action, angle = oracle.act([seen], [None])[0], rng.uniform(0, 2 * math.pi)
        by_m = rng.uniform(0.04, 0.07) * np.array([math.cos(angle), math.sin(angle)])
        action["pose1_position"] = (action["pose1_position"] + by_m).astype(np.float32)
        env.step(action)
        met += math.dist(env.table.state()[goal.thing].xy, goal.spot) < 0.1
        tried += 1
    return [met, tried]


def upstream_row(suite: Any, cells: int) -> Row:
    """Lines 2, 3, 4, 8 and 12: the original as a suite, its expert on one episode of each cell beside ours."""
    counts = []
    for each in (suite, vla.get_suite("vima")):
        played: Any = each
        env: Any = played.make_env("rotate")
        oracle, chosen = played.oracle(env), [cell for cell in played.cells() if cell[1] != "train"][:: 42 // cells]
        keys = [played.episode(task, partition, 0) for task, partition in chosen]
        counts.append([sum(bool(vla.rollout(oracle, env, key)) for key in keys), len(keys)])
        env.close()
    return Row("2 3 4 8 12 the oracle's episodes solved, as a suite", *counts, counts[0][0] >= counts[0][1] - 1)


if __name__ == "__main__":
    main()
