"""Judged runs are the same bits at any -n without being asked, and what is resumed or replayed keeps its mode."""

import json

import pytest

from pytest_vla.options import GateOptions, InferenceOptions, RobustnessOptions, Settings

BATCHED = """
import numpy as np
import pytest_vla as vla


class Company(vla.Policy):
    \"\"\"Its answer depends, in the last bits, on how many rows share a call.\"\"\"

    def act(self, observations, states):
        return [o["state"]["goal"] - o["state"]["at"] + 1e-4 * len(observations) for o in observations]
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Settings(), (False, None)),
        (Settings(gate=GateOptions(gate=True)), (True, "1")),
        (Settings(gate=GateOptions(baseline="x")), (True, "1")),
        (Settings(robustness=RobustnessOptions(hunt=True)), (True, "1")),
        (Settings(gate=GateOptions(gate=True), inference=InferenceOptions(batch="4")), (True, "4")),
        (Settings(gate=GateOptions(gate=True), inference=InferenceOptions(batch="auto")), (False, "auto")),
        (Settings(gate=GateOptions(gate=True), inference=InferenceOptions(no_deterministic=True)), (False, None)),
        (Settings(gate=GateOptions(gate=True), inference=InferenceOptions(deterministic=True)), (True, None)),
    ],
)
def test_what_is_judged_is_deterministic_unless_told_otherwise(given, expected):
    asked = given.with_mode().inference
    assert (asked.deterministic, asked.batch) == expected


@pytest.fixture
def company(reach):
    (reach.path / "company.py").write_text(BATCHED)
    reach.makepyprojecttoml('[tool.pytest_vla.gate.success]\n"reach" = [0.01, 0.5]\n')
    return reach


def digests(run):
    lines = [json.loads(line) for line in (run / "run.jsonl").read_text().splitlines()]
    return {(e["task"], e["partition"], e["index"]): e["digest"] for e in lines if e["type"] == "episode"}


@pytest.mark.slow
def test_a_gated_run_has_the_same_bits_at_any_n_and_replays_as_it_was(company):
    options = ["test_reach.py", "--vla-policy=company:Company", "--vla-episodes=4", "--vla-gate"]
    for name, workers in (("alone", []), ("three", ["-n3"])):
        result = company.runpytest(*options, f"--vla-run-dir={name}", *workers)
        result.stdout.fnmatch_lines(["vla: deterministic, 1 row a call; --vla-no-deterministic batches freely"])
    assert digests(company.path / "alone") == digests(company.path / "three")
    replayed = company.run("pytest-vla", "replay", "three", "reach/far-windy-03", "--trust")
    replayed.stdout.fnmatch_lines(["*same*"])


def test_a_resumed_run_keeps_its_mode(company):
    options = ["test_reach.py", "--vla-policy=company:Company", "--vla-run-dir=run"]
    company.runpytest(*options, "--vla-episodes=1", "--vla-no-deterministic", "--vla-gate")
    resumed = company.runpytest(*options, "--vla-episodes=2", "--vla-resume", "--vla-gate")
    resumed.stdout.fnmatch_lines(["*resuming after 4 episodes*"])
    assert "deterministic, " not in resumed.stdout.str()
    refused = company.runpytest(*options, "--vla-episodes=3", "--vla-resume", "--vla-deterministic")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*deterministic batch none, this is at 8*"])


HUNT = """
import pytest_vla as vla
from test_reach import ReachSuite

@vla.hunt(ReachSuite(), axes=["robot.action_noise"], task="near", partition="calm", episodes=12)
def test_robust(policy, env, episode, perturbation):
    assert vla.rollout(policy, env, episode, perturbation)
"""


@pytest.mark.parametrize("typed", [["test_robust.py"], ["."], ["test_robust.py::test_robust", "-n2"], []])
def test_a_hunt_that_a_file_asks_for_is_deterministic(company, typed):
    pytest.importorskip("hypothesis")
    (company.path / "test_robust.py").write_text(HUNT)
    result = company.runpytest(*typed, "-k", "robust", "--vla-policy=company:Company", "--vla-run-dir=run")
    result.stdout.fnmatch_lines(["vla: deterministic, 1 row a call; --vla-no-deterministic batches freely"])
    start = json.loads((company.path / "run" / "run.jsonl").read_text().splitlines()[0])
    assert (start["options"]["deterministic"], start["policy"]["batch"]) == (True, 1)


def test_a_file_without_hunts_is_batched_freely(company):
    result = company.runpytest("test_reach.py", "--vla-policy=company:Company", "--vla-episodes=1")
    assert "deterministic" not in result.stdout.str()
