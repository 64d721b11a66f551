"""Whatever a policy sends, a step ends soon, and says so when no arm could have done it."""

import math

import numpy as np
import pytest
from pytest_vla.suites.vima.tools import MAX_TILT_RAD

STEP_BUDGET = 6000  # a few times what the longest legal motion takes
UP = (0.0, 0.0, 0.0, 1.0)


def action(start=(0.5, 0.0), end=(0.5, 0.1), turn0=UP, turn1=UP):
    parts = {"pose0_position": start, "pose0_rotation": turn0, "pose1_position": end, "pose1_rotation": turn1}
    return {name: np.asarray(value, dtype=np.float32) for name, value in parts.items()}


def tilted(angle_rad, axis=(1.0, 0.0, 0.0)):
    return (*(math.sin(angle_rad / 2) * v for v in axis), math.cos(angle_rad / 2))


def step(env, suite, task, sent, index=0):
    env.reset(options={"episode": suite.episode(task, next(iter(suite.all_tasks[task].partitions)), index)})
    before = env.table.world.steps
    *_, info = env.step(sent)
    assert env.table.world.steps - before < STEP_BUDGET
    assert all(np.isfinite(pose.position).all() for pose in env.table.state().values())
    return info


@pytest.mark.parametrize(
    ("turn", "complaint"),
    [
        ((0.0, 0.0, 0.0, 0.0), "is no rotation"),
        ((1e-5, 0.0, 0.0, 0.0), "is no rotation"),
        (tilted(MAX_TILT_RAD + 0.02), "tilts the tool by 61 degrees"),
        (tilted(math.pi), "tilts the tool by 180 degrees"),
        ((math.nan, 0.0, 0.0, 1.0), "is not finite"),
    ],
)
@pytest.mark.parametrize("which", ["turn0", "turn1"])
def test_an_impossible_rotation_is_an_invalid_action_with_one_sentence(env, suite, turn, complaint, which):
    info = step(env, suite, "rotate", action(**{which: turn}))
    assert info["failure"] == "invalid_action"
    assert not info["success"]
    assert complaint in info["message"]
    assert info["message"].count(". ") == 0


def test_a_rotation_need_not_be_a_unit_quaternion(env, suite):
    assert "failure" not in step(env, suite, "rotate", action(turn0=(0, 0, 0, 0.96), turn1=(0, 0, 0.3, 0.3)))


def test_a_tilt_that_an_arm_can_do_is_carried_out(env, suite):
    assert "failure" not in step(env, suite, "rotate", action(turn0=tilted(0.9), turn1=tilted(0.9, (0, 1, 0))))


@pytest.mark.parametrize("task", ["sweep_without_exceeding", "sweep_without_touching"])
def test_a_push_without_direction_is_an_invalid_action(env, suite, task):
    info = step(env, suite, task, action(end=(0.5, 0.0)))
    assert info["failure"] == "invalid_action"
    assert "no direction" in info["message"]


def test_an_invalid_action_moves_nothing(env, suite):
    env.reset(options={"episode": suite.episode("rotate", "train", 0)})
    before = env.digest()
    env.step(action(turn0=tilted(2.0)))
    assert env.digest() == before


def test_positions_outside_are_clipped_as_in_the_original(env, suite):
    for far, near in (((9.0, -9.0), (0.75, -0.5)), ((-1e30, 1e30), (0.25, 0.5))):
        digests = []
        for start in (far, near):
            step(env, suite, "rearrange", action(start=start))
            digests.append(env.digest())
        assert digests[0] == digests[1]


def fuzzed(rng, env):
    """A random, extreme or malformed action."""
    kind = rng.integers(6)
    sent = {name: rng.uniform(space.low, space.high).astype(np.float32) for name, space in env.action_space.items()}
    if kind:
        for name in ("pose0_rotation", "pose1_rotation"):
            sent[name] = np.asarray(tilted(rng.uniform(0, 1.0), _axis(rng)), dtype=np.float32)
    if kind == 2:
        sent["pose0_position"] = rng.choice([-1e30, -3.0, 0.25, 0.75, 1e30], 2).astype(np.float32)
    if kind == 3:
        name = rng.choice(list(sent))
        sent[name] = np.full_like(sent[name], rng.choice([math.nan, math.inf, 0.0, -1.0]))
    if kind >= 4:
        poses = list(env.table.state().values())
        spot = np.asarray(poses[rng.integers(len(poses))].xy) + rng.normal(size=2) * 0.01
        sent["pose0_position"] = spot.astype(np.float32)
    return sent


def _axis(rng):
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def survive(env, suite, task, count, seed):
    rng = np.random.default_rng(seed)
    partitions = list(suite.all_tasks[task].partitions)
    for number in range(count):
        key = suite.episode(task, partitions[number % len(partitions)], int(rng.integers(10**9)))
        env.reset(options={"episode": key})
        for _ in range(2):
            before = env.table.world.steps
            _, _, _, _, info = env.step(fuzzed(rng, env))
            assert env.table.world.steps - before < STEP_BUDGET, key
            assert all(np.isfinite(pose.position).all() for pose in env.table.state().values()), key
            assert 0 <= env.progress() <= 1, key
            assert info.get("failure", "constraint_violated") in ("constraint_violated", "invalid_action")


def test_fuzzed_episodes_of_every_task_survive_fuzzed_actions(env, suite):
    for task in suite.all_tasks:
        survive(env, suite, task, 5, seed=1)


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_fuzzed_episodes_per_task_survive(env, suite, seed):
    for task in suite.all_tasks:
        survive(env, suite, task, 100, seed=100 + seed)
