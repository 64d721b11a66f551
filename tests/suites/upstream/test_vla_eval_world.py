"""Classes of vla-eval as suites: one of ours written against 0.8.0, unchanged, and what cannot be used."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from installed import need

from pytest_vla.registry import typed_suite
from pytest_vla.rollout import rollout
from pytest_vla.suite import SuiteError
from pytest_vla.testing import check_suite

REACHING = "vla_eval:reaching:ReachingBenchmark"
need(REACHING)
HERE = Path(__file__).parent
CELL = ("reach_the_middle", "default")


@pytest.fixture
def project(numpy_stays, pytester, monkeypatch):
    """A folder with the benchmark classes and a policy."""
    for name in ("reaching.py", "walking.py"):
        shutil.copy(HERE / name, pytester.path)
    monkeypatch.delenv("PYTEST_VLA_DESCRIPTIONS", raising=False)
    return pytester


@pytest.fixture
def reaching(monkeypatch):
    monkeypatch.chdir(HERE)
    monkeypatch.setattr("pytest_vla.registry._registered", {})
    return typed_suite


def test_a_class_keeps_our_contract_unchanged(reaching):
    check_suite(reaching(REACHING), tasks=["reach_the_middle"])


def test_its_specs_limits_and_tasks_are_ours(reaching):
    suite = reaching(REACHING)
    assert suite.cells() == [CELL, ("stay_away", "default")]
    assert suite.step_limit("stay_away") == 20
    space = suite.action_space("stay_away")
    assert (space.shape, space.low.tolist(), space.high.tolist()) == ((4,), [-1] * 4, [1] * 4)
    assert suite.specs[0]["action"]["gripper"]["format"] == "binary_close_positive"
    assert suite.specs[0]["observation"]["state"]["dims"] == 3
    env = suite.make_env(CELL[0])
    key = suite.episode(*CELL, 3)
    observation = env.reset(seed=key.seed(), options={"episode": key})[0]
    env.close()
    assert observation["instruction"] == "reach the middle"
    assert observation["images"]["front"].shape == (32, 32, 3)
    assert np.allclose(observation["state"]["states"], np.random.default_rng([7, 3]).uniform(-1, 1, 3)), (
        "the same episode as vla-eval's own run of it"
    )


def test_success_is_judged_at_the_end_as_the_class_says(reaching):
    """Passing through the middle at some step is not being there at the last one."""
    from walking import Walk

    class Through(Walk):
        def act(self, observations, states):
            steps = int(observations[0]["images"]["front"][0, 0, 0])
            return super().act(observations, states) if steps < 8 else [np.ones(4, np.float32)]

    suite = reaching(REACHING)
    env = suite.make_env(CELL[0])
    stays, leaves = (rollout(policy, env, suite.episode(*CELL, 0)) for policy in (Walk(), Through()))
    env.close()
    assert (stays.outcome, stays.steps) == ("solved", 12)
    assert (leaves.outcome, leaves.reason, leaves.steps) == ("unsolved", "terminated", 12)


def test_parameters_of_the_class_are_given_behind_a_question_mark(reaching):
    suite = reaching(f"{REACHING}?seed=9&reach=0.5&size=16")
    env = suite.make_env(CELL[0])
    key = suite.episode(*CELL, 0)
    observation = env.reset(seed=key.seed(), options={"episode": key})[0]
    env.close()
    assert observation["images"]["front"].shape == (16, 16, 3)
    assert np.allclose(observation["state"]["states"], np.random.default_rng([9, 0]).uniform(-0.5, 0.5, 3))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vla_eval:reaching", "write vla_eval:MODULE:CLASS"),
        ("vla_eval:reaching:Nothing", "has no attribute 'Nothing'"),
        ("vla_eval:no_such_module:Class", "No module named 'no_such_module'"),
        ("vla_eval:nowhere.yaml", "No such file"),
        ("vla_eval:reaching:RawBenchmark", r"add \?action_dim=N"),
        ("vla_eval+nothing:reaching:ReachingBenchmark", "unknown environment 'nothing'"),
        (f"{REACHING}?sedd=1", "unexpected keyword argument 'sedd'"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(reaching, name, words):
    with pytest.raises(SuiteError, match=words):
        reaching(name).cells()


def test_a_class_that_says_little_is_told_how_long_an_action_is(reaching):
    space = reaching("vla_eval:reaching:RawBenchmark?action_dim=4").action_space(CELL[0])
    assert space.shape == (4,)
    assert np.isinf(space.high).all()


@pytest.mark.slow
def test_whole_runs_pair_with_each_other_and_replay(project, read_episodes):
    arguments = [f"--vla-suite={REACHING}", "--vla-policy=walking:walk", "--vla-episodes=3"]
    for name, more in (("one", []), ("two", ["-n2"])):
        result = project.runpytest_subprocess(*arguments, f"--vla-run-dir={name}", *more)
        result.stdout.fnmatch_lines(["*3 of 6 episodes solved*"])
        assert "takes no seed" not in result.stdout.str()
    one, two = (read_episodes(project.path / name) for name in ("one", "two"))
    assert {key: record["digest"] for key, record in one.items()} == {key: r["digest"] for key, r in two.items()}
    again = project.run(
        sys.executable, "-m", "pytest_vla.cli", "replay", "one", f"{REACHING}/reach_the_middle-default-01", "--trust"
    )
    again.stdout.fnmatch_lines(["*same episode, bit for bit*"])


@pytest.mark.slow
def test_a_class_without_a_seed_never_pairs_and_the_table_says_so(project):
    name = "vla_eval:reaching:UnseededBenchmark"
    arguments = [f"--vla-suite={name}", "--vla-policy=walking:walk", "--vla-episodes=3", "--vla-task=reach_the_middle"]
    first = project.runpytest_subprocess(*arguments, "--vla-run-dir=one")
    first.stdout.fnmatch_lines([f"{name} takes no seed: its episodes are other ones in every run, and never pair"])
    project.runpytest_subprocess(*arguments, "--vla-run-dir=two")
    compared = project.run(sys.executable, "-m", "pytest_vla.cli", "compare", "one", "two").stdout.str()
    assert "unpaired: the suite takes no seed" in compared, compared


@pytest.mark.slow
def test_a_config_of_vla_eval_is_a_suite(project, read_episodes):
    folder = project.path / "configs"
    folder.mkdir()
    (folder / "base.yaml").write_text("server: {url: ws://unused}\noutput_dir: ./results\n")
    (folder / "reaching.yaml").write_text(
        "extends: base.yaml\n"
        "benchmarks:\n"
        "  - {benchmark: 'reaching:ReachingBenchmark', subname: near, tasks: [reach the middle], max_steps: 5,\n"
        "     params: {seed: 3, reach: 0.3}}\n"
        "  - {benchmark: 'reaching:ReachingBenchmark', subname: far, max_tasks: 1, params: {seed: 3}}\n"
    )
    arguments = ["--vla-suite=vla_eval:configs/reaching.yaml", "--vla-policy=walking:walk", "--vla-episodes=2"]
    result = project.runpytest_subprocess(*arguments, "--vla-run-dir=run")
    assert result.ret == 0, result.stdout.str()
    episodes = read_episodes(project.path / "run")
    near, far = "reach_the_middle-ReachingBenchmark_near", "reach_the_middle_-ReachingBenchmark_far"
    prefix = "vla_eval:configs%2Freaching.yaml"
    assert {key: record["steps"] for key, record in episodes.items()} == {
        f"{prefix}/{near}-00": 5, f"{prefix}/{near}-01": 5, f"{prefix}/{far}-00": 12, f"{prefix}/{far}-01": 12,
    }  # fmt: skip
    again = project.run(sys.executable, "-m", "pytest_vla.cli", "replay", "run", f"{prefix}/{far}-01", "--trust")
    again.stdout.fnmatch_lines(["*same episode, bit for bit*"])


def test_without_the_environment_it_is_one_skip_with_the_command(project, monkeypatch):
    monkeypatch.setenv("PYTEST_VLA_ENVS", str(project.path / "empty"))
    result = project.runpytest_subprocess(f"--vla-suite={REACHING}", "--vla-policy=random", "--vla-episodes=1", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*pytest-vla install vla_eval*"])


def test_two_suites_of_one_family_in_a_run_are_refused(project):
    names = f"--vla-suite={REACHING},vla_eval:reaching:UnseededBenchmark"
    result = project.runpytest_subprocess(names, "--vla-policy=random")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*one suite of a family in a run*"])
