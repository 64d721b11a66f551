"""The contract with the plugin, and the protocol: success must hold at the horizon."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from pytest_vla.kit.goals import Verdict
from pytest_vla.policies.base import Policy
from pytest_vla.rollout import rollout
from pytest_vla.suite import Termination
from pytest_vla.testing import check_suite


def test_the_suite_keeps_the_contract(suite):
    check_suite(suite, tasks=["capture"])


def test_cells_are_five_tasks_in_eight_partitions(suite):
    assert suite.tasks() == ["place_stone", "place_nearest", "place_sequence", "capture", "copy_position"]
    assert suite.partitions() == [
        *("unperturbed", "table", "reflectivity", "start", "stones", "colour", "camera", "perturbed"),
    ]
    assert len(suite.cells()) == 40
    assert suite.termination is Termination.AT_HORIZON


def test_observations_are_in_the_declared_space(suite, env):
    observation, _ = env.reset(options={"episode": suite.episode("capture", "unperturbed", 0)})
    arrays = {"images": dict(observation["images"]), "state": observation["state"]}
    assert env.observation_space.contains(arrays)
    assert observation["images"]["front"].shape == (256, 256, 3)


class Clumsy(Policy):
    """Does as the oracle does, and sweeps over the board in the end."""

    def __init__(self, oracle, sweep_from: int) -> None:
        self.oracle, self.sweep_from = oracle, sweep_from

    def reset(self, episode):
        return [self.oracle.reset(episode), 0]

    def act(self, observations, states):
        (state,) = states
        state[1] += 1
        if state[1] < self.sweep_from:
            return self.oracle.act(observations, [state[0]])
        return [np.array([0.12 * (-1) ** (state[1] // 8), 0.02 * (state[1] % 8) - 0.08, 0.002, 0.0], np.float32)]


def test_a_success_that_does_not_last_is_none(suite, env):
    """The stone is put down by action 30 and swept away before the horizon."""
    key = suite.episode("capture", "unperturbed", 0)
    assert rollout(suite.oracle(env), env, key)
    result = rollout(Clumsy(suite.oracle(env), 30), env, key)
    assert (result.outcome, result.reason) == ("unsolved", "step_limit")


def test_success_does_not_end_the_episode(suite, env):
    result = rollout(suite.oracle(env), env, suite.episode("place_stone", "unperturbed", 0))
    assert result
    assert result.steps == suite.step_limit("place_stone")
    assert result.progress == 1.0


def test_a_broken_order_ends_the_episode(suite, env, monkeypatch):
    key = suite.episode("place_sequence", "unperturbed", 0)
    env.reset(options={"episode": key})
    monkeypatch.setattr(env.judge, "update", lambda state: Verdict(failure="move 2 was made before move 1"))
    _, _, terminated, _, info = env.step(suite.noop(env))
    assert terminated
    assert info["failure"] == "constraint_violated"
    assert info["message"] == "move 2 was made before move 1"


def test_targets_outside_the_workspace_are_clipped(suite, env):
    env.reset(options={"episode": suite.episode("place_stone", "unperturbed", 0)})
    for _ in range(20):
        env.step(np.array([9.0, 9.0, 9.0, 9.0], np.float32))
    assert np.allclose(env.state.tip, (0.20, 0.14, 0.12), atol=2e-3)
    assert env.state.opening_m == pytest.approx(0.036, abs=1e-3)


def test_the_tip_goes_where_it_is_sent(suite, env):
    env.reset(options={"episode": suite.episode("place_stone", "unperturbed", 0)})
    target = (0.05, -0.03, 0.06)
    for _ in range(10):
        observation = env.step(np.array([*target, 0.5], np.float32))[0]
    assert np.allclose(observation["state"]["ee"], (*target, 0.5), atol=2e-2)
    assert np.allclose(env.state.tip, target, atol=1e-3)


def test_the_renderer_is_told_for_the_provenance(suite, env):
    told = suite.provenance()
    assert told["renderer"] == env.world.renderer
    assert set(told) <= {"renderer", "simulator"}


def test_collecting_imports_no_simulator():
    program = """
import json, sys
from pytest_vla.registry import get_suite
for name in ("bomb", "bomb_bullet"):
    suite = get_suite(name)
    suite.cells(), suite.step_limit("capture"), suite.missing(), suite.test_file
print(json.dumps([name for name in ("mujoco", "pybullet", "torch") if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_a_missing_simulator_is_told_with_its_remedy(suite):
    module = {"bomb": "mujoco", "bomb_bullet": "pybullet"}[suite.name]
    (requirement,) = suite.requires
    assert requirement.module == module
    assert requirement.install.startswith("pip install")
    assert suite.missing() is None
