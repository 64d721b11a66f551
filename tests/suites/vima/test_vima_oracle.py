"""Every cell can be solved, and not by doing nothing or acting at random."""

import pytest
from pytest_vla.suites.vima import suite as vima
from pytest_vla.suites.vima_strict import suite as vima_strict

from pytest_vla.policies.base import Policy
from pytest_vla.registry import register
from pytest_vla.rollout import rollout

CELLS = vima().cells()


class Constant(Policy):
    """Always what `choose` says."""

    def __init__(self, choose):
        self.choose = choose

    def act(self, observations, states):
        return [self.choose() for _ in observations]


@pytest.fixture(scope="module", params=[vima, vima_strict], ids=["faithful", "strict"])
def rules(request):
    suite = register(request.param())
    env = suite.make_env("rotate")
    yield suite, env
    env.close()


def solved(rules, task, partition, indices, policy=None):
    suite, env = rules
    results = [rollout(policy or suite.oracle(env), env, suite.episode(task, partition, index)) for index in indices]
    assert not [result for result in results if result.outcome == "error"], results
    return sum(bool(result) for result in results)


@pytest.mark.parametrize(("task", "partition"), CELLS)
def test_the_oracle_solves_a_few_episodes_of_every_cell(rules, task, partition):
    assert solved(rules, task, partition, range(3)) == 3


@pytest.mark.proof
@pytest.mark.parametrize(("task", "partition"), CELLS)
def test_the_oracle_solves_99_of_100_episodes_of_every_cell(rules, task, partition):
    assert solved(rules, task, partition, range(100)) >= 99


@pytest.mark.parametrize(("task", "partition"), CELLS[::3])
def test_doing_nothing_solves_nothing(rules, task, partition):
    suite, env = rules
    assert solved(rules, task, partition, range(2), Constant(lambda: suite.noop(env))) == 0


@pytest.mark.proof
@pytest.mark.parametrize(("task", "partition"), CELLS)
def test_doing_nothing_never_solves_anything(rules, task, partition):
    suite, env = rules
    assert solved(rules, task, partition, range(50), Constant(lambda: suite.noop(env))) == 0


@pytest.mark.proof
@pytest.mark.parametrize("task", ["rotate", "visual_manipulation"])
def test_acting_at_random_solves_under_one_in_twenty(rules, task):
    _suite, env = rules
    env.action_space.seed(0)
    assert solved(rules, task, "train", range(100), Constant(env.action_space.sample)) < 5


def test_progress_grows_to_one_with_the_oracle_and_stays_low_without(rules):
    suite, env = rules
    for task, partition in CELLS[:13]:
        result = rollout(suite.oracle(env), env, suite.episode(task, partition, 1))
        assert result.progress == 1
        idle = rollout(Constant(lambda: suite.noop(env)), env, suite.episode(task, partition, 1))
        assert idle.progress is not None
        assert idle.progress < 0.5
