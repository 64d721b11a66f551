"""Gymnasium environments as suites, in this interpreter; what they are is found out by trying."""

import sys

import numpy as np
import pytest

from pytest_vla.registry import typed_suite
from pytest_vla.rollout import rollout
from pytest_vla.suite import SuiteError
from pytest_vla.testing import check_suite

ENVIRONMENTS = '''
import gymnasium, numpy as np

class Corridor(gymnasium.Env):
    """Walk to the right end; `shuffled` ignores its seeds."""
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    observation_space = gymnasium.spaces.Dict({"eye": gymnasium.spaces.Box(0, 255, (8, 8, 3), np.uint8)})
    mission = "walk to the right"

    def __init__(self, length=5.0, shuffled=False, render_mode=None):
        self.length, self.shuffled, self.resets = length, shuffled, 0

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.resets += 1
        self.at = float(self.resets) if self.shuffled else float(self.np_random.uniform(0, 1))
        return self.observe(), {}

    def step(self, action):
        self.at += float(action[0])
        return self.observe(), 0.0, False, False, {"is_success": self.length - 1 < self.at < self.length}

    def observe(self):
        return {"eye": np.full((8, 8, 3), int(self.at * 10) % 256, np.uint8), "at": np.array([self.at])}

gymnasium.register("Corridor-v0", Corridor, max_episode_steps=12)
'''


@pytest.fixture
def gym(tmp_path, monkeypatch):
    (tmp_path / "corridors.py").write_text(ENVIRONMENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pytest_vla.registry._registered", {})
    monkeypatch.delenv("PYTEST_VLA_DESCRIPTIONS", raising=False)
    return typed_suite


def test_an_environment_keeps_our_contract(gym):
    check_suite(gym("gym:corridors:Corridor-v0?length=4"))


def test_its_observation_instruction_and_limit_are_ours(gym):
    suite = gym("gym:corridors:Corridor-v0")
    (task, partition), *_ = suite.cells()
    assert (task, partition, suite.step_limit(task)) == ("corridors_Corridor-v0", "default", 12)
    env = suite.make_env(task)
    key = suite.episode(task, partition, 0)
    observation = env.reset(seed=key.seed(), options={"episode": key})[0]
    env.close()
    assert observation["instruction"] == "walk to the right"
    assert observation["images"]["eye"].shape == (8, 8, 3)
    assert observation["state"]["at"].dtype == np.float32


@pytest.mark.parametrize(("text", "outcome"), [("", "solved"), ("?at=end", "unsolved")])
def test_success_at_any_step_and_at_the_end_are_told_apart(gym, text, outcome):
    """Walking on and on passes the goal: what counts is said by the text, not left to chance."""
    from pytest_vla.policies.builtin import NoopPolicy

    suite = gym(f"gym:corridors:Corridor-v0{text}")
    (task, partition), *_ = suite.cells()
    env = suite.make_env(task)
    result = rollout(NoopPolicy(np.ones(1, np.float32)), env, suite.episode(task, partition, 0))
    env.close()
    assert result.outcome == outcome


def test_an_ignored_seed_is_found_out_and_never_pairs(gym):
    assert "seed" not in gym("gym:corridors:Corridor-v0").provenance()
    assert gym("gym:corridors:Corridor-v0?shuffled=true").provenance()["seed"] == "none"


def test_discrete_actions_and_an_end_with_a_reward(gym):
    suite = gym("gym:FrozenLake-v1?is_slippery=false&instruction=cross the lake")
    (task, partition), *_ = suite.cells()
    env = suite.make_env(task)

    class Right:
        spec = None

        def reset(self, episode):
            self.way = iter([1, 1, 2, 2, 1, 2])

        def act(self, observations, states):
            assert observations[0]["instruction"] == "cross the lake"
            return [next(self.way)]

    result = rollout(Right(), env, suite.episode(task, partition, 0))
    env.close()
    assert (result.outcome, result.steps) == ("solved", 6)


@pytest.mark.parametrize(
    ("name", "words"),
    [("gym:", "write gym:ID"), ("gym:NoSuch-v0", "NoSuch"), ("gym+nowhere:X-v0", "unknown environment")],
)
def test_what_cannot_be_used_is_one_sentence(gym, name, words):
    with pytest.raises(SuiteError, match=words):
        gym(name).cells()


@pytest.mark.slow
def test_a_whole_run_at_two_workers(gym, tmp_path, pytester, monkeypatch, read_episodes):
    (pytester.path / "corridors.py").write_text(ENVIRONMENTS)
    monkeypatch.chdir(pytester.path)
    arguments = ["--vla-suite=gym:corridors:Corridor-v0", "--vla-policy=random", "--vla-episodes=4"]
    runs = []
    for more in (["-n2"], []):
        pytester.runpytest_subprocess(*arguments, f"--vla-run-dir=run{len(runs)}", *more)
        runs.append({k: r["digest"] for k, r in read_episodes(pytester.path / f"run{len(runs)}").items()})
    assert runs[0] == runs[1]
    assert len(runs[0]) == 4
    name = "gym:corridors:Corridor-v0/corridors_Corridor-v0-default-02"
    again = pytester.run(sys.executable, "-m", "pytest_vla.cli", "replay", "run0", name, "--trust")
    again.stdout.fnmatch_lines(["*same episode, bit for bit*"])
