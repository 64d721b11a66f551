"""A run is the same at any -n and in any order, survives being killed, and can be read, resumed and merged."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pytest_vla.cli import main

MEASURED = ("outcome", "reason", "steps", "progress", "digest", "initial_digest", "instruction")


def measured(episodes):
    return {key: tuple(record[name] for name in MEASURED) for key, record in episodes.items()}


def test_the_same_command_gives_the_same_results_at_any_n_and_in_any_order(reach, read_episodes):
    arguments = ["--vla-policy=random", "--vla-episodes=5"]
    variants = {
        "alone": [],
        "one": ["-n1"],
        "two": ["-n2"],
        "load": ["-n2", "--dist=load"],
        "reversed": ["-p", "backwards"],
    }
    reach.makepyfile(backwards="def pytest_collection_modifyitems(items): items.reverse()")
    reach.syspathinsert()
    for name, extra in variants.items():
        reach.runpytest(*arguments, f"--vla-run-dir={name}", *extra)
    runs = {name: measured(read_episodes(reach.path / name)) for name in variants}
    assert len(runs["alone"]) == 20
    assert all(digest for *_, digest, _, _ in runs["alone"].values())
    for name in variants:
        assert runs[name] == runs["alone"], name


def test_episodes_of_a_task_start_from_different_states(reach, read_episodes):
    reach.runpytest("--vla-policy=noop", "--vla-run-dir=run")
    episodes = read_episodes(reach.path / "run").values()
    assert len({r["initial_digest"] for r in episodes}) == len(episodes)


def test_a_killed_worker_costs_its_one_episode(reach, read_episodes):
    reach.makeconftest(
        """
        import os, signal
        def pytest_runtest_call(item):
            if "near-calm-01" in item.nodeid:
                os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    result = reach.runpytest_subprocess(
        "--vla-policy=noop", "--vla-task=near", "--vla-partition=calm", "--vla-episodes=6", "-n2", "--vla-run-dir=run"
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    episodes = read_episodes(reach.path / "run")
    assert len(episodes) == 6
    lost = episodes.pop("reach/near-calm-01")
    assert (lost["outcome"], lost["reason"]) == ("error", "worker_lost")
    assert {r["outcome"] for r in episodes.values()} == {"unsolved"}
    result.stdout.fnmatch_lines(["*errors: 1 worker_lost*"])


@pytest.mark.parametrize("moment", ["teardown", "logfinish"])
def test_a_worker_that_dies_after_its_episode_was_measured_leaves_it_measured_once(reach, moment, monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # its controller is not to take itself for a worker
    argument, nodeid = {"teardown": ("item", "item.nodeid"), "logfinish": ("nodeid", "nodeid")}[moment]
    reach.makeconftest(
        f"""
        import os, signal, time
        def pytest_runtest_{moment}({argument}):
            here = "near-calm-01" in {nodeid} and "PYTEST_XDIST_WORKER" in os.environ
            if here and not os.path.exists("died"):
                time.sleep(0.5)  # what was sent is on its way
                open("died", "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    command = ["--vla-policy=oracle", "--vla-task=near", "--vla-partition=calm", "--vla-episodes=6", "-n2"]
    result = reach.runpytest_subprocess(*command, "--vla-run-dir=run")
    assert (reach.path / "died").exists()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*near-calm-01* was measured: its result stays*"])
    reach.runpytest_subprocess(*command, "--vla-run-dir=run", "--vla-resume")
    lines = map(json.loads, (reach.path / "run" / "run.jsonl").read_text().splitlines())
    records = [(line["index"], line["outcome"]) for line in lines if line["type"] == "episode"]
    assert sorted(records) == [(index, "solved") for index in range(6)]


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "n2"])
def test_a_killed_run_resumes_without_redoing_episodes(reach, read_episodes, workers):
    command = [
        sys.executable, "-m", "pytest", "--vla-policy=bad:Slow", "--vla-episodes=3", "--vla-run-dir=run", *workers,
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=reach.path, stdout=subprocess.DEVNULL, start_new_session=True)
    path = reach.path / "run" / "run.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (path.exists() and path.read_text().count('"episode"') >= 4):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with path.open("a") as handle:
        handle.write('{"type": "episode", "suite": "rea')  # what a kill in the middle of a write leaves behind
    before = path.read_text().splitlines()[:-1]
    finished = sum('"type": "episode"' in line for line in before)
    assert 4 <= finished < 12

    result = reach.runpytest_subprocess(*command[3:], "--vla-resume")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert path.read_text().splitlines()[: len(before)] == before, "nothing finished is touched"
    assert len(read_episodes(reach.path / "run")) == 12
    result.stdout.fnmatch_lines([f"*resuming after {finished} episodes*", "*0 of 12 episodes solved*"])

    again = reach.runpytest_subprocess(*command[3:], "--vla-resume")
    assert again.ret == pytest.ExitCode.TESTS_FAILED, "resuming a complete run repeats its verdict"
    assert len(read_episodes(reach.path / "run")) == 12


def test_resuming_without_a_folder_takes_the_newest_run(reach, read_episodes):
    reach.runpytest("--vla-policy=oracle", "--vla-episodes=1")
    result = reach.runpytest("--vla-policy=oracle", "--vla-episodes=2", "--vla-resume")
    assert result.ret == pytest.ExitCode.OK
    (run,) = reach.path.glob("vla-runs/*")
    assert len(read_episodes(run)) == 8


def test_resuming_with_another_policy_is_refused(reach):
    reach.runpytest("--vla-policy=oracle", "--vla-episodes=1", "--vla-run-dir=run")
    result = reach.runpytest("--vla-policy=noop", "--vla-episodes=2", "--vla-run-dir=run", "--vla-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*cannot resume*made with policy 'oracle'*this is 'noop'*"])


def test_ctrl_c_leaves_a_run_that_can_be_shown_and_resumed(reach, read_episodes, capsys):
    command = [sys.executable, "-m", "pytest", "--vla-policy=bad:Slow", "--vla-episodes=3", "--vla-run-dir=run"]
    process = subprocess.Popen(command, cwd=reach.path, stdout=subprocess.PIPE, text=True)
    path = reach.path / "run" / "run.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (path.exists() and path.read_text().count('"episode"') >= 2):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "episodes solved" in output, "the table of what was done is printed"
    assert main(["show", str(path)]) == 0
    assert "incomplete" in capsys.readouterr().out
    assert 2 <= len(read_episodes(path)) < 12


def test_the_run_file_begins_with_its_provenance(reach):
    reach.runpytest("--vla-policy=oracle", "--vla-episodes=1", "--vla-run-dir=run")
    lines = [json.loads(line) for line in (reach.path / "run" / "run.jsonl").read_text().splitlines()]
    first = lines[0]
    assert first["type"] == "run"
    assert first["policy"]["text"] == "oracle"
    assert first["options"]["episodes"] == 1
    assert {"python", "platform", "packages", "command", "created", "commit"} <= set(first)
    required = {"suite", "task", "partition", "index", "perturbation"}
    required |= {"outcome", "reason", "steps", "progress", "digest", "seconds"}
    assert all(required <= set(line) for line in lines if line["type"] == "episode")
    assert (lines[-1]["type"], lines[-1]["episodes"]) == ("end", 4)


def test_numpy_values_in_a_result_do_not_end_the_run(reach, read_episodes):
    reach.makepyfile(
        test_numpy="""
        import numpy as np
        import pytest_vla as vla
        from test_reach import ReachSuite

        class Numpy(ReachSuite):
            name = "numpy_values"
            def progress(self, env):
                return np.float64(0.5)

        @vla.benchmark(Numpy(), task="near", partition="calm", episodes=2)
        def test_numpy(policy, env, episode):
            assert vla.rollout(policy, env, episode)
        """
    )
    result = reach.runpytest("test_numpy.py", "--vla-policy=oracle", "-n1", "--vla-run-dir=run")
    assert result.ret == pytest.ExitCode.OK
    assert [r["progress"] for r in read_episodes(reach.path / "run").values()] == [0.5, 0.5]


def test_a_replayed_episode_has_the_same_digest(reach, capsys):
    reach.runpytest("--vla-policy=random", "--vla-episodes=1", "--vla-run-dir=run")
    for name in ("test_reach.py::test_reach[near-calm-00]", "reach/near-calm-00", "near-calm-00"):
        assert main(["replay", "run", name, "--trust"]) == 0
        assert "the digest matches" in capsys.readouterr().out


def test_a_replay_that_comes_out_differently_says_so(reach, capsys):
    reach.runpytest("--vla-policy=random", "--vla-episodes=1", "--vla-run-dir=run")
    assert main(["replay", "run", "near-calm-00", "--policy=noop", "--trust"]) == 1
    output = capsys.readouterr().out
    assert "the digest DIFFERS" in output
    assert "the policy is not the one of the run" in output


def test_a_replay_of_an_unknown_episode_suggests_the_nearest(reach, capsys):
    reach.runpytest("--vla-policy=oracle", "--vla-episodes=1", "--vla-run-dir=run")
    assert main(["replay", "run", "reach/near-calm-01"]) == 4
    assert "did you mean 'reach/near-calm-00'" in capsys.readouterr().err


def test_merged_shards_hold_every_episode_once(reach, read_episodes, capsys):
    reach.runpytest("--vla-policy=oracle", "--vla-episodes=2", "--vla-run-dir=a")
    reach.runpytest("--vla-policy=oracle", "--vla-first-episode=1", "--vla-episodes=2", "--vla-run-dir=b")
    assert main(["merge", "a", "b", "-o", "both"]) == 0
    merged = read_episodes(reach.path / "both")
    assert sorted({r["index"] for r in merged.values()}) == [0, 1, 2]
    assert len(merged) == 12
    reach.runpytest("--vla-policy=noop", "--vla-episodes=1", "--vla-run-dir=c")
    assert main(["merge", "a", "c", "-o", "never"]) == 4
    assert "different policies" in capsys.readouterr().err


def test_a_damaged_line_is_reported_with_its_number_and_the_rest_is_shown(reach, capsys):
    reach.runpytest("--vla-policy=oracle", "--vla-episodes=1", "--vla-run-dir=run")
    path = reach.path / "run" / "run.jsonl"
    lines = path.read_text().splitlines()
    lines[3] = lines[3][:40]
    path.write_text("\n".join(lines) + "\n")
    assert main(["show", "run"]) == 0
    output = capsys.readouterr().out
    assert "line 4 is damaged" in output
    assert "3 of 3 episodes solved" in output


def test_what_is_not_a_run_file_is_refused_in_one_line(tmp_path, capsys):
    (tmp_path / "run.jsonl").write_text("hello\n")
    assert main(["show", str(tmp_path)]) == 4
    assert "is not a run file" in capsys.readouterr().err
    assert main(["show", str(tmp_path / "nothing")]) == 4
    assert "cannot read the run file" in capsys.readouterr().err


@pytest.mark.parametrize("resume", [[], ["--vla-resume"]], ids=["again", "resume"])
def test_an_empty_file_after_a_full_disk_can_be_begun_again(reach, read_episodes, resume):
    (reach.path / "run").mkdir()
    (reach.path / "run" / "run.jsonl").write_text("")
    result = reach.runpytest("--vla-policy=oracle", "--vla-episodes=1", "--vla-run-dir=run", *resume)
    assert result.ret == pytest.ExitCode.OK
    assert len(read_episodes(reach.path / "run")) == 4
