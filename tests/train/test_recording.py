"""`pytest-vla record` and --vla-record, end to end on a real suite."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pytest_vla.cli import main
from pytest_vla.train.dataset import read_dataset

pytest.importorskip("pybullet")


def record(out: Path, *more: str) -> int:
    return main(["record", "--vla-suite=vima", "--partition=train", "--task=rotate,twist", f"--out={out}", *more])


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "run" not in path.parts
    }


@pytest.mark.slow
def test_the_same_dataset_at_any_number_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert record(tmp_path / "one", "--episodes=2", "--cameras=top") == 0
    assert record(tmp_path / "two", "--episodes=2", "--cameras=top", "-n", "2") == 0
    assert files(tmp_path / "one") == files(tmp_path / "two")
    read = list(read_dataset(tmp_path / "one"))
    assert [(d.task, d.partition, d.index) for d in read] == [
        *(("rotate", "train", 100_000 + i) for i in range(2)),
        *(("twist", "train", 100_000 + i) for i in range(2)),
    ]
    assert list(read[0].images) == ["top"]
    assert read[0].images["top"].shape == (len(read[0]), 128, 256, 3)
    assert read[0].instruction.startswith("Rotate the {dragged_obj}")
    assert set(read[0].prompt["assets"]) == {"dragged_obj"}


def test_only_solved_episodes_are_kept(pytester: pytest.Pytester) -> None:
    options = ["--vla-suite=vima", "--vla-task=rotate", "--vla-partition=train", "--vla-episodes=1"]
    result = pytester.runpytest_subprocess(*options, "--vla-policy=noop", "--vla-record=demos")
    result.stdout.fnmatch_lines(["no episode was solved*"])
    assert not (pytester.path / "demos" / "meta").exists()


def test_benchmarks_that_lie_around_are_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_mine.py").write_text(
        "import pytest_vla as vla\n\n\n@vla.benchmark('vima')\ndef test_mine(): 1 / 0\n"
    )
    assert record(tmp_path / "demos", "--episodes=1") == 0
    assert len(list(read_dataset(tmp_path / "demos"))) == 2


def test_recorded_actions_solve_the_episode_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_vla.registry import get_suite

    monkeypatch.chdir(tmp_path)
    assert record(tmp_path / "demos", "--episodes=1") == 0
    suite = get_suite("vima")
    for demonstration in read_dataset(tmp_path / "demos"):
        env = suite.make_env(demonstration.task)
        env.reset(options={"episode": suite.episode(demonstration.task, "train", demonstration.index)})
        for action in demonstration.action:
            names = ("pose0_position", "pose0_rotation", "pose1_position", "pose1_rotation")
            *_, info = env.step(dict(zip(names, np.split(action, [2, 6, 8]), strict=True)))
        env.close()
        assert info["success"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vla-suite=vima,bomb", "--vla-record=new"], "one suite"),
        (["--vla-suite=vima", "--vla-record=full"], "is not empty"),
    ],
)
def test_what_cannot_be_recorded_is_said_at_once(pytester: pytest.Pytester, options: list[str], message: str) -> None:
    (pytester.path / "full").mkdir()
    (pytester.path / "full" / "old.txt").write_text("mine")
    result = pytester.runpytest_subprocess(*options, "--vla-policy=oracle")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{message}*"])
    assert (pytester.path / "full" / "old.txt").read_text() == "mine"


def test_an_interrupted_recording_keeps_what_it_has(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        ctrl_c="""
        def pytest_runtest_logreport(report):
            if report.when == "call" and "1]" in report.nodeid:
                raise KeyboardInterrupt
        """
    )
    options = ["--vla-suite=vima", "--vla-task=rotate", "--vla-partition=train", "--vla-episodes=3"]
    pytester.runpytest_subprocess(*options, "--vla-policy=oracle", "--vla-record=demos", "-p", "ctrl_c")
    info = json.loads((pytester.path / "demos" / "meta" / "info.json").read_text())
    assert info["total_episodes"] == 2


def test_a_recording_that_was_killed_or_interrupted_goes_on_to_the_same_dataset(reach: pytest.Pytester) -> None:
    reach.makepyfile(
        ends="""
        import os, signal
        def pytest_runtest_logreport(report):
            if report.when == "teardown" and report.nodeid.endswith(os.environ.get("LAST", "never")):
                os.kill(os.getpid(), int(os.environ["BY"]))
        """
    )

    def ended(out: str, *more: str, last: str = "never", by: signal.Signals = signal.SIGKILL) -> int:
        environment = {**os.environ, "LAST": last, "BY": str(int(by))}
        asked = ["--vla-suite=reach", "--vla-episodes=3", "--vla-policy=oracle", f"--vla-record={out}"]
        command = [sys.executable, "-m", "pytest", "test_reach.py", "-p", "ends", *asked, f"--vla-run-dir={out}/run"]
        return subprocess.run([*command, *more], cwd=reach.path, env=environment, capture_output=True).returncode

    assert ended("whole") == 0
    assert ended("demos", last="[near-calm-02]") == -signal.SIGKILL
    assert ended("demos", last="[near-calm-02]") == 4  # nobody said that it shall go on
    assert ended("demos", "--vla-resume", last="[far-calm-01]", by=signal.SIGINT) == 2
    assert len(list(read_dataset(reach.path / "demos"))) < 12
    assert ended("demos", "--vla-resume", "-n2") == 0
    assert files(reach.path / "demos") == files(reach.path / "whole")


def test_perturbed_episodes_and_repeats_are_kept_apart(pytester: pytest.Pytester) -> None:
    options = ["--vla-suite=vima", "--vla-task=rotate", "--vla-partition=train", "--vla-episodes=2", "--vla-repeat=2"]
    perturbed = "--vla-perturb=light.brightness=8"
    result = pytester.runpytest_subprocess(*options, perturbed, "--vla-policy=oracle", "--vla-record=demos", "-n", "2")
    assert result.ret == 0
    read = list(read_dataset(pytester.path / "demos"))
    assert [(d.index, d.perturbation, d.repeat) for d in read] == [
        (index, perturbation, repeat)
        for index in range(2)
        for perturbation in ("", "light.brightness=8")
        for repeat in range(2)
    ]
    plain, dark = (read[place].images["top"].mean() for place in (0, 2))
    assert dark < plain


def test_rollouts_that_nobody_asked_for_are_not_recorded(reach: pytest.Pytester) -> None:
    with (reach.path / "test_reach.py").open("a") as file:
        file.write(
            """

from pytest_vla.testing import check_suite

def test_contract():
    check_suite(vla.get_suite("reach"))

@vla.benchmark("reach", task="far")
def test_looks_around_first(policy, env, episode):
    from dataclasses import replace
    assert vla.rollout(policy, env, replace(episode, index=7))
    assert vla.rollout(policy, env, episode)
"""
        )
    asked = ["--vla-suite=reach", "--vla-partition=calm", "--vla-first-episode=100", "--vla-episodes=2"]
    named = ["test_reach.py", "--deselect=test_reach.py::test_reach[far-calm-100]"]
    named += ["--deselect=test_reach.py::test_reach[far-calm-101]"]
    result = reach.runpytest_subprocess(*named, *asked, "--vla-policy=oracle", "--vla-record=demos")
    result.assert_outcomes(passed=5, deselected=2)
    read = [(d.task, d.index) for d in read_dataset(reach.path / "demos")]
    assert read == [("near", 100), ("near", 101), ("far", 100), ("far", 101)]
