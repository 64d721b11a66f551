"""`pytest-vla tune`: both curves before a run, from the real policy and real simulators of a suite."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import Any

from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.engine import Engine, Episode, Job
from pytest_vla.inference.local import declared
from pytest_vla.inference.tuning import draw, measure_supply, operating_point, sizes_up_to
from pytest_vla.policies.base import PolicyError, PolicySpec
from pytest_vla.policies.chunking import covered, execution
from pytest_vla.policies.compute import Compute
from pytest_vla.policies.kinds import kind_of, load_shared
from pytest_vla.registry import typed_suite
from pytest_vla.suite import Suite
from pytest_vla.tree import flatten, plain

MEASURE_S = 2.0
START_LIMIT_S = 120.0
LARGEST_BATCH = 64  # of a replica on a cluster, whose simulators may be many more than here


def tune(
    policy_text: str,
    suite_name: str,
    device: str,
    simulators: int,
    plan: tuple[int, float] | None = None,
    how: Compute = Compute(),  # noqa: B008 - it is frozen
) -> str:
    """Measure, draw, and say which batch to use; for a `plan` of episodes and hours also how large a cluster is."""
    if kind_of(policy_text).place == "env":
        raise PolicyError(f"{policy_text!r} lives in the simulators' processes: there is nothing to tune")
    suite = typed_suite(suite_name)
    missing = suite.missing()
    if missing is not None:
        raise PolicyError(f"suite '{suite.name}' needs {missing.module}: {missing.install}")
    source = load_shared(policy_text).computing(device, how)
    policy = source.policy
    key = first_episode(suite)
    env = suite.make_env(key.task)
    try:
        observation, _ = env.reset(seed=key.seed(), options={"episode": key})
        observation = plain(declared(observation, source.spec))
    finally:
        env.close()
    job = Job(Episode(key, policy.reset(key), begun=True), observation)
    supply = measure_supply(Engine(policy), job, max(simulators, LARGEST_BATCH) if plan else simulators)
    asked = Asked(suite_name, source.spec, steps_an_answer(source.spec))
    demand = {number: measure_demand(asked, number) for number in sizes_up_to(simulators)}
    best = operating_point(supply, demand[simulators])
    chunks = f" (an answer lasts {asked.steps} steps)" if asked.steps > 1 else ""
    said = f"{draw(supply, demand)}\nuse --vla-batch={best} with -n {simulators}{chunks}"
    if plan is None:
        return said
    from pytest_vla.inference.capacity import lines, measured

    return "\n".join([said, *lines(measured(source, suite, asked.steps, supply), *plan)])


@dataclass(frozen=True)
class Asked:
    """What the simulators of a run do: they show a policy of this spec what it declared, once in so many steps."""

    suite: str
    spec: PolicySpec
    steps: int

    def to_text(self) -> str:
        return json.dumps({"suite": self.suite, "spec": self.spec.to_dict(), "steps": self.steps})

    @classmethod
    def from_text(cls, text: str) -> Asked:
        data = json.loads(text)
        return cls(data["suite"], PolicySpec.from_dict(data["spec"]), data["steps"])


def steps_an_answer(spec: PolicySpec) -> int:
    """How many steps one answer covers: as many of a chunk as are executed."""
    horizon, _ = execution(spec, None, None)
    return covered(spec, horizon)


def first_episode(suite: Suite) -> EpisodeKey:
    task, partition = suite.cells()[0]
    return suite.episode(task, partition, 0)


def measure_demand(asked: Asked, simulators: int) -> float:
    """Requests a second of so many simulators in processes of their own, acting as fast as they can."""
    command = [sys.executable, "-m", "pytest_vla.inference.demand", asked.to_text()]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(simulators)]
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


def simulate(asked: Asked) -> float:
    """Requests a second of one simulator: whole episodes, random actions, and every picture that would be sent."""
    suite = typed_suite(asked.suite)
    group = suite.env_group(first_episode(suite).task)
    cells = [cell for cell in suite.select() if suite.env_group(cell[0]) == group]
    keys = (suite.episode(*cell, index) for index in count() for cell in cells)
    env: Any = suite.make_env(cells[0][0])
    key = next(keys)
    env.reset(seed=key.seed(), options={"episode": key})
    print("ready", flush=True)
    sys.stdin.readline()
    requests, start = 0, monotonic()
    while monotonic() - start < MEASURE_S:
        requests += play(suite, env, next(keys), asked, start + MEASURE_S)
    return requests / (monotonic() - start)


def play(suite: Suite, env: Any, key: EpisodeKey, asked: Asked, until: float) -> int:
    """One episode, or what there is time for; how often the policy would have been asked."""
    space = deepcopy(env.action_space)
    space.seed(key.seed("policy") % 2**63)
    observation, _ = env.reset(seed=key.seed(), options={"episode": key})
    requests = 0
    for step in range(suite.step_limit(key.task)):
        if step % asked.steps == 0:
            flatten(declared(observation, asked.spec))  # pictures are drawn here, as they are before they are sent
            requests += 1
        observation, _, terminated, truncated, info = env.step(suite.random_action(space))
        if terminated or truncated or info.get("failure") or monotonic() > until:
            break
    return requests


if __name__ == "__main__":
    print(json.dumps(simulate(Asked.from_text(sys.argv[1]))), flush=True)
