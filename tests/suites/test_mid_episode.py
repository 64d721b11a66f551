"""What an axis does once an episode has begun: a push that nobody announced, and actions that last longer."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from pytest_vla.kit.gantry import ramp_counts
from pytest_vla.kit.layout import distance
from pytest_vla.registry import get_suite


def started(name, task, perturbation):
    pytest.importorskip("mujoco" if name == "bomb" else "pybullet")
    suite = get_suite(name)
    env = suite.make_env(task)
    partition = suite.select([task])[0][1]
    key = suite.episode(task, partition, 0, perturbation)
    env.reset(seed=key.seed(), options={"episode": key})
    return suite, env, key


@pytest.mark.parametrize("name", ["bomb", "bomb_bullet"])
def test_a_stone_is_pushed_after_four_actions_and_the_judge_knows(name):
    suite, env, key = started(name, "place_stone", "layout.disturbance=8")
    ((label, by_m),) = env.edits.pushes_m.items()
    before, idle = env.state.stones[label].spot, suite.noop(env)
    env.reset(seed=key.seed(), options={"episode": replace(key, perturbation="")})
    unpushed = suite.digest(env)
    env.reset(seed=key.seed(), options={"episode": key})
    assert suite.digest(env) == unpushed
    for step in range(1, 7):
        env.step(idle)
        moved = distance(env.state.stones[label].spot, before)
        assert moved == pytest.approx(0.0 if step <= 4 else np.hypot(*by_m), abs=1e-3)
    assert distance(env.judge.start.stones[label].spot, env.state.stones[label].spot) < 1e-3
    assert not env.judge.disturbed(env.state, {})
    env.close()


def test_a_thing_is_pushed_between_the_first_look_and_the_first_action():
    suite, env, _ = started("vima", "visual_manipulation", "layout.disturbance=8")
    before = {label: pose.xy for label, pose in env.table.state().items()}
    env.step(suite.noop(env))
    moved = {label: distance(pose.xy, before[label]) for label, pose in env.table.state().items()}
    assert moved.pop("dragged") == pytest.approx(0.04, abs=0.002)
    assert max(moved.values()) < 0.002
    env.close()


@pytest.mark.parametrize("action_time", [1.0, 1.125, 2.0, 0.7])
def test_actions_last_that_long_on_average(action_time):
    counts = list(islice(ramp_counts(action_time), 400))
    assert np.mean(counts) == pytest.approx(5 * action_time, abs=0.01)
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("name", ["bomb", "bomb_bullet"])
def test_the_hand_comes_farther_in_an_action_that_lasts_longer(name):
    ways = []
    for level in (-8, 0, 8):
        suite, env, _ = started(name, "place_stone", f"robot.rate={level}")
        start, action = env.state.tip, suite.noop(env)
        action[0] = 0.2
        for _ in range(3):
            env.step(action)
        ways.append(env.state.tip[0] - start[0])
        env.close()
    assert ways == sorted(ways)
    assert ways[2] > 1.4 * ways[1] > 1.4 * 1.2 * ways[0]


def test_a_slower_tool_needs_more_of_the_simulators_time():
    steps = []
    for level in (-8, 0, 8):
        suite, env, _ = started("vima", "rotate", f"robot.rate={level}")
        before = env.table.world.steps
        env.step(suite.oracle(env).act([{}], [None])[0])
        steps.append(env.table.world.steps - before)
        env.close()
    assert steps[0] < steps[1] < steps[2]
