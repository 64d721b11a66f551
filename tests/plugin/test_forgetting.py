"""What was written is let go of, and pytest's own reports say what they said."""

import ast
import re
import xml.etree.ElementTree as ET

import pytest

OPTIONS = ["test_reach.py", "--vla-policy=random", "--vla-episodes=3", "--vla-task=near"]


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "workers"])
def test_counts_durations_and_junit_are_as_before(reach, workers):
    result = reach.runpytest(*OPTIONS, *workers, "-rA", "--durations=0", "-vv", "--junitxml=junit.xml")
    shown = result.stdout.str()
    counts = re.findall(r"(\d+) (passed|unsolved)", shown.splitlines()[-1])
    assert sum(int(number) for number, _ in counts) == 6
    assert len(re.findall(r"s setup +test_reach\.py::test_reach\[near", shown)) == 6
    assert len(re.findall(r"s teardown +test_reach\.py::test_reach\[near", shown)) == 6
    cases = ET.parse(reach.path / "junit.xml").getroot().iter("testcase")
    properties = [{p.get("name"): p.get("value") for p in case.iter("property")} for case in cases]
    assert [each["vla.suite"] for each in properties] == ["reach"] * 6
    assert all("vla.outcome" in each and "vla.digest" in each for each in properties)


def test_the_last_failed_are_run_again(reach):
    first = reach.runpytest(*OPTIONS, "--vla-run-dir=a", "-n1")
    again = reach.runpytest(*OPTIONS, "--vla-run-dir=b", "--lf", "-n1")
    unsolved = re.search(r"(\d+) unsolved", first.stdout.str())[1]
    assert f"{unsolved} unsolved" in again.outlines[-1]
    assert "passed" not in again.outlines[-1]


def test_a_session_keeps_little_of_an_episode(reach):
    (reach.path / "conftest.py").write_text(
        "def pytest_sessionfinish(session):\n"
        "    stats = session.config.pluginmanager.get_plugin('terminalreporter').stats\n"
        "    kept = [report for reports in stats.values() for report in reports if hasattr(report, 'when')]\n"
        "    print('KEPT', sorted((report.when, len(report.keywords)) for report in kept if report.passed))\n"
    )
    options = ["test_reach.py", "--vla-policy=oracle", "--vla-episodes=1", "--vla-task=near", "-s"]
    (line,) = [line for line in reach.runpytest(*options).outlines if "KEPT" in line]
    kept = ast.literal_eval(line.partition("KEPT ")[2])
    assert kept == [("call", 0), ("call", 0)]


LISTENING = """
import gc

ended, worker = 0, False


def pytest_configure(config):
    global worker
    worker = hasattr(config, "workerinput")


def pytest_runtest_logfinish():
    global ended
    ended += worker
    if worker and ended in (400, 700):
        gc.collect()
        kept = sum(type(each).__name__ in ("TestReport", "NodeId") for each in gc.get_objects())
        with open("kept.txt", "a") as file:
            print(kept, file=file)
"""


def test_a_worker_keeps_nothing_of_an_episode(reach):
    """But for the items of the block that it is at."""
    reach.makepyfile(listening=LISTENING)
    reach.syspathinsert()
    result = reach.runpytest_subprocess("--vla-policy=oracle", "--vla-episodes=200", "-n1", "-p", "listening", "-q")
    assert result.ret == 0
    early, late = map(int, (reach.path / "kept.txt").read_text().split())
    assert late <= early + 20


def test_the_terminal_of_a_worker_is_there_for_who_asks(pytester):
    """Assertions ask it how to colour what differs."""
    pytester.makepyfile("def test_differs():\n    assert [1, 2, 3] == [1, 2, 4]\n")
    result = pytester.runpytest_subprocess("-n1")
    result.stdout.fnmatch_lines(["*At index 2 diff: 3 != 4*"])
    result.assert_outcomes(failed=1)
