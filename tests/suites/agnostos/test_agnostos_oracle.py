"""Every task can be done, through each robot and by each rule, and is not done by standing there."""

import itertools

import pytest
from pytest_vla.suites.agnostos.tasks import NAMES

import pytest_vla as vla
from pytest_vla.policies.builtin import NoopPolicy, RandomPolicy
from pytest_vla.registry import get_suite

SUITES = ("agnostos", "agnostos_strict", "agnostos_floating", "agnostos_delta")
EPISODES = 50
HARD = ("scoop_with_spatula", "place_cups")


@pytest.fixture(scope="module", params=SUITES)
def other(request):
    """A suite with its environment."""
    suite = get_suite(request.param)
    env = suite.make_env("close_jar")
    yield suite, env
    env.close()


@pytest.mark.parametrize(("other", "task"), [*zip(itertools.cycle(SUITES), NAMES)], indirect=["other"])
def test_the_oracle_solves_the_first_episode(other, split_of, task):
    """Each task in one of the suites in turn; all in all are a step of `.ci/run`."""
    suite, env = other
    assert vla.rollout(suite.oracle(env), env, suite.episode(task, split_of[task], 0))


@pytest.mark.parametrize("task", NAMES)
def test_doing_nothing_solves_nothing(split_of, task):
    suite = get_suite("agnostos_strict")
    env = suite.make_env(task)
    assert not vla.rollout(NoopPolicy(suite.noop(env)), env, suite.episode(task, split_of[task], 0))
    env.close()


VARIED = [task.name for task in get_suite("agnostos").templates.values() if task.variations > 1]
VARIED.remove("place_cups")  # its last variation hangs three mugs: the oracle manages that only now and then


@pytest.mark.slow
@pytest.mark.parametrize("task", VARIED)
def test_the_oracle_solves_the_last_variation(suite, env, task):
    last = suite.templates[task].variations - 1
    assert vla.rollout(suite.oracle(env), env, suite.episode(task, f"variation_{last}", 0))


@pytest.mark.proof
@pytest.mark.parametrize("task", NAMES)
def test_the_oracle_solves_nearly_all(other, split_of, task):
    suite, env = other
    keys = [suite.episode(task, split_of[task], index) for index in range(EPISODES)]
    solved = sum(bool(vla.rollout(suite.oracle(env), env, key)) for key in keys)
    assert solved >= (0.95 if task in HARD else 0.98) * EPISODES


@pytest.mark.proof
@pytest.mark.parametrize("task", NAMES)
def test_chance_solves_hardly_anything_under_strict_rules(split_of, task):
    suite = get_suite("agnostos_strict")
    env = suite.make_env(task)
    keys = [suite.episode(task, split_of[task], index) for index in range(EPISODES)]
    for policy, most in ((NoopPolicy(suite.noop(env)), 0), (RandomPolicy(env.action_space, suite.random_action), 1)):
        assert sum(bool(vla.rollout(policy, env, key)) for key in keys) <= most
    env.close()
