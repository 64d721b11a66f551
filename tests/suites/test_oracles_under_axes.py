"""Every axis that is felt leaves the task feasible at its ends: the oracle solves it through the same filters."""

import pytest

from pytest_vla.perturb import AXES, MAX_LEVEL
from pytest_vla.registry import get_suite
from pytest_vla.rollout import rollout

SUITES = {
    "bomb": ("mujoco", ("place_nearest", "capture")),
    "bomb_bullet": ("pybullet", ("place_stone",)),
    "vima": ("pybullet", ("visual_manipulation", "rearrange_then_restore", "follow_order")),
}
ENDS = [
    (suite, f"{name}={level}")
    for suite in SUITES
    for name in get_suite(suite).axes()
    for level in sorted({AXES[name].lowest, MAX_LEVEL} - {0})
    if AXES[name].group in ("layout", "object", "robot")
]


@pytest.fixture(scope="module")
def stages():
    made = {}
    yield made
    for _, env in made.values():
        env.close()


@pytest.mark.parametrize(("name", "perturbation"), ENDS)
def test_the_oracle_solves_the_first_episodes_at_the_ends(stages, name, perturbation):
    module, tasks = SUITES[name]
    pytest.importorskip(module)
    if name not in stages:
        suite = get_suite(name)
        stages[name] = suite, suite.make_env(tasks[0])
    suite, env = stages[name]
    for task in tasks:
        key = suite.episode(task, suite.select([task])[0][1], 0, perturbation)
        result = rollout(suite.oracle(env), env, key)
        assert result, str(result)
