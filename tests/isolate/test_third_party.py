"""A package of somebody else brings a suite and its environment by entry points; whole runs of it."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from points import declare, pretend_installed

from pytest_vla.isolate.environment import read_declaration

HERE = Path(__file__).parent
TEST = """
import pytest_vla as vla

@vla.benchmark("points")
def test_points(policy, env, episode):
    assert vla.rollout(policy, env, episode)
"""


@pytest.fixture
def somebody(numpy_stays, pytester, tmp_path, monkeypatch):
    """The installed package `somebody` with the suite `points`; its environment is not installed yet."""
    site = tmp_path / "site"
    package = declare(site / "somebody")
    shutil.copy(HERE / "world.py", package)
    source = (HERE / "points.py").read_text()
    (package / "__init__.py").write_text(
        source.replace(
            'name = "points"\n', 'name = "points"\n    test_file = Path(__file__).parent / "test_points.py"\n'
        )
    )
    (package / "test_points.py").write_text(TEST)
    (package / "test_many.py").write_text(TEST.replace("points", "many"))
    (package / "test_parts.py").write_text(TEST.replace("points", "parts"))
    declare(package / "others")
    (package / "others" / "__init__.py").touch()
    metadata = site / "somebody-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[pytest_vla.environments]\npoints = somebody\nothers = somebody.others\n"
        "[pytest_vla.suites]\npoints = somebody:PointsSuite\n"
        "many = somebody:ManyPointsSuite\nparts = somebody:PartsSuite\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("PYTEST_VLA_ENVS", str(pytester.path / "envs"))
    return package


def install(package: Path, pytester: pytest.Pytester) -> None:
    pretend_installed(pytester.path / "envs", "points", read_declaration("points", package).fingerprint)


def test_without_its_environment_it_is_one_skip_with_the_command(somebody, pytester):
    result = pytester.runpytest_subprocess("--vla-suite=points", "--vla-policy=oracle", "--vla-episodes=1", "-rs")
    result.stdout.fnmatch_lines(["*suite 'points' needs the environment 'points': pytest-vla install points*"])
    result.stdout.fnmatch_lines(["skipped 9: suite 'points' needs *"])
    result.assert_outcomes(skipped=1)


def test_a_part_that_needs_another_environment_is_one_skip_of_its_own(somebody, pytester, read_episodes):
    """The rest of the suite runs; with both environments each task runs in its own."""
    install(somebody, pytester)
    arguments = ["--vla-suite=parts", "--vla-policy=noop", "--vla-episodes=2", "-rs"]
    result = pytester.runpytest_subprocess(*arguments, "--vla-run-dir=one")
    result.stdout.fnmatch_lines(["*a part of suite 'parts' needs the environment 'others': pytest-vla install others*"])
    assert {name.partition("-")[0] for name in read_episodes(pytester.path / "one")} == {"parts/steady", "parts/draws"}
    declared = read_declaration("others", somebody / "others")
    pretend_installed(pytester.path / "envs", "others", declared.fingerprint)
    pytester.runpytest_subprocess(*arguments, "--vla-run-dir=two")
    both = read_episodes(pytester.path / "two")
    assert len(both) == 6
    assert "others-" in both["parts/prints-plain-00"]["made_with"]["environment"]


@pytest.mark.slow
def test_lost_children_cost_their_episodes_and_nothing_else(somebody, pytester, read_episodes):
    install(somebody, pytester)
    arguments = [
        "--vla-suite=points",
        "--vla-policy=noop",
        "--vla-episodes=2",
        "--vla-timeout=10",
        "--vla-env-memory=1.5",
    ]
    pytester.runpytest_subprocess(*arguments, "-n2", "--vla-run-dir=run")
    episodes = read_episodes(pytester.path / "run")
    lost = {name: record["reason"] for name, record in episodes.items() if record["outcome"] == "error"}
    assert lost == {
        "points/crashes-plain-00": "env_error",
        "points/exits-plain-00": "env_error",
        "points/raises-plain-00": "env_error",
        "points/eats-plain-00": "env_error",
        "points/hangs-plain-00": "timeout",
        "points/never_opens-plain-00": "env_error",
        "points/never_opens-plain-01": "env_error",
    }
    assert len(episodes) == 18
    again = pytester.runpytest_subprocess(*arguments, "--vla-run-dir=again", "-p", "no:randomly")
    assert again.ret == 1
    alone = read_episodes(pytester.path / "again")
    assert {name: record["digest"] for name, record in alone.items() if name not in lost} == {
        name: record["digest"] for name, record in episodes.items() if name not in lost
    }


@pytest.mark.slow
def test_data_folders_and_limits_are_in_the_run_file(somebody, pytester):
    install(somebody, pytester)
    arguments = ["--vla-suite=points", "--vla-task=steady", "--vla-policy=oracle", "--vla-episodes=1"]
    given = ["--vla-data=points=here", "--vla-data=other=there", "--vla-env-memory=3"]
    result = pytester.runpytest_subprocess(*arguments, *given, "--vla-run-dir=run")
    assert result.ret == 0
    line = json.loads((pytester.path / "run" / "run.jsonl").read_text().splitlines()[0])
    assert line["options"]["data"] == ["points=here", "other=there"]
    assert line["options"]["env_memory"] == 3
    assert (
        pytester.run(sys.executable, "-m", "pytest_vla.cli", "replay", "run", "points/steady-plain-00", "--trust").ret
        == 0
    )


def test_it_runs_only_when_it_is_named(somebody, pytester):
    lines = pytester.runpytest_subprocess("--vla-policy=oracle", "--collect-only", "-q").stdout.str()
    assert "test_vima" in lines
    assert "test_points" not in lines


def test_a_suite_without_an_oracle_refuses_it(somebody, pytester):
    install(somebody, pytester)
    source = somebody / "__init__.py"
    source.write_text(source.read_text().replace("has_oracle = True", "has_oracle = False"))
    result = pytester.runpytest_subprocess("--vla-suite=points", "--vla-policy=oracle", "--vla-task=steady", "-rs")
    result.stderr.fnmatch_lines(["*suite 'points' has no oracle*"])
    assert result.ret == 4


@pytest.mark.slow
def test_episodes_played_side_by_side_are_the_same_items(somebody, pytester, read_episodes):
    """Selected, resumed, or spread over workers: an episode has its digest whatever it was played with."""
    install(somebody, pytester)
    arguments = ["--vla-suite=many", "--vla-task=steady,raises", "--vla-policy=random", "--vla-keep-actions"]
    runs = {}
    for name, more in {
        "together": ["--vla-episodes=7"],
        "workers": ["--vla-episodes=7", "-n2"],
        "alone": ["--vla-episodes=7", "-k", "plain-03"],
        "resumed": ["--vla-episodes=2"],
    }.items():
        pytester.runpytest_subprocess(*arguments, *more, f"--vla-run-dir={name}")
        runs[name] = read_episodes(pytester.path / name)
    pytester.runpytest_subprocess(
        *arguments, "--vla-episodes=7", "--vla-run-dir=resumed", "--vla-resume", "--vla-keep-errors"
    )
    runs["resumed"] = read_episodes(pytester.path / "resumed")
    facts = {
        name: {key: (r["digest"], r["outcome"], r["steps"], r.get("actions")) for key, r in run.items()}
        for name, run in runs.items()
    }
    assert len(facts["together"]) == 14
    assert facts["together"] == facts["workers"] == facts["resumed"]
    assert len(facts["alone"]) == 2
    assert facts["alone"].items() <= facts["together"].items()
    assert [key for key, r in runs["together"].items() if r["outcome"] == "error"] == ["many/raises-plain-00"]


def test_collecting_starts_no_child_and_needs_no_environment(somebody, pytester):
    result = pytester.runpytest_subprocess("--vla-suite=points", "--vla-policy=oracle", "--collect-only", "-q")
    assert result.ret == 0
    assert not (pytester.path / "envs").exists()
