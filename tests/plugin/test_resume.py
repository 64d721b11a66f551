"""What --vla-resume goes on with, what it keeps, what it runs again; and that nobody else writes meanwhile."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pytest_vla.cli import main
from pytest_vla.run import read_run

FLAKY = """
import pathlib
import pytest
import pytest_vla as vla
import test_reach

@vla.benchmark("reach", task="near", partition="calm", episodes=4)
def test_flaky(policy, env, episode):
    if episode.index % 2 and not pathlib.Path("mended").exists():
        raise OSError("no such machine")
    assert vla.rollout(policy, env, episode)
"""


def lines(folder, kind):
    text = (folder / "run.jsonl").read_text()
    return [line for line in map(json.loads, text.splitlines()) if line["type"] == kind]


# --- two processes ---------------------------------------------------------------------------------------------------


@pytest.fixture
def slow_run(reach):
    """A run that goes on, with an episode done."""
    command = [sys.executable, "-m", "pytest", "--vla-policy=bad:Slow", "--vla-episodes=3", "--vla-run-dir=run"]
    process = subprocess.Popen(command, cwd=reach.path, stdout=subprocess.DEVNULL)
    path, deadline = reach.path / "run" / "run.jsonl", time.monotonic() + 60
    while time.monotonic() < deadline and not (path.exists() and path.read_text().count('"type": "episode"')):
        time.sleep(0.02)
    yield process, command[3:]
    process.kill()
    process.wait()


def test_a_run_that_goes_on_is_not_resumed_by_another_process(reach, slow_run):
    process, arguments = slow_run
    result = reach.runpytest(*arguments, "--vla-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*the run folder 'run' is in use by process {process.pid} on * since 20*"])
    assert read_run(reach.path / "run").damaged == ()


def test_a_run_that_was_killed_can_be_resumed_at_once(reach, slow_run, read_episodes):
    process, arguments = slow_run
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    result = reach.runpytest(*arguments, "--vla-resume")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert len(read_episodes(reach.path / "run")) == 12
    assert [path.name for path in (reach.path / "run").iterdir()] == ["run.jsonl"]


# --- which run -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
@pytest.mark.parametrize(
    "mistyped",
    [["--vla-task=nera"], ["-k", "nothing"], ["--vla-axes=nothing", "--vla-hunt"]],
    ids=["task", "k", "axes"],
)
def test_a_mistyped_command_leaves_no_folder(reach, mistyped, workers):
    reach.makepyprojecttoml("[tool.pytest_vla.gate.success]\nreach = 0.5")
    early = [] if "--vla-hunt" in mistyped else ["--vla-early-stop"]  # it leaves notes beside the run file
    result = reach.runpytest("--vla-policy=oracle", *early, *mistyped, *workers)
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)
    assert not (reach.path / "vla-runs").exists()


def test_a_mistyped_command_leaves_the_folder_of_others_alone(reach):
    (reach.path / "mine").mkdir()
    (reach.path / "mine" / "notes.txt").write_text("mine")
    reach.runpytest("--vla-policy=oracle", "--vla-task=nera", "--vla-run-dir=mine")
    assert [path.name for path in (reach.path / "mine").iterdir()] == ["notes.txt"]


def test_a_run_without_episodes_is_never_resumed(reach, read_episodes):
    reach.runpytest("--vla-policy=oracle", "--vla-episodes=1")
    (run,) = reach.path.glob("vla-runs/*")
    for name, kept in (("9998-empty", 0), ("9999-planned", 2)):
        (reach.path / "vla-runs" / name).mkdir()
        text = (run / "run.jsonl").read_text().splitlines(keepends=True)
        (reach.path / "vla-runs" / name / "run.jsonl").write_text("".join(text[:kept]))
    result = reach.runpytest("--vla-policy=oracle", "--vla-episodes=2", "--vla-resume")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines([f"*run vla-runs/{run.name}/run.jsonl, resuming after 4 episodes that it keeps"])
    assert len(read_episodes(run)) == 8


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_errors_are_run_again_and_their_first_record_is_kept(reach, workers, capsys):
    reach.makepyfile(test_flaky=FLAKY)
    options = ["test_flaky.py", "--vla-policy=oracle", "--vla-run-dir=run", *workers]
    assert reach.runpytest(*options).ret == pytest.ExitCode.TESTS_FAILED
    first = (reach.path / "run" / "run.jsonl").read_text()
    (reach.path / "mended").touch()
    result = reach.runpytest(*options, "--vla-resume")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["*resuming after 2 episodes that it keeps, 2 errors are run again", "*4 of 4 episodes solved*"]
    )
    assert (reach.path / "run" / "run.jsonl").read_text().startswith(first), "what was recorded is history"
    assert len(lines(reach.path / "run", "episode")) == 6
    run = read_run(reach.path / "run")
    assert (run.once.tally().solved, run.once.tally().errors, len(run.error_items)) == (4, 0, 0)
    assert main(["show", str(reach.path / "run")]) == 0
    assert "4 of 4 episodes solved" in capsys.readouterr().out


def test_errors_are_kept_where_that_is_asked_for(reach):
    reach.makepyfile(test_flaky=FLAKY)
    options = ["test_flaky.py", "--vla-policy=oracle", "--vla-run-dir=run"]
    reach.runpytest(*options)
    (reach.path / "mended").touch()
    result = reach.runpytest(*options, "--vla-resume", "--vla-keep-errors")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*resuming after 4 episodes that it keeps"])
    assert len(lines(reach.path / "run", "episode")) == 4


def test_a_second_rollout_that_was_an_error_runs_its_item_again(reach):
    reach.makepyfile(
        test_twice="""
        import dataclasses, pathlib
        import pytest_vla as vla
        import test_reach

        @vla.benchmark("reach", task="near", partition="calm", episodes=2)
        def test_twice(policy, env, episode):
            assert vla.rollout(policy, env, episode)
            assert vla.rollout(policy if pathlib.Path("mended").exists() else None, env, episode)
        """
    )
    options = ["test_twice.py", "--vla-policy=oracle", "--vla-run-dir=run"]
    assert reach.runpytest(*options).ret == pytest.ExitCode.TESTS_FAILED
    (reach.path / "mended").touch()
    assert reach.runpytest(*options, "--vla-resume").ret == pytest.ExitCode.OK
    assert read_run(reach.path / "run").table.tally().errors == 0


@pytest.mark.parametrize(
    ("trouble", "verdict"),
    [("raise OSError('no such machine')", 0), ("policy = None", 6)],
    ids=["of the machine", "of the policy"],
)
def test_a_gate_that_stops_early_takes_another_try_but_forgets_no_fault_of_the_policy(reach, trouble, verdict):
    reach.makepyprojecttoml("[tool.pytest_vla.gate.success]\nreach = [0.4, 0.9]")
    reach.makepyfile(test_flaky=FLAKY.replace('raise OSError("no such machine")', trouble).replace("=4", "=8"))
    options = ["test_flaky.py", "--vla-policy=oracle", "--vla-run-dir=run", "--vla-early-stop", "--vla-max-errors=8"]
    reach.runpytest(*options)
    (reach.path / "mended").touch()
    result = reach.runpytest(*options, "--vla-resume")
    assert read_run(reach.path / "run").table.tally().errors < 4
    assert result.ret == verdict
