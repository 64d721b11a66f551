"""Games and conversations in interpreters of their own; skipped where those are not installed."""

from __future__ import annotations

import pytest
from pytest_vla.suites.multinet import suite as make_suite
from pytest_vla.suites.multinet.live import LiveOracle, launch, not_installed

from pytest_vla.isolate.process import Child
from pytest_vla.policies import Policy
from pytest_vla.registry import register
from pytest_vla.rollout import rollout

needs_bfcl = pytest.mark.skipif(not_installed("bfcl_multi_turn_base") is not None, reason="not installed")
needs_overcooked = pytest.mark.skipif(not_installed("overcooked_cramped_room") is not None, reason="not installed")


class Says(Policy):
    def __init__(self, text):
        self.text = text

    def act(self, observations, states):
        return [self.text for _ in observations]


class Forgetful(LiveOracle):
    """Leaves out the last call of every turn."""

    def act(self, observations, states):
        calls = self.env.call("oracle")
        return ["\n".join(calls[:-1]) or "[]"]


@pytest.fixture
def env_of():
    suite, open_envs = register(make_suite()), []

    def make(task):
        env = suite.make_env(task)
        open_envs.append(env)
        return suite, env

    yield make
    for env in open_envs:
        env.close()


def test_what_is_not_installed_is_a_skip_with_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_VLA_ENVS", str(tmp_path))
    suite = make_suite()
    assert "pytest-vla install multinet_bfcl" in suite.lacks(suite.episode("bfcl_multi_turn_base", "live", 0))
    assert "pytest-vla install multinet_overcooked" in suite.lacks(suite.episode("overcooked_cramped_room", "live", 0))
    assert "pytest-vla install multinet_overcooked" in suite.lacks(suite.episode("overcooked_2019", "replay", 0))
    assert "no more" in suite.lacks(suite.episode("bfcl_multi_turn_base", "live", 200))


@needs_bfcl
@pytest.mark.parametrize("category", ["base", "miss_func", "miss_param", "long_context"])
def test_the_reference_passes_in_any_order_and_half_of_it_does_not(env_of, category):
    suite, env = env_of(f"bfcl_multi_turn_{category}")
    keys = [suite.episode(f"bfcl_multi_turn_{category}", "live", index) for index in (3, 0, 11)]
    assert not any(rollout(Forgetful(env), env, key) for key in keys)
    assert all(rollout(LiveOracle(env), env, key) for key in (*keys, *reversed(keys)))
    assert not any(rollout(Says("[]"), env, key) for key in keys)


@needs_bfcl
@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('touch BROKEN')", "delete_everything()", "ls(a=open('BROKEN', 'w'))", "x" * 100_000],
)
def test_nothing_but_known_calls_reaches_the_functions(env_of, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suite, env = env_of("bfcl_multi_turn_base")
    result = rollout(Says(text), env, suite.episode("bfcl_multi_turn_base", "live", 0))
    assert (result.outcome, result.reason) == ("unsolved", "invalid_output")
    assert not list(tmp_path.iterdir())


@needs_overcooked
def test_two_greedy_cooks_serve_soup_and_lazy_ones_do_not(env_of):
    suite, env = env_of("overcooked_asymmetric_advantages")
    key = suite.episode("overcooked_asymmetric_advantages", "live", 0)
    result = rollout(LiveOracle(env), env, key)
    assert result
    assert 200 <= result.extra["game"]["score"] <= 300
    lazy = rollout(Says("28"), env, key)
    assert (lazy.outcome, lazy.steps, lazy.extra["game"]["score"]) == ("unsolved", 400, 0.0)
    assert rollout(Says("dance"), env, key).reason == "invalid_output"


@needs_overcooked
def test_people_s_games_are_read_from_the_installed_package(env_of):
    suite, env = env_of("overcooked_2019")
    key = suite.episode("overcooked_2019", "replay", 300)
    observation, _ = env.reset(options={"episode": key})
    assert observation["images"]["view"].ndim == 3
    assert len(suite.source("overcooked_2019", "replay")) == 44_373
    assert rollout(suite.oracle(env), env, key)
    child = Child(launch("overcooked_2019"))
    try:
        child.ask("open", "overcooked_2019", {"layout": "", "horizon": 400})
        assert child.ask("call", "pose_errors", [200]) == {"value": 0}  # played again, they stand where they stood
    finally:
        child.close()
