"""MultiNet: are the metrics, the parsers and the failure modes right, and what does a sample cost.

Live parts run where their environments are installed (`pytest-vla install multinet_overcooked multinet_bfcl`), and are
reported as absent elsewhere. `--part=NAME` runs one part, `--quick` fewer samples of each.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from pytest_vla.suites.multinet import metrics
from pytest_vla.suites.multinet import suite as make_suite
from pytest_vla.suites.multinet.domains import LIVE_BFCL
from pytest_vla.suites.multinet.judge import judge_actions, judge_classes
from pytest_vla.suites.multinet.policy import planted

import pytest_vla as vla
from pytest_vla.answers.answer import Answer
from pytest_vla.answers.collected import Answers, Group, place_of
from pytest_vla.answers.modes import FORMAT, KNOWLEDGE, MODALITY, measure
from pytest_vla.policies import Policy
from pytest_vla.policies.builtin import RandomPolicy
from pytest_vla.registry import register
from pytest_vla.run.intervals import rate_interval

TARGET = {
    "oracle": 1.0,
    "named": 1.0,
    "falsely_named": 0,
    "judged_ratio": 0.5,
    "cpu_ms_per_sample": 2.0,
    "bfcl_oracle": 1.0,
    "bfcl_corrupted": 0.0,
    "cramped_room": [140, 220],
    "asymmetric_advantages": [220, 280],
}
SHEET_CHANCE = {
    "piqa": 1 / 2,
    "robovqa": 1 / 2,
    "sqa3d": 1 / 8,
    "odinw_shapes": 1 / 5,
    "overcooked": 1 / 36,
    "bfcl": 0.0,
}
PLANTED = {"healthy": None, "unstable": FORMAT, "misaligned": MODALITY, "degraded": KNOWLEDGE}
SURE = 0.9999  # of the interval that chance must lie in
PARTS = ("oracle", "modes", "speed", "cpu", "bits", "live")


def oracle_and_chance(suite: Any, count: int) -> dict[str, Any]:
    """The oracle solves every synthetic sample, and a policy that draws from the space as many as chance does."""
    solved, chance, expected = {}, {}, {}
    for task in synthetic(suite):
        env = suite.make_env(task)
        keys = [suite.episode(task, "synthetic", index) for index in range(count)]
        solved[task] = sum(map(bool, (vla.rollout(suite.oracle(env), env, key) for key in keys))) / count
        policy = RandomPolicy(lambda env=env: env.action_space)  # type: ignore[misc]
        chance[task] = sum(map(bool, (vla.rollout(policy, env, key) for key in keys))) / count
        expected[task] = SHEET_CHANCE.get(task) if task in SHEET_CHANCE else _action_chance(suite, task)
    at_chance = all(
        low <= expected[task] <= high
        for task in solved
        for low, high in [rate_interval(round(chance[task] * count), count, SURE)]
    )
    return {"oracle": min(solved.values()), "chance": chance, "expected": expected, "at_chance": at_chance}


def _action_chance(suite: Any, task: str, count: int = 20_000) -> float:
    """How often an action drawn from the space beats the constant mean, by drawing labels and actions alone."""
    source, rng = suite.source(task, "synthetic"), np.random.default_rng(7)
    labels = np.array([source.draw(rng)["action"] for _ in range(count)], np.float64)
    drawn = rng.uniform(source.statistics.low, source.statistics.high, labels.shape)
    error, constant = np.abs(drawn - labels).mean(axis=1), np.abs(labels).mean(axis=1)
    return float(np.mean(error <= constant))


def failure_modes(suite: Any, seeds: int, count: int) -> dict[str, Any]:
    """Of planted policies: how often the right mode is named, and how often a wrong one is."""
    right, false = dict.fromkeys(PLANTED, 0), 0
    for seed in range(seeds):
        first = 1000 * seed
        reference = answers_of(suite, planted.healthy(seed=10_000 + seed), first, count)
        for name, mode in PLANTED.items():
            plain = answers_of(suite, getattr(planted, name)(seed=seed), first, count)
            named = set(measure(Answers(plain, reference=reference, reference_policy="healthy")).named)
            right[name] += named == ({mode} if mode else set())
            false += bool(named - {mode})
    print(f"{seeds} seeds, {count} samples a task: named rightly {right}, falsely {false}")
    return {"named": min(right.values()) / seeds, "falsely_named": false, "seeds": seeds}


def answers_of(suite: Any, policy: Policy, first: int, count: int) -> Group:
    found = {}
    for task in synthetic(suite):
        env = suite.make_env(task)
        for index in range(first, first + count):
            key = suite.episode(task, "synthetic", index)
            found[place_of(key)] = Answer.from_record(vla.rollout(policy, env, key).extra["answer"])
    return Group(found)


def judged_speed(count: int, repeats: int = 15) -> dict[str, float]:
    """The bare metric over arrays, over the same with every sample's outcome."""
    rng = np.random.default_rng(0)
    classes = rng.integers(-1, 37, count), rng.integers(0, 37, count)
    labels = rng.normal(size=(count, 7))
    actions = labels + rng.normal(size=(count, 7))
    actions[rng.uniform(size=count) < 0.05] = np.nan
    ratios = {
        "classes": _ratio(lambda: metrics.classes(*classes, 37), lambda: judge_classes(*classes, 37), repeats),
        "actions": _ratio(lambda: metrics.continuous(actions, labels), lambda: judge_actions(actions, labels), repeats),
    }
    print(f"{count:,} samples judged at {ratios} of the bare metric's speed")
    return ratios


def _ratio(bare: Callable[[], Any], ours: Callable[[], Any], repeats: int) -> float:
    pairs = [(_seconds(bare), _seconds(ours)) for _ in range(repeats)]
    return round(min(one for one, _ in pairs) / min(two for _, two in pairs), 3)


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def cpu_per_sample(few: int, many: int) -> float:
    """CPU milliseconds of one more sample of a run without workers, of words, options, actions and pictures."""
    tasks = "piqa,sqa3d,odinw_shapes,openx_single_arm"
    used = []
    for count in (few, many):
        before = _children_cpu()
        run(f"--vla-task={tasks}", "--vla-policy=oracle", f"--vla-episodes={count}")
        used.append(_children_cpu() - before)
    return round(1e3 * (used[1] - used[0]) / (4 * (many - few)), 3)


def same_bits(count: int) -> bool:
    """Whether every sample comes out the same with and without workers."""
    found = []
    for workers in ((), ("-n2",)):
        lines = run("--vla-policy=random", f"--vla-episodes={count}", *workers)
        found.append({(x["task"], x["index"]): (x["digest"], x["answer"]) for x in lines if x["type"] == "episode"})
    return found[0] == found[1] and len(found[0]) == 11 * count


def live(suite: Any, conversations: int, games: int) -> dict[str, Any]:
    """BFCL's references and their halves, and two greedy cooks; None where they are not installed."""
    from pytest_vla.suites.multinet.live import not_installed

    figures: dict[str, Any] = {}
    if not_installed(LIVE_BFCL[0]) is None:
        figures |= _conversations(suite, conversations)
    for layout in ("cramped_room", "asymmetric_advantages"):
        task = f"overcooked_{layout}"
        if not_installed(task) is None:
            env = suite.make_env(task)
            keys = [suite.episode(task, "live", index) for index in range(games)]
            scores = [vla.rollout(suite.oracle(env), env, key).extra["game"]["score"] for key in keys]
            figures[layout] = {"median": median(scores), "scores": scores}
            env.close()
    return figures


def _conversations(suite: Any, count: int) -> dict[str, Any]:
    """In an order of their own, references after halves: a check must not see what another left."""

    class Forgetful(Policy):
        def act(self, observations: Any, states: Any) -> list[Any]:
            return ["\n".join(env.call("oracle")[:-1]) or "[]" for _ in observations]

    oracle, corrupted = {}, {}
    for task in LIVE_BFCL:
        env = suite.make_env(task)
        order = np.random.default_rng(5).permutation(count).tolist()
        keys = [suite.episode(task, "live", index) for index in order]
        corrupted[task] = sum(map(bool, (vla.rollout(Forgetful(), env, key) for key in keys)))
        oracle[task] = sum(map(bool, (vla.rollout(suite.oracle(env), env, key) for key in keys)))
        env.close()
    print(f"BFCL, of {count}: the reference {oracle}, without the last call of each turn {corrupted}")
    return {"bfcl_oracle": min(oracle.values()) / count, "bfcl_corrupted": max(corrupted.values()) / count}


def synthetic(suite: Any) -> list[str]:
    return [task for task, partition in suite.cells() if partition == "synthetic"]


def run(*options: str) -> list[dict[str, Any]]:
    """The lines of a run of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--vla-suite=multinet"]
        done = subprocess.run(
            [*command, "--vla-run-dir=run", *options],
            cwd=folder,
            env={**os.environ, "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, 1):
            raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
        return [json.loads(line) for line in (Path(folder) / "run" / "run.jsonl").read_text().splitlines()]


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def verdict(figures: dict[str, Any]) -> bool:
    """Whether every figure that was measured meets its target."""
    within = {name: TARGET[name] for name in ("cramped_room", "asymmetric_advantages")}
    checks = {
        "oracle": lambda value: value == 1.0,
        "at_chance": bool,
        "named": lambda value: value == 1.0,
        "falsely_named": lambda value: value == 0,
        "judged_ratio": lambda value: min(value.values()) >= TARGET["judged_ratio"],
        "cpu_ms_per_sample": lambda value: value <= TARGET["cpu_ms_per_sample"],
        "same_bits": bool,
        "bfcl_oracle": lambda value: value == 1.0,
        "bfcl_corrupted": lambda value: value == 0.0,
        **{name: lambda value, span=span: span[0] <= value["median"] <= span[1] for name, span in within.items()},
    }
    return all(check(figures[name]) for name, check in checks.items() if name in figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples, for a smoke test")
    parser.add_argument("--part", choices=PARTS, help="only this part")
    options = parser.parse_args()
    quick, parts = options.quick, (options.part,) if options.part else PARTS
    suite = register(make_suite())
    figures: dict[str, Any] = {}
    if "oracle" in parts:
        figures |= oracle_and_chance(suite, 100 if quick else 1000)
    if "modes" in parts:
        figures |= failure_modes(suite, 2 if quick else 20, 40)
    if "speed" in parts:
        figures["judged_ratio"] = judged_speed(100_000)
    if "cpu" in parts:
        figures["cpu_ms_per_sample"] = cpu_per_sample(50, 300) if quick else cpu_per_sample(100, 1500)
        print(f"{figures['cpu_ms_per_sample']} ms of CPU a sample")
    if "bits" in parts:
        figures["same_bits"] = same_bits(5 if quick else 50)
    if "live" in parts:
        figures |= live(suite, 10, 1) if quick else live(suite, 200, 5)
    print(json.dumps({"name": "multinet", **figures, "target": TARGET, "ok": verdict(figures)}))


if __name__ == "__main__":
    main()
