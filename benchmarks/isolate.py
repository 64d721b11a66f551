"""What it costs that a simulator lives in another process, and what it brings that it plays many episodes at once.

A step with two 256-pixel images, against the same environment in this process; episodes a second of Kinetix side by
side, against one at a time, where its environment is installed (else "ok" is about the first alone).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import gymnasium
import numpy as np

from pytest_vla import lockstep
from pytest_vla.episode import EpisodeKey
from pytest_vla.isolate.env import IsolatedEnv
from pytest_vla.isolate.process import Launch
from pytest_vla.policies.builtin import RandomPolicy
from pytest_vla.registry import get_suite
from pytest_vla.rollout import rollout

WORLD = Path(__file__).parent / "isolated_world.py"
TARGET = {"step_ms": 0.5, "side_by_side_small": 5.0, "side_by_side_large": 5.0}
LEVELS = {"small": "s_h0_weak_thrust", "large": "l_grasp_easy"}
PARTITION = "noisy"
ALONE = 4  # episodes that are timed one at a time
ROUNDS_OF_LANES = 2  # episodes a lane: those that are short make room for others
BLOCK = 50  # steps that one side takes before the other has its turn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    blocks = 10 if parser.parse_args().quick else 60
    figures = {**measure(blocks), **{f"side_by_side_{size}": side_by_side(level, 3) for size, level in LEVELS.items()}}
    ratios = [(figures[name], least) for name, least in TARGET.items() if name.startswith("side_by_side")]
    ok = figures["step_ms"] <= TARGET["step_ms"] and all(ratio is None or ratio >= least for ratio, least in ratios)
    print(json.dumps({"name": "isolate", **figures, "target": TARGET, "ok": ok}))


def measure(blocks: int) -> dict[str, float]:
    """Both sides take turns in one run, so that other load on the machine meets them both."""
    space = gymnasium.spaces.Box(-1, 1, (7,), np.float32)
    env = IsolatedEnv(lambda: Launch(Path(sys.executable), WORLD), lambda task: {}, space)
    key, action = EpisodeKey("benchmark", "stay", "default", 0), np.zeros(7, np.float32)
    env.reset(seed=0, options={"episode": key})
    world = load_world().World("stay")
    world.reset(0, {})

    def here() -> None:
        world.step(action)
        world.digest()
        world.progress()

    def there() -> None:
        env.step(action)
        _ = env.digest, env.progress

    times: dict[str, list[float]] = {"here": [], "there": []}
    for _ in range(blocks):
        for name, step in (("here", here), ("there", there)):
            times[name] += [seconds(step) for _ in range(BLOCK)]
    env.close()
    medians = {name: 1e3 * median(values) for name, values in times.items()}
    tail = 1e3 * float(np.quantile(times["there"], 0.95))
    print(
        f"ms a step, median of {len(times['here'])}: in process {medians['here']:.3f}, isolated {medians['there']:.3f}"
    )
    return {
        "step_ms": round(medians["there"] - medians["here"], 4),
        "in_process_ms": round(medians["here"], 4),
        "isolated_ms": round(medians["there"], 4),
        "isolated_p95_ms": round(tail, 4),
    }


def side_by_side(level: str, rounds: int) -> float | None:
    """Episodes a second in lanes, over those of one at a time, both compiled; the two take turns."""
    suite = get_suite("kinetix")
    if suite.missing() is not None:
        print("Kinetix is not installed here: pytest-vla install kinetix")
        return None
    env = suite.make_env(level)
    policy = RandomPolicy(env.action_space)
    keys = [suite.episode(level, PARTITION, index) for index in range(ROUNDS_OF_LANES * suite.batch)]
    spent: dict[str, list[float]] = {"alone": [], "together": []}
    for turn in range(rounds + 1):
        alone = seconds(lambda: [rollout(policy, env, key) for key in keys[:ALONE]]) / ALONE
        together = seconds(lambda: lockstep.side_by_side(suite, policy, env, keys)) / len(keys)
        if turn:  # the first one compiles
            spent["alone"].append(alone)
            spent["together"].append(together)
    env.close()
    rates = {name: 1 / median(values) for name, values in spent.items()}
    print(f"episodes/s of {level}: alone {rates['alone']:.2f}, in {suite.batch} lanes {rates['together']:.2f}")
    return round(rates["together"] / rates["alone"], 2)


def seconds(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def load_world() -> Any:
    spec = importlib.util.spec_from_file_location("isolated_world", WORLD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
