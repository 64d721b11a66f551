"""A policy that was trained on what a suite calls unseen is refused, or run and named."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = """
import gymnasium
import pytest_vla as vla

class Nothing(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return {"images": {}, "state": {}, "instruction": "Do nothing."}, {}
    def step(self, action):
        return self.reset()[0], 0.0, True, False, {"success": True}

class Halves(vla.Suite):
    name = "halves"
    def cells(self): return [("old", "seen"), ("new", "unseen")]
    def unseen_tasks(self): return ["new"]
    def make_env(self, task): return Nothing()
    def step_limit(self, task): return 1

@vla.benchmark(Halves(), episodes=1)
def test_halves(policy, env, episode):
    assert vla.rollout(policy, env, episode)
"""

POLICY = """
import pytest_vla as vla

class Trained(vla.Policy):
    def __init__(self, *tasks):
        self.spec = vla.PolicySpec(trained_on=tasks)
    def act(self, observations, states):
        return [0 for _ in observations]

def honest(): return Trained("old")
def leaking(): return Trained("old", "new")
"""


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_halves=TESTS, trained=POLICY)
    return pytester


def test_a_policy_that_saw_only_seen_tasks_runs(folder: pytest.Pytester) -> None:
    result = folder.runpytest_subprocess("--vla-policy=trained:honest", "--vla-run-dir=run")
    result.assert_outcomes(passed=2)
    assert "leaked" not in (folder.path / "run" / "run.jsonl").read_text()


def test_a_policy_that_saw_an_unseen_task_is_not_run(folder: pytest.Pytester) -> None:
    result = folder.runpytest_subprocess("--vla-policy=trained:leaking")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*was trained on new, unseen in 'halves'. --vla-allow-leaks runs it all the same*"])


def test_where_it_is_asked_for_it_runs_and_the_report_says_so(folder: pytest.Pytester) -> None:
    page = Path("page.html")
    result = folder.runpytest_subprocess(
        "--vla-policy=trained:leaking", "--vla-allow-leaks", "--vla-run-dir=run", f"--vla-report={page}"
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["leaked: the policy was trained on halves/new, where it counts as unseen"])
    assert '"type": "leaked", "tasks": ["halves/new"]' in (folder.path / "run" / "run.jsonl").read_text()
    assert "trained on halves/new" in (folder.path / page).read_text()
