"""The key decides everything: states and pixels are the same in any process, in any order, after anything."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import pytest

from pytest_vla.deadline import DeadlineExceeded
from pytest_vla.policies.builtin import RandomPolicy
from pytest_vla.rollout import rollout

EPISODES = [("place_stone", "unperturbed", 0), ("capture", "perturbed", 1), ("copy_position", "reflectivity", 2)]
ACTIONS = 14

ELSEWHERE = """
import json, sys
from pytest_vla.registry import get_suite
sys.path.insert(0, sys.argv[1])
from test_bomb_determinism import EPISODES, trace
suite = get_suite(sys.argv[2])
env = suite.make_env("place_stone")
print("traces", json.dumps([trace(suite, env, *episode) for episode in reversed(EPISODES)]))
env.close()
"""


def trace(suite, env, task: str, partition: str, index: int) -> list[str]:
    """Digests of states and pictures along the start of an episode."""
    key = suite.episode(task, partition, index)
    observation, _ = env.reset(options={"episode": key})
    oracle = suite.oracle(env)
    state, found = oracle.reset(key), []
    for step in range(ACTIONS):
        found.append(suite.digest(env))
        if step % 6 == 0:
            found += [hashlib.blake2b(observation["images"][c].tobytes()).hexdigest()[:16] for c in suite.cameras]
        observation = env.step(oracle.act([observation], [state])[0])[0]
    return found


def test_another_process_gives_the_same_states_and_pixels(suite, env, request):
    here = [trace(suite, env, *episode) for episode in EPISODES]
    arguments = [sys.executable, "-c", ELSEWHERE, str(request.path.parent), suite.name]
    there = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    assert there.returncode == 0, there.stderr
    line = next(line for line in there.stdout.splitlines() if line.startswith("traces "))
    assert json.loads(line.removeprefix("traces ")) == here[::-1]


def test_what_ran_before_does_not_matter(suite, env):
    first = trace(suite, env, *EPISODES[1])
    rollout(RandomPolicy(env.action_space), env, suite.episode("place_nearest", "perturbed", 5))
    trace(suite, env, *EPISODES[0])
    assert trace(suite, env, *EPISODES[1]) == first


def test_an_aborted_episode_leaves_nothing_behind(suite, env, monkeypatch):
    first = trace(suite, env, *EPISODES[2])
    for method in ("act", "picture", "state"):
        with monkeypatch.context() as patch:
            original, calls = getattr(env.world, method), []

            def cut_off(*args, original=original, calls=calls):
                calls.append(args)
                if len(calls) == 3:
                    raise DeadlineExceeded("cut off")
                return original(*args)

            patch.setattr(env.world, method, cut_off)
            with pytest.raises(DeadlineExceeded):
                trace(suite, env, "place_stone", "perturbed", 7)
        assert trace(suite, env, *EPISODES[2]) == first


def test_looking_changes_nothing(suite, env):
    key = suite.episode("place_stone", "unperturbed", 3)
    digests = []
    for look in (True, False):
        observation, _ = env.reset(options={"episode": key})
        action = suite.noop(env)
        for _ in range(5):
            if look:
                dict(observation["images"])
            observation = env.step(action)[0]
        digests.append(suite.digest(env))
    assert digests[0] == digests[1]


def test_episodes_differ(suite, env):
    starts = set()
    for index in range(8):
        env.reset(options={"episode": suite.episode("place_stone", "unperturbed", index)})
        starts.add(suite.digest(env))
    assert len(starts) == 8
