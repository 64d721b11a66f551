"""The gate in real sessions with real workers: its exit codes, its table, its early answers, its bad input."""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from gate_records import record

SUITE = Path(__file__).parent / "dice.py"
REACH = Path(__file__).parents[2] / "docs" / "examples" / "test_reach.py"
HALF_A_RUN = "".join(
    json.dumps(line) + "\n" for line in [{"type": "run"}, {"type": "plan", "episodes": 40}, record(0).to_record()]
)
HALF_HEARTED = """
import numpy as np
import pytest_vla as vla

class Straight(vla.Policy):
    spec = vla.PolicySpec(state_keys=("at", "goal"))
    reach = 10.0

    def act(self, observations, states):
        return [self.move(**observation["state"]) for observation in observations]

    def move(self, at, goal):
        return np.clip(goal - at, -0.2, 0.2) if np.linalg.norm(goal) < self.reach else np.zeros(2, np.float32)

class NearOnly(Straight):
    reach = 0.5
"""
PASS, FAIL, USAGE, UNDECIDED = 0, 1, 4, 6
EPISODES = 30
PLAIN = {**os.environ, "PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:syrupy -p no:anyio -p no:cacheprovider"}


class Project:
    """A folder with the suite `dice`, and what a person types in it."""

    def __init__(self, path):
        self.path = path
        path.mkdir(exist_ok=True)
        shutil.copy(SUITE, path / "test_dice.py")
        self.configure()

    def configure(self, table="margin = 0.2"):
        (self.path / "pyproject.toml").write_text(f"[tool.pytest_vla.gate]\n{table}\n")

    def pytest(self, run, *arguments, episodes=EPISODES, **environment):
        options = [f"--vla-episodes={episodes}", f"--vla-run-dir={run}", *arguments]
        if not any(argument.startswith("--vla-policy") for argument in arguments):
            options.append("--vla-policy=oracle")
        return self._run([sys.executable, "-m", "pytest", *options], environment)

    def command(self, *arguments):
        return self._run([sys.executable, "-m", "pytest_vla.cli", *map(str, arguments)], {})

    def _run(self, command, environment):
        env = {**PLAIN, **environment}
        done = subprocess.run(command, cwd=self.path, env=env, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    def episodes(self, run):
        lines = map(json.loads, (self.path / run / "run.jsonl").read_text().splitlines())
        return [line for line in lines if line["type"] == "episode"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project with a baseline run, made once."""
    project = Project(tmp_path_factory.mktemp("made"))
    project.pytest("main", "-n2")
    assert len(project.episodes("main")) == 4 * EPISODES
    return project


@pytest.fixture
def project(made, tmp_path):
    project = Project(tmp_path / "project")
    shutil.copytree(made.path / "main", project.path / "main")
    return project


def verdicts(output):
    """{comparison: verdict} of the table."""
    rows = [line.split() for line in output.splitlines() if line.startswith("dice/") and "above" in line.split()]
    return {row[0]: next(word for word in row if word.strip(",") in ("pass", "fail", "undecided")) for row in rows}


def test_a_policy_worse_on_one_task_fails_and_that_task_is_named(project):
    code, output = project.pytest("new", "-n2", "--vla-baseline=main", SKILL="push:0.4")
    assert code == FAIL
    assert "vla gate: FAIL (exit 1): dice/push/L1, dice/push/L2\n" in output
    answers = verdicts(output)
    assert {name for name, verdict in answers.items() if verdict == "pass"} == {"dice/stack/L1", "dice/stack/L2"}
    assert "paired" in output


def test_an_identical_policy_passes_though_it_leaves_episodes_unsolved(project):
    code, output = project.pytest("new", "--vla-baseline=main", "--junitxml=junit.xml")
    assert code == PASS, output
    assert "unsolved" in output
    assert "FAILURES" not in output
    suite = ET.parse(project.path / "junit.xml").getroot().find("testsuite")
    assert (suite.get("failures"), suite.get("errors"), suite.get("tests")) == ("0", "0", str(4 * EPISODES))


def test_too_few_episodes_are_undecided_and_the_number_missing_is_said(project):
    code, output = project.pytest("new", "--vla-baseline=main", episodes=6)
    assert code == UNDECIDED
    assert "more episodes each would decide" in output
    assert "vla gate: UNDECIDED (exit 6)" in output


def test_thresholds_alone_gate_a_run(project):
    project.configure('[tool.pytest_vla.gate.success]\n"dice/stack" = [0.5, 0.8]\n"dice/push/L1" = [0.95, 0.99]')
    code, output = project.pytest("new", "--vla-gate")
    assert code == FAIL
    assert "vla gate: FAIL (exit 1): dice/push/L1\n" in output
    assert "dice/push/L2 " not in output.split("= vla gate =")[1]


def test_errors_fail_by_their_own_rule_and_never_count_as_unsolved(project):
    code, output = project.pytest("strict", "--vla-baseline=main", CRASH="push:3")
    assert code == FAIL
    assert "2 errors, 0 allowed (--vla-max-errors)" in output
    assert set(verdicts(output).values()) == {"pass"}
    code, output = project.pytest("lenient", "-n2", "--vla-baseline=main", "--vla-max-errors=2", CRASH="push:3")
    assert code == PASS, output
    assert "2 errors are left out of every rate" in output


def test_early_stopping_skips_what_is_decided_and_says_why(project):
    code, output = project.pytest("new", "-n2", "-rs", "--vla-baseline=main", "--vla-early-stop", SKILL="push:0.2")
    assert code == FAIL
    assert "vla gate: FAIL (exit 1): dice/push/L1, dice/push/L2\n" in output
    run = project.episodes("new")
    assert len(run) < 0.8 * 4 * EPISODES
    assert "decided: fail after" in output
    assert "decided: pass after" in output
    assert project.command("gate", "new")[0] == pytest.ExitCode.USAGE_ERROR, (
        "the run file names a file: that is no consent"
    )
    assert project.command("gate", "new", "--trust") == (
        FAIL,
        output.split("= vla gate =")[1].split("\n", 1)[1].split("\n=")[0] + "\n",
    )


@pytest.mark.slow
def test_with_eight_workers_and_slow_failures_the_answer_is_that_of_the_episodes_in_order(project):
    project.configure('[tool.pytest_vla.gate.success]\n"dice" = [0.6, 0.8]')
    arguments = ("--vla-gate", "--vla-task=push")
    in_order = project.pytest("one", "--vla-early-stop", *arguments, SKILL="push:0.6")
    parallel = project.pytest("eight", "-n8", "--vla-early-stop", *arguments, SKILL="push:0.6", SLOW="0.1")
    ends = [
        [row.split()[-3:] for row in output.splitlines() if row.startswith("dice/push") and "threshold" in row]
        for _, output in (in_order, parallel)
    ]
    assert in_order[0] == parallel[0] == FAIL
    assert ends[0] == ends[1]
    assert all(end[:2] == ["fail", "after"] for end in ends[0])


def test_a_budget_goes_to_what_is_undecided(project):
    arguments = ("--vla-baseline=main", "--vla-early-stop", "--vla-max-episodes=80")
    code, output = project.pytest("new", *arguments, SKILL="push:0.8")
    run = project.episodes("new")
    assert len(run) == 80
    assert "80 episodes were run, as many as --vla-max-episodes allows" in output
    counts = {task: sum(r["task"] == task for r in run) for task in ("push", "stack")}
    assert counts["push"] > 40 > counts["stack"], "an equal share would be 40 each"
    assert code == UNDECIDED


def test_repeats_report_the_flip_rate_of_identical_episodes(project):
    _, output = project.pytest("steady", "--vla-repeat=2", episodes=10)
    assert "flip rate: 0 of 40 repeated episodes ended differently" in output
    assert sorted({r["repeat"] for r in project.episodes("steady")}) == [0, 1]
    assert "35 of 40 episodes solved" in output, "a repeat must not count twice in a rate"
    _, output = project.pytest("moody", "--vla-repeat=2", episodes=20, NOISE="1", SKILL="push:0.5,stack:0.5")
    flipped = int(output.split("flip rate: ")[1].split()[0])
    assert 20 <= flipped <= 60


@pytest.mark.parametrize("early", [[], ["--vla-early-stop"]], ids=["fixed", "early-stop"])
def test_two_shards_merged_give_the_verdict_of_one_run(project, early):
    skill = "push:0.4"
    code, whole = project.pytest("whole", "--vla-baseline=main", *early, SKILL=skill)
    for shard in (1, 2):
        project.pytest(f"part{shard}", "--vla-baseline=main", f"--vla-shard={shard}/2", *early, SKILL=skill)
    assert project.command("merge", "part1", "part2", "-o", "union")[0] == 0
    merged_code, merged = project.command("gate", "union", "--baseline=main")
    assert merged_code == code == FAIL
    assert verdicts(merged) == verdicts(whole)
    assert len(verdicts(whole)) == 4
    if not early:
        assert len(project.episodes("part1")) == len(project.episodes("part2")) == 2 * EPISODES


def test_a_resumed_run_repeats_its_verdict(project):
    first = project.pytest("new", "--vla-baseline=main")
    again = project.pytest("new", "--vla-baseline=main", "--vla-resume")
    assert first[0] == again[0] == PASS
    assert len(project.episodes("new")) == 4 * EPISODES


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_a_baseline_of_another_suite_version_is_refused(project, workers):
    code, output = project.pytest("new", "--vla-baseline=main", *workers, episodes=3, SUITE_VERSION="2")
    assert code == USAGE
    assert "made with version 1 of suite 'dice', this run with 2" in output


def test_a_baseline_of_other_scenes_is_compared_unpaired(project):
    project.configure("margin = 0.1")
    code, output = project.pytest("new", "--vla-baseline=main", SCENE="moved")
    assert code == UNDECIDED, "without pairs 30 episodes are not enough for this margin"
    assert "4 comparisons: unpaired, 30 of 30 scenes differ from the baseline's" in output


def test_a_baseline_of_other_episodes_is_compared_unpaired(project):
    _, output = project.pytest("new", "--vla-baseline=main", "--vla-first-episode=25")
    assert "4 comparisons: unpaired, only 5 of 30 episodes are in the baseline" in output


def test_github_gets_a_step_summary_and_annotations(project):
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(project.path / "summary.md")}
    _, output = project.pytest("new", "--vla-baseline=main", SKILL="push:0.4", **environment)
    assert "\n::error title=dice/push/L1::fail" in output
    assert "| dice/push/L1 | paired |" in (project.path / "summary.md").read_text()


def test_a_killed_run_is_not_judged_by_what_happened_to_finish(project):
    (project.path / "half.jsonl").write_text(HALF_A_RUN)
    code, output = project.command("gate", "half.jsonl", "--success=dice=0.5")
    assert code == UNDECIDED
    assert "incomplete: 1 of 40 episodes" in output


def test_compare_shows_the_flips_of_two_runs(project):
    project.pytest("new", SKILL="push:0.4")
    code, output = project.command("compare", "main", "new")
    assert code == 0
    assert "pytest-vla replay new dice/push-L1-" in output
    assert "generalisation gap" in output


def test_a_policy_behind_the_inference_server_is_gated_like_any_other(project):
    (project.path / "test_dice.py").unlink()
    shutil.copy(REACH, project.path)
    (project.path / "half.py").write_text(HALF_HEARTED)
    arguments = ("test_reach.py", "-n2", "--vla-partition=calm")
    assert project.pytest("good", *arguments, "--vla-policy=half:Straight", episodes=20)[0] == PASS
    code, output = project.pytest("bad", *arguments, "--vla-policy=half:NearOnly", "--vla-baseline=good", episodes=20)
    assert code == FAIL
    assert "vla gate: FAIL (exit 1): reach/far/calm\n" in output
    assert '"type": "verdict"' in (project.path / "bad" / "run.jsonl").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "the baseline cannot be used: cannot read the run file 'old.jsonl'"),
        ("", "the baseline cannot be used: 'old.jsonl' is not a run file"),
        ('{"type": "run"}\n', "the baseline 'old.jsonl' is empty: it has no measured episode"),
        ('{"type": "run"}\n{"type": "episode", "sui\n', "the baseline 'old.jsonl' is damaged: 1 of its lines"),
        (HALF_A_RUN, "the baseline 'old.jsonl' was not finished (1 of 40 episodes)"),
    ],
)
@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_a_baseline_that_cannot_be_used_is_one_clear_message(project, content, message, workers):
    if content is not None:
        (project.path / "old.jsonl").write_text(content)
    code, output = project.pytest("new", "--vla-baseline=old.jsonl", *workers)
    assert code == USAGE
    assert message in output
    assert "Traceback" not in output
    assert not (project.path / "new").exists(), "nothing is started"


@pytest.mark.parametrize(
    ("table", "arguments", "message"),
    [
        ("success = 1.5", ["--vla-gate"], "must be a number between 0 and 1, got 1.5"),
        ('success = {"dice/puhs" = 0.8}', ["--vla-gate"], "unknown task 'puhs' in [tool.pytest_vla.gate.success]"),
        ("margin = 0.1", ["--vla-gate"], "nothing to judge by: add --vla-baseline=RUN"),
        ("margn = 0.1", ["--vla-baseline=main"], "unknown option 'margn' in [tool.pytest_vla.gate]"),
        ("", ["--vla-baseline=main", "--vla-shard=3/2"], "--vla-shard must be I/N"),
        ("", ["--vla-baseline=main", "--vla-max-episodes=9"], "add --vla-early-stop"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_bad_rules_are_one_clear_message(project, table, arguments, message, workers):
    project.configure(table)
    code, output = project.pytest("new", *arguments, *workers)
    assert code == USAGE
    assert message in output
    assert "Traceback" not in output


def test_thresholds_for_other_installed_suites_do_not_hinder_a_gate_and_unknown_ones_do(reach):
    rules = '[tool.pytest_vla.gate.success]\n"reach" = 0.5\n"vima/*/novel_task_generalization" = 0.1\n'
    (reach.path / "pyproject.toml").write_text(rules)
    live = reach.runpytest("--vla-policy=oracle", "--vla-episodes=10", "--vla-gate", "--vla-run-dir=run")
    assert live.ret == 0
    assert reach.run("pytest-vla", "gate", "run").ret == 0
    (reach.path / "pyproject.toml").write_text(rules.replace("vima/", "vmia/"))
    refused = reach.runpytest("--vla-policy=oracle", "--vla-episodes=10", "--vla-gate")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert "unknown suite 'vmia'" in refused.stderr.str()


def test_a_baseline_of_another_suite_is_refused_before_the_first_episode(reach):
    text = (reach.path / "test_reach.py").read_text().replace('name = "reach"', 'name = "grasp"')
    (reach.path / "test_grasp.py").write_text(text)
    made = reach.runpytest("test_grasp.py", "--vla-policy=oracle", "--vla-episodes=2", "--vla-run-dir=base")
    assert made.ret == 0
    for workers in ([], ["-n1"]):
        refused = reach.runpytest("test_reach.py", "--vla-policy=oracle", "--vla-baseline=base", *workers)
        assert refused.ret == pytest.ExitCode.USAGE_ERROR
        told = refused.stderr.str() + refused.stdout.str()
        assert "the baseline has episodes of suite 'grasp' and this run of 'reach'" in told
        assert "episodes solved" not in told
