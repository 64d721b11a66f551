"""The oracle solves what is asked through the actions any policy has; doing nothing solves nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytest_vla.suites.bomb.edits import NEUTRAL
from pytest_vla.suites.bomb.partitions import PARTITIONS
from pytest_vla.suites.bomb.tasks import TASKS

from pytest_vla.perturb import AXES, MAX_LEVEL
from pytest_vla.policies.builtin import NoopPolicy
from pytest_vla.registry import get_suite
from pytest_vla.rollout import rollout

ENDS = {
    "small": replace(NEUTRAL, scale=0.8),
    "large": replace(NEUTRAL, scale=1.2),
    "light": replace(NEUTRAL, mass=0.25),
    "heavy": replace(NEUTRAL, mass=4.0),
    "slippery": replace(NEUTRAL, friction=0.25),
    "rough": replace(NEUTRAL, friction=2.0),
    "starts near": replace(NEUTRAL, tip_start_m=(-0.2, -0.14, 0.04)),
    "starts far": replace(NEUTRAL, tip_start_m=(0.2, 0.14, 0.12)),
}

FELT = [name for name in get_suite("bomb").axes() if AXES[name].group in ("layout", "object", "robot")]
SEEN_OR_READ = [name for name in get_suite("bomb").axes() if name not in FELT]


@pytest.fixture(scope="module")
def solved_digests(suite, env):
    """By task, the states of an unperturbed episode that the oracle solves."""
    oracle = suite.oracle(env)
    results = {task: rollout(oracle, env, suite.episode(task, "unperturbed", 1)) for task in TASKS}
    assert all(results.values())
    return {task: result.digest for task, result in results.items()}


def solved(suite, env, task, partition, indices) -> int:
    oracle = suite.oracle(env)
    return sum(bool(rollout(oracle, env, suite.episode(task, partition, index))) for index in indices)


@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_solves_the_first_episodes(suite, env, task):
    assert solved(suite, env, task, "unperturbed", range(2)) == 2


@pytest.mark.parametrize("partition", [name for name in PARTITIONS if name != "unperturbed"])
def test_the_oracle_solves_every_partition(suite, env, partition):
    assert solved(suite, env, "place_nearest", partition, [0])
    assert solved(suite, env, "capture", partition, [0])


@pytest.mark.parametrize("task", TASKS)
def test_doing_nothing_solves_nothing(suite, env, task):
    idle = NoopPolicy(suite.noop(env))
    for partition in ("unperturbed", "perturbed"):
        result = rollout(idle, env, suite.episode(task, partition, 0))
        assert (result.outcome, result.reason) == ("unsolved", "step_limit")
        assert result.steps == suite.step_limit(task)
        assert result.progress < 0.05


@pytest.mark.parametrize("end", ENDS)
def test_the_task_stays_feasible_at_both_ends_of_physical_changes(suite, env, end):
    oracle = suite.oracle(env)
    key = suite.episode("capture", "unperturbed", 1)
    observation, _ = env.reset(options={"episode": key, "edits": ENDS[end]})
    state = oracle.reset(key)
    for _ in range(suite.step_limit("capture")):
        observation, _, _, _, info = env.step(oracle.act([observation], [state])[0])
    assert info["success"]


def test_the_stone_is_held_by_friction_alone(suite, env):
    """Nothing ties it to the gripper: in the air it falls when the fingers open."""
    oracle = suite.oracle(env)
    key = suite.episode("place_stone", "unperturbed", 0)
    observation, _ = env.reset(options={"episode": key})
    label, state = env.instance.goals[0].label, oracle.reset(key)
    while env.state.stones[label].position[2] < 0.04:
        observation = env.step(oracle.act([observation], [state])[0])[0]
    held = env.state
    action = suite.noop(env)
    action[:3] = held.tip
    for _ in range(5):
        env.step(action)
    assert env.state.stones[label].position[2] < 0.006 < 0.04 < held.stones[label].position[2]


@pytest.mark.proof
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("partition", "least"), [("unperturbed", 99), ("perturbed", 95)])
def test_the_oracle_solves_a_hundred_episodes(suite, env, task, partition, least):
    assert solved(suite, env, task, partition, range(100)) >= least


@pytest.mark.proof
@pytest.mark.parametrize(
    ("axis", "level"),
    [(axis, level) for axis in FELT for level in (-MAX_LEVEL, 1, MAX_LEVEL) if level in AXES[axis].levels],
)
def test_at_both_ends_of_an_axis_that_is_felt_the_oracle_solves_95_of_100_episodes(suite, env, axis, level):
    oracle = suite.oracle(env)
    episodes = [suite.episode(task, "unperturbed", index, f"{axis}={level}") for task in TASKS for index in range(20)]
    failed = [str(key) for key in episodes if not rollout(oracle, env, key)]
    assert len(episodes) == 100
    assert len(failed) <= 5, failed


@pytest.mark.proof
@pytest.mark.parametrize("axis", SEEN_OR_READ)
def test_an_axis_that_is_only_seen_or_read_leaves_the_oracles_episodes_as_they_are(suite, env, axis, solved_digests):
    """State by state, at both ends: whatever the oracle solves, it solves there too."""
    oracle = suite.oracle(env)
    for task, digest in solved_digests.items():
        for level in (AXES[axis].lowest or 1, MAX_LEVEL):
            result = rollout(oracle, env, suite.episode(task, "unperturbed", 1, f"{axis}={level}"))
            assert result, str(result)
            assert result.digest == digest


@pytest.mark.proof
@pytest.mark.parametrize("task", TASKS)
def test_doing_nothing_solves_none_of_a_hundred_episodes(suite, env, task):
    idle = NoopPolicy(suite.noop(env))
    results = [rollout(idle, env, suite.episode(task, "unperturbed", index)) for index in range(100)]
    assert {(result.outcome, result.reason) for result in results} == {("unsolved", "step_limit")}
