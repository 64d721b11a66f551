"""What a machine lacks is one line before the first episode, and which part belongs to which Python is declared."""

import re
import socket
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pytest_vla.cli import main

REPOSITORY = Path(__file__).parents[2]
USAGE = pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_a_hunt_without_hypothesis_is_one_line_that_says_what_to_install(reach, workers):
    reach.makeconftest("import sys\nsys.modules['hypothesis'] = None\n")
    result = reach.runpytest_subprocess(
        "test_reach.py", "--vla-policy=oracle", "--vla-hunt", "--vla-run-dir=run", *workers
    )
    assert result.ret == USAGE
    said = result.stdout.str() + result.stderr.str()
    assert said.count('hunts need Hypothesis: pip install "pytest-vla[hunt]"') == 1
    assert not (reach.path / "run" / "run.jsonl").exists()


def test_an_endpoint_that_nobody_serves_is_one_line_before_the_first_episode(reach):
    with socket.socket() as taken:  # bound and not listening: nobody answers there
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        result = reach.runpytest("test_reach.py", f"--vla-policy={address}?model=small", "--vla-run-dir=run")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([f"ERROR: nothing answers at {address}: *"])
    assert not (reach.path / "run").exists()


@pytest.mark.parametrize(
    ("python", "wheels"),
    [("3.11", ["pybullet"]), ("3.12", ["pybullet-arm64"]), ("3.13", ["pybullet-arm64"]), ("3.14", [])],
)
def test_each_python_gets_the_build_of_pybullet_that_has_a_wheel(python, wheels):
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]["bullet"]
    asked = [Requirement(text) for text in declared if text.startswith("pybullet")]
    here = {"python_version": python, "python_full_version": f"{python}.0"}
    assert [each.name for each in asked if each.marker.evaluate(here)] == wheels


def test_without_pybullet_vima_is_one_skip_that_says_what_to_install(reach):
    reach.makeconftest("import sys\nsys.modules['pybullet'] = None\n")
    result = reach.runpytest_subprocess("--vla-suite=vima", "--vla-policy=oracle", "--vla-episodes=1")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    said = [line for line in result.outlines if "vima" in line and "pip install" in line]
    assert len(said) == 1, result.outlines


def test_tune_without_pybullet_is_one_line_that_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pybullet", None)
    policy = REPOSITORY / "fixtures" / "policies" / "vima_cross.pt"
    assert main(["tune", str(policy), "--vla-suite=vima"]) == USAGE
    (said,) = capsys.readouterr().err.splitlines()
    assert "suite 'vima' needs pybullet: pip install" in said


def test_a_snapshot_without_syrupy_is_one_line_that_says_what_to_install(reach):
    reach.makeconftest("import sys\nsys.modules['syrupy'] = None\n")
    reach.makepyfile("from pytest_vla.gate.snapshots import success_table\n\ndef test_rates(vla_baseline): ...\n")
    result = reach.runpytest_subprocess("-rN", "--no-header")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert result.outlines.count('snapshots need syrupy: pip install "pytest-vla[gate]"') == 1
    assert "Traceback" not in result.stdout.str()


UNSOLVED = """
import pytest_vla as vla
from test_reach import ReachEnv, ReachSuite

class Tilting(ReachEnv):
    def step(self, action):
        observation, reward, _, truncated, _ = super().step(action)
        said = {"failure": "invalid_action", "message": "tilts the tool by 97 degrees"}
        return observation, reward, True, truncated, said

class TiltingSuite(ReachSuite):
    name = "tilting"

    def make_env(self, task):
        return Tilting()

@vla.benchmark(TiltingSuite(), task="near", partition="calm", episodes=5)
def test_tilting(policy, env, episode):
    assert vla.rollout(policy, env, episode)
"""


def test_what_unsolved_episodes_say_alike_is_said_once_with_a_count(reach):
    reach.makepyfile(test_tilting=UNSOLVED)
    result = reach.runpytest("test_tilting.py", "--vla-policy=noop")
    assert len(re.findall(r"5 x .*tilts the tool by \d+ degrees", result.stdout.str())) == 1
