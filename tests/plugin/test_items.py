"""Benchmark items are ordinary pytest items."""

import re

import pytest


def outcomes(result):
    """The counts of the last line, warnings (of in-process runs) aside."""
    return {name: count for name, count in result.parseoutcomes().items() if name not in ("warning", "warnings")}


def ids(result):
    return re.findall(r"\[(\w+-\w+-\d+)\]", result.stdout.str())


def test_one_item_per_task_partition_and_episode(reach):
    result = reach.runpytest("--collect-only", "-q", "--vla-policy=oracle", "--vla-episodes=2")
    cells = [f"{task}-{partition}" for task in ("near", "far") for partition in ("calm", "windy")]
    assert ids(result) == [f"{cell}-{index}" for cell in cells for index in ("00", "01")]
    assert not list(reach.path.glob("vla-runs/*")), "collecting makes no run"


def test_an_episode_keeps_its_node_id_however_many_are_run(reach):
    result = reach.runpytest(
        "--collect-only", "-q", "--vla-policy=oracle", "--vla-task=far", "--vla-first-episode=99", "--vla-episodes=2"
    )
    assert ids(result) == ["far-calm-99", "far-calm-100", "far-windy-99", "far-windy-100"]


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["-k", "near and windy"], 10),
        (["-m", "vla"], 40),
        (["-m", "not vla"], 0),
        (["--vla-task=near"], 20),
        (["--vla-partition=windy,calm"], 40),
        (["--vla-task=near", "--vla-task=far", "--vla-partition=calm", "--vla-episodes=3"], 6),
        (["--vla-episodes=0"], 0),
        (["--vla-suite=reach", "test_reach.py"], 40),
    ],
)
def test_items_can_be_selected(reach, arguments, count):
    result = reach.runpytest("--collect-only", "-q", "--vla-policy=oracle", *arguments)
    assert len(ids(result)) == count


def test_solved_episodes_pass_and_the_exit_code_is_zero(reach):
    result = reach.runpytest("--vla-policy=oracle", "--vla-episodes=3")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*12 of 12 episodes solved, 0 errors*", "*12 passed*"])


def test_unsolved_episodes_are_their_own_category_and_the_exit_code_is_one(reach, read_episodes):
    result = reach.runpytest("--vla-policy=noop", "--vla-episodes=1", "--vla-run-dir=run")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert outcomes(result) == {"unsolved": 4}
    assert {r["outcome"] for r in read_episodes(reach.path / "run").values()} == {"unsolved"}
    assert {r["reason"] for r in read_episodes(reach.path / "run").values()} == {"step_limit"}
    assert "Traceback" not in result.stdout.str()


def test_the_first_unsolved_episode_stops_the_run_with_x(reach):
    result = reach.runpytest("--vla-policy=noop", "-x")
    assert outcomes(result) == {"unsolved": 1}


def test_last_failed_runs_the_unsolved_episodes_again(reach):
    first = reach.runpytest("--vla-policy=random", "--vla-episodes=10")
    unsolved = outcomes(first)["unsolved"]
    assert 0 < unsolved < 40
    second = reach.runpytest("--vla-policy=random", "--vla-episodes=10", "--lf")
    assert outcomes(second) == {"unsolved": unsolved, "deselected": 40 - unsolved}


def test_verbose_output_has_one_line_per_episode(reach):
    result = reach.runpytest("--vla-policy=noop", "--vla-episodes=1", "-v")
    result.stdout.fnmatch_lines(["test_reach.py::test_reach?near-calm-00? UNSOLVED*"])


def test_a_benchmark_without_a_policy_is_skipped_and_says_what_to_type(reach):
    result = reach.runpytest("-rs")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*no policy: add --vla-policy=*"])


def test_own_benchmark_files_are_found_without_importing_other_tests(reach):
    reach.makepyfile(test_heavy="raise RuntimeError('imported')")
    result = reach.runpytest("--vla-policy=oracle", "--vla-episodes=1")
    assert result.ret == pytest.ExitCode.OK


def test_an_episode_collected_twice_is_refused(reach):
    reach.makepyfile(
        test_again="""
        import pytest_vla as vla
        from test_reach import ReachSuite

        @vla.benchmark(ReachSuite(), task="near")
        def test_again(policy, env, episode):
            assert vla.rollout(policy, env, episode)
        """
    )
    result = reach.runpytest("--vla-policy=oracle", "--vla-episodes=1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*episode reach/near-calm-00 is collected twice*"])


def test_a_test_that_asserts_more_than_success_fails_as_a_test(reach, read_episodes):
    reach.makepyfile(
        test_fast="""
        import pytest_vla as vla
        from test_reach import ReachSuite

        @vla.benchmark(ReachSuite(), task="far", partition="calm", episodes=1)
        def test_fast(policy, env, episode):
            result = vla.rollout(policy, env, episode)
            assert result.steps < 2, "too slow"
        """
    )
    result = reach.runpytest("test_fast.py", "--vla-policy=oracle", "--vla-run-dir=run")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert outcomes(result) == {"failed": 1}
    assert [r["outcome"] for r in read_episodes(reach.path / "run").values()] == ["solved"]


def test_a_benchmark_function_must_take_the_fixtures(reach):
    reach.makepyfile(
        """
        import pytest_vla as vla
        from gymnasium import Env

        class S(vla.Suite):
            name = "s"
            def cells(self): return [("t", "p")]
            def make_env(self, task): return Env()
            def step_limit(self, task): return 1

        @vla.benchmark(S())
        def test_s():
            pass
        """
    )
    result = reach.runpytest("test_a_benchmark_function_must_take_the_fixtures.py", "--vla-policy=noop")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*must take the fixtures policy, env and episode*"])


def test_the_fixtures_without_a_benchmark_say_what_is_missing(pytester):
    pytester.makepyfile("def test_x(env): pass")
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(["*without @vla.benchmark*"])


def test_junit_carries_the_facts_of_the_run_file(reach, read_episodes):
    from xml.etree import ElementTree

    reach.runpytest("--vla-policy=noop", "--vla-episodes=1", "--vla-run-dir=run", "--junitxml=out.xml", "-n1")
    cases = ElementTree.parse(reach.path / "out.xml").iter("testcase")
    found = {case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")} for case in cases}
    record = read_episodes(reach.path / "run")["reach/near-calm-00"]
    facts = found["test_reach[near-calm-00]"]
    assert facts["vla.outcome"] == "unsolved"
    assert facts["vla.reason"] == "step_limit"
    assert facts["vla.digest"] == record["digest"]
    assert facts["vla.steps"] == "10"
