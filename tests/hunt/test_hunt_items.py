"""Hunts as pytest items, from the command line to the run file."""

import json
import sys

import pytest

from pytest_vla.run import read_run

BRITTLE = '''
import numpy as np
import pytest_vla as vla
from test_reach import GoStraight, ReachSuite


class HatesCapitals(GoStraight):
    """Stays where it is when it is shouted at, or told next to nothing."""

    def act(self, observations, states):
        actions = super().act(observations, states)
        return [a * (0 if o["instruction"].isupper() or len(o["instruction"]) < 3 else 1)
                for a, o in zip(actions, observations)]


class Shaky(GoStraight):
    """Never arrives."""

    def act(self, observations, states):
        return [np.zeros(2) for _ in observations]


@vla.hunt(ReachSuite(), axes=["language", "robot.action_noise"], task="near", partition="calm", episodes=150)
def test_robust(policy, env, episode, perturbation):
    assert vla.rollout(policy, env, episode, perturbation)
'''


@pytest.fixture
def brittle(reach):
    pytest.importorskip("hypothesis")
    reach.makepyfile(test_robust=BRITTLE)
    return reach


def run(project, *arguments, policy="test_robust:HatesCapitals", file="test_robust.py::test_robust"):
    return project.runpytest(file, f"--vla-policy={policy}", "--vla-hunt-seed=0", *arguments)


def lines(project, kind, run="run"):
    records = map(json.loads, (project.path / run / "run.jsonl").read_text().splitlines())
    return [record for record in records if record["type"] == kind]


def test_a_hunt_finds_shrinks_and_says_how_to_see_it_again(brittle):
    result = run(brittle, "--vla-run-dir=run")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "reach/near-calm: * causes of failure in 150 episodes (control: * solved)",
            "  language.case=2: fails in 100% [[]*%, 100%[]] of * scenes, "
            "against 0% [[]0%, *%[]] of * scenes unperturbed  language.case=2 (UPPER)",
        ]
    )
    result.stdout.fnmatch_lines(["    pytest-vla replay run/run.jsonl reach/near-calm-??-language.case=2 --trust"])
    result.stdout.fnmatch_lines(["language.case * fails at 2"])
    result.stdout.fnmatch_lines(["robot.action_noise * robust up to level 8 in * episodes"])
    assert "Traceback" not in result.stdout.str()


def test_every_probe_is_in_the_run_file_and_replays(brittle):
    run(brittle, "--vla-run-dir=run")
    (hunt,) = lines(brittle, "hunt")
    probes = lines(brittle, "probe")
    assert len(probes) == hunt["episodes"] == 150
    assert not lines(brittle, "episode")
    cause = next(cause for cause in hunt["causes"] if cause["perturbation"] == "language.case=2")
    name = f"reach/near-calm-{cause['index']:02d}-language.case=2"
    shown = brittle.run(sys.executable, "-m", "pytest_vla.cli", "show", "run").stdout.str()
    assert "language.case=2: fails in" in shown
    assert "no episode was finished" not in shown
    result = brittle.run(sys.executable, "-m", "pytest_vla.cli", "replay", "run", name, "--trust")
    result.stdout.fnmatch_lines([f"{name} unsolved: step_limit*", "the digest matches: same episode, bit for bit"])


def test_a_robust_policy_passes_and_says_what_was_tested(brittle):
    result = run(brittle, policy="oracle")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "reach/near-calm: no causes of failure in 150 episodes (control: * solved)",
            "  tested: * perturbations of 10 axes, up to 10 off at once*",
        ]
    )


def test_a_find_is_tried_first_the_next_time_and_forgotten_when_it_is_mended(brittle):
    run(brittle, "--vla-run-dir=run")
    first = {cause["perturbation"] for cause in lines(brittle, "hunt")[0]["causes"]}
    assert list((brittle.path / ".vla-hunts").iterdir())
    run(brittle, "--vla-run-dir=two", "--vla-hunt-episodes=60")
    tried = [probe["perturbation"] for probe in lines(brittle, "probe", "two")[10 : 10 + len(first)]]
    assert set(tried) == first
    assert "language.case=2" in {cause["perturbation"] for cause in lines(brittle, "hunt", "two")[0]["causes"]}
    run(brittle, "--vla-run-dir=three", policy="oracle")
    run(brittle, "--vla-run-dir=four", "--vla-hunt-episodes=13", policy="oracle")
    assert lines(brittle, "probe", "four")[10]["perturbation"] not in first


def test_any_benchmark_can_be_hunted(brittle):
    options = ("--vla-axes=language.case", "--vla-hunt-episodes=40", "--vla-task=far", "--vla-run-dir=run")
    result = run(brittle, "--vla-hunt", *options, file="test_reach.py")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=2)
    hunts = lines(brittle, "hunt")
    assert [(h["task"], h["partition"]) for h in hunts] == [("far", "calm"), ("far", "windy")]
    assert all([cause["perturbation"] for cause in h["causes"]] == ["language.case=2"] for h in hunts)


def test_hunts_are_ordinary_items(brittle):
    listed = run(brittle, "--collect-only", "-q", "--vla-hunt", file="test_reach.py")
    listed.stdout.fnmatch_lines(["test_reach.py::test_reach[[]near-calm-hunt[]]"])
    result = run(brittle, "--vla-hunt", "-k", "near and windy", "--vla-hunt-episodes=20", policy="oracle", file=".")
    result.assert_outcomes(passed=1)


def test_workers_share_one_hunt(brittle):
    result = brittle.runpytest(
        *("test_robust.py::test_robust", "--vla-policy=test_robust:HatesCapitals", "-n2", "--vla-run-dir=run"),
        "--vla-hunt-seed=0",
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=1, passed=1)
    (hunt,) = lines(brittle, "hunt")
    assert "language.case=2" in {cause["perturbation"] for cause in hunt["causes"]}
    hands = {probe["nodeid"] for probe in lines(brittle, "probe")}
    assert hands == {f"test_robust.py::test_robust[near-calm-hunt{hand}]" for hand in ("", "-hand1")}
    assert not (brittle.path / "run" / "hunts").exists()


def test_a_hunt_ends_and_is_reported_when_a_worker_dies_in_it(brittle):
    brittle.makeconftest("from pytest_vla.hunt import crew\ncrew.PATIENCE_S = 3")
    brittle.makepyfile(
        test_fatal="""
        import os
        import pytest_vla as vla
        from test_reach import ReachSuite

        @vla.hunt(ReachSuite(), axes="language.case", task="near", partition="calm", episodes=60)
        def test_fatal(policy, env, episode, perturbation):
            if perturbation.level("language.case") == 2:
                os._exit(3)
            assert vla.rollout(policy, env, episode, perturbation)
        """
    )
    result = brittle.runpytest_subprocess(
        "test_fatal.py", "--vla-policy=oracle", "-n2", "--vla-run-dir=run", "--vla-report=page", timeout=100
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["worker 'gw?' crashed while running 'test_fatal.py::test_fatal*-hunt*"])
    assert (brittle.path / "page" / "report.html").exists()


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_long_hunt_says_how_far_it_is(brittle, workers):
    brittle.makeconftest("from pytest_vla.hunt import progress\nprogress.PERIOD_S = 0")
    result = brittle.runpytest_subprocess(
        "test_robust.py::test_robust", "--vla-policy=oracle", "--vla-run-dir=run", "--vla-hunt-episodes=30", *workers
    )
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["hunting in reach/near-calm: 30 of 30 episodes, 0 failed"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vla-axes=langage"], "*unknown axis 'langage'; did you mean 'language'*"),
        (["--vla-axes=camera.yaw"], "*hunt in suite 'reach': axis 'camera.yaw' is not supported here; supported: *"),
    ],
)
def test_axes_that_cannot_be_hunted_are_one_usage_error(brittle, arguments, message):
    result = run(brittle, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


def test_nothing_solved_unperturbed_is_said_in_one_sentence(brittle):
    result = run(brittle, "--vla-hunt-scenes=4", policy="test_robust:Shaky")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["reach/near-calm: nothing to hunt: the policy solved none of 4 episodes unperturbed. Choose a task it can do*"]
    )
    assert "Traceback" not in result.stdout.str()


def test_a_function_that_rolls_nothing_out_is_told_so(brittle):
    brittle.makepyfile(
        test_idle="""
        import pytest_vla as vla
        from test_reach import ReachSuite

        @vla.hunt(ReachSuite(), task="near", partition="calm")
        def test_idle(policy, env, episode, perturbation):
            pass
        """
    )
    result = run(brittle, policy="oracle", file="test_idle.py::test_idle")
    result.stdout.fnmatch_lines(["*a hunt's function must call vla.rollout"])


def test_strategies_serve_property_tests_of_ones_own(brittle):
    brittle.makepyfile(
        test_property="""
        from hypothesis import given

        import pytest_vla as vla
        from pytest_vla.hunt.strategies import profile
        from test_reach import ReachSuite

        @profile()
        @given(perturbation=vla.perturbations(["language.case", "robot.action_noise"]))
        @vla.benchmark(ReachSuite(), task="near", partition="calm", episodes=1)
        def test_property(policy, env, episode, perturbation):
            assert vla.rollout(policy, env, episode, perturbation)
        """
    )
    result = run(brittle, "--vla-run-dir=run", file="test_property.py::test_property")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    *_, episode = lines(brittle, "episode")
    assert (episode["perturbation"], episode["outcome"]) == ("language.case=2", "unsolved"), "Hypothesis shrank it"


def test_an_assertion_of_the_function_itself_fails_a_probe(brittle):
    brittle.makepyfile(
        test_quick="""
        import pytest_vla as vla
        from test_reach import ReachSuite

        @vla.hunt(ReachSuite(), axes="robot.delay", task="near", partition="calm", episodes=60)
        def test_quick(policy, env, episode, perturbation):
            result = vla.rollout(policy, env, episode, perturbation)
            assert result.steps <= 3
        """
    )
    result = run(brittle, "--vla-run-dir=run", policy="oracle", file="test_quick.py::test_quick")
    result.stdout.fnmatch_lines(["  robot.delay=*: fails *"])
    objections = [line for line in lines(brittle, "probe") if line["test"] == "failed" and line["outcome"] == "solved"]
    assert objections
    assert all("assert 4 <= 3" in line["objection"] for line in objections if line["steps"] == 4)


def test_the_run_file_names_the_probe_that_was_asked_for_also_where_the_function_played_another(brittle):
    brittle.makepyfile(
        test_other="""
        from dataclasses import replace

        import pytest_vla as vla
        from test_reach import ReachSuite

        @vla.hunt(ReachSuite(), axes="robot.delay", task="near", partition="calm", episodes=15)
        def test_other(policy, env, episode, perturbation):
            assert vla.rollout(policy, env, replace(episode, perturbation=""))
        """
    )
    assert run(brittle, "--vla-run-dir=run", policy="oracle", file="test_other.py").ret == pytest.ExitCode.OK
    records = list(read_run(brittle.path / "run").probes())
    assert {record.key.perturbation for record in records} == {""}
    assert all(record.planned.perturbation for record in records[10:])


def test_one_task_is_hunted_by_one_function(brittle):
    result = run(brittle, "--vla-hunt", "--vla-task=near", "--vla-partition=calm", file=".")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = "reach/near-calm is hunted twice: by test_reach.py::test_reach and by test_robust.py::test_robust"
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_the_parameter_of_hunts_is_none_of_a_benchmarks(brittle):
    brittle.makeconftest(
        """
        def pytest_collection_modifyitems(items):
            for item in items:
                print(item.name, *item.callspec.params)
        """
    )
    result = run(brittle, "--collect-only", "-s", "--vla-task=near", "--vla-partition=calm", file=".")
    result.stdout.fnmatch_lines(["test_reach[[]near-calm-00[]] episode", "test_robust[[]near-calm-hunt[]] hunt"])
