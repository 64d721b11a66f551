"""The same bits in every process and order, and nothing a policy can send ends in an error."""

import json
import subprocess
import sys

import numpy as np
import pytest
from pytest_vla.suites.agnostos.tasks import NAMES

import pytest_vla as vla
from pytest_vla.policies import Policy
from pytest_vla.registry import get_suite

SOME = ("put_item_in_drawer", "straighten_rope", "place_cups", "water_plants")
STEP_BUDGET = 40_000  # simulator steps of one episode

_PLAY = """
import json, sys
import pytest_vla as vla
from pytest_vla.registry import get_suite
suite = get_suite(sys.argv[1]); env = suite.make_env("close_jar")
digests = {}
for text in sys.argv[2:]:
    task, split = text.split("/")
    digests[task] = vla.rollout(suite.oracle(env), env, suite.episode(task, split, 0)).digest
print(json.dumps(digests))
"""


def played(suite: str, cells: list[str]) -> dict[str, str]:
    done = subprocess.run([sys.executable, "-c", _PLAY, suite, *cells], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [SOME[:2], pytest.param(SOME, marks=pytest.mark.proof)], ids=["two", "four"])
@pytest.mark.parametrize("name", ["agnostos", "agnostos_floating"])
def test_episodes_are_the_same_bits_in_another_process_and_order(split_of, name, tasks):
    cells = [f"{task}/{split_of[task]}" for task in tasks]
    assert played(name, cells) == played(name, cells[::-1])


class Wild(Policy):
    """Random, extreme and malformed actions in turn."""

    def __init__(self, suite, space):
        self.suite, self.space = suite, space

    def reset(self, episode):
        self.space.seed(episode.seed("policy") % 2**63)
        return episode.rng("wild")

    def act(self, observations, states):
        return [self._act(rng) for rng in states]

    def _act(self, rng):
        kind = rng.integers(6)
        action = self.suite.random_action(self.space)
        if kind == 0:
            return rng.choice([self.space.low, self.space.high])
        if kind == 1:
            action[rng.integers(len(action))] = rng.choice([1e9, -1e9, 0.0, 1e-30])
        if kind == 2:
            return rng.normal(0, 10, len(action)).astype(np.float32)
        return action


def survives(suite, env, keys):
    for key in keys:
        result = vla.rollout(Wild(suite, env.action_space), env, key)
        assert result.outcome != "error", (key, result)
        assert env.table.world.data.time / env.table.world.model.opt.timestep < STEP_BUDGET
        assert np.isfinite(env.table.world.data.qpos).all()


@pytest.mark.parametrize("task", NAMES)
def test_wild_actions_end_in_a_reason(suite, env, split_of, task):
    survives(suite, env, [suite.episode(task, split_of[task], index) for index in range(2)])


@pytest.mark.proof
@pytest.mark.parametrize("name", ["agnostos", "agnostos_floating", "agnostos_delta"])
@pytest.mark.parametrize("task", NAMES)
def test_2000_fuzzed_keys_survive(split_of, task, name):
    suite = get_suite(name)
    env = suite.make_env(task)
    parts = [split_of[task], *(["variations"] if suite.templates[task].variations > 1 else [])]
    survives(suite, env, [suite.episode(task, parts[index % len(parts)], 1000 + index) for index in range(50)])
    env.close()
