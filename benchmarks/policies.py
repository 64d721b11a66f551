"""How long the shipped VIMA policies think about one observation on one core, and how much of it is the network.

Observations are those of real episodes, a few of every cell, with their prompts already drawn: drawing is the
simulator's work. The network alone is called with the same observations as tensors.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import pytest_vla as vla
from pytest_vla.policies.checkpoint import load_checkpoint

POLICIES = Path(__file__).parents[1] / "fixtures" / "policies"
TARGET = {"ms_per_observation": 15.0}


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="one episode a cell instead of three")
    episodes = 1 if parser.parse_args().quick else 3
    load = os.getloadavg()[0]
    torch.set_num_threads(1)
    figures: dict[str, float] = {}
    for name in ("vima_cross", "vima_prefix"):
        policy: Any = load_checkpoint(POLICIES / f"{name}.pt")
        whole, network = measure(policy, episodes)
        figures[f"{name}_ms_per_observation"] = round(statistics.mean(whole), 2)
        figures[f"{name}_p95_ms"] = round(statistics.quantiles(whole, n=20)[-1], 2)
        figures[f"{name}_share_of_network"] = round(sum(network) / sum(whole), 2)
        print(f"{name}: {statistics.mean(whole):.2f} ms an observation, network {statistics.mean(network):.2f} ms")
    ok = figures["vima_cross_ms_per_observation"] < TARGET["ms_per_observation"]
    print(json.dumps({"name": "policies", **figures, "load_before": round(load, 1), "target": TARGET, "ok": ok}))


def measure(policy: Any, episodes: int) -> tuple[list[float], list[float]]:
    """CPU milliseconds of each call of `act` with one observation, and of the network in it."""
    import torch

    suite = vla.get_suite("vima")
    env = suite.make_env("rotate")
    whole, network = [], []
    for task, partition in suite.select():
        for index in range(episodes):
            key = suite.episode(task, partition, index)
            observation, _ = env.reset(seed=key.seed(), options={"episode": key})
            observation["prompt"] = observation["prompt"].to_tree()
            state = policy.reset(key)
            for _ in range(suite.step_limit(task)):
                batch = policy.collate([policy._example(observation, dict(state))])
                with torch.no_grad():
                    start = time.process_time()
                    policy.decide(batch)
                    network.append(1e3 * (time.process_time() - start))
                    start = time.process_time()
                    (action,) = policy.act([observation], [state])
                whole.append(1e3 * (time.process_time() - start))
                drawn = observation["prompt"]
                observation, _, ended, _, _ = env.step(action)
                observation["prompt"] = drawn
                if ended:
                    break
    env.close()
    return whole, network


if __name__ == "__main__":
    main()
