"""`pytest-vla tune`: both curves before a run, from the real policy and real simulators of a suite."""

from __future__ import annotations

import json
import subprocess
import sys
from time import monotonic
from typing import Any

from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.engine import Engine, Episode, Job
from pytest_vla.inference.local import declared
from pytest_vla.inference.tree import plain
from pytest_vla.inference.tuning import draw, measure_supply, operating_point, sizes_up_to
from pytest_vla.policies.base import PolicyError
from pytest_vla.policies.kinds import kind_of, load_shared
from pytest_vla.suite import Suite, typed_suite

MEASURE_S = 2.0
START_LIMIT_S = 120.0


def tune(policy_text: str, suite_name: str, device: str, simulators: int) -> str:
    """Measure, draw, and say which batch to use."""
    if kind_of(policy_text).place == "env":
        raise PolicyError(f"{policy_text!r} lives in the simulators' processes: there is nothing to tune")
    suite = typed_suite(suite_name)
    source = load_shared(policy_text)
    source.move_to(device)
    policy = source.policy
    key = first_episode(suite)
    env = suite.make_env(key.task)
    try:
        observation, _ = env.reset(seed=key.seed(), options={"episode": key})
        observation = plain(declared(observation, source.spec))
    finally:
        env.close()
    job = Job(Episode(key, policy.reset(key), begun=True), observation)
    supply = measure_supply(Engine(policy), job, simulators)
    demand = {count: measure_demand(suite_name, count) for count in sizes_up_to(simulators)}
    best = operating_point(supply, demand[simulators])
    return f"{draw(supply, demand)}\nuse --vla-batch={best} with -n {simulators}"


def first_episode(suite: Suite) -> EpisodeKey:
    task, partition = suite.cells()[0]
    return suite.episode(task, partition, 0)


def measure_demand(suite_name: str, count: int) -> float:
    """Observations a second of so many simulators in processes of their own, acting as fast as they can."""
    command = [sys.executable, "-m", "pytest_vla.inference.demand", suite_name]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for process in processes:
            _line(process)  # it is ready
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()
        return sum(float(json.loads(_line(process))) for process in processes)
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise PolicyError("a simulator ended before it could be measured")
    return line


def simulate(suite_name: str) -> float:
    """Steps a second of one simulator with actions that do nothing, resets included."""
    suite = typed_suite(suite_name)
    key = first_episode(suite)
    env: Any = suite.make_env(key.task)
    env.reset(seed=key.seed(), options={"episode": key})
    print("ready", flush=True)
    sys.stdin.readline()
    steps, start = 0, monotonic()
    while monotonic() - start < MEASURE_S:
        env.reset(seed=key.seed(), options={"episode": key})
        for _ in range(suite.step_limit(key.task)):
            _, _, terminated, truncated, _ = env.step(suite.noop(env))
            steps += 1
            if terminated or truncated or monotonic() - start > MEASURE_S:
                break
    return steps / (monotonic() - start)


if __name__ == "__main__":
    print(json.dumps(simulate(sys.argv[1])), flush=True)
