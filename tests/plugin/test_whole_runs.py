"""A run file holds everything that its verdict follows from: every rollout, every objection, all that is missing."""

import json
import os

import pytest

from pytest_vla.cli import main
from pytest_vla.run import read_run

GATE = """
[tool.pytest_vla.gate.success]
"*" = 0.5
"""

OBJECTS = """
import pytest_vla as vla
from test_reach import ReachSuite

class Picky(ReachSuite):
    name = "picky"

@vla.benchmark(Picky(), task="near", partition="calm", episodes=20)
def test_picky(policy, env, episode):
    assert vla.rollout(policy, env, episode)
    assert episode.index != 3, "three is bad luck"
"""

SEVERAL = """
import pytest_vla as vla
from test_reach import ReachSuite

class Several(ReachSuite):
    name = "several"

@vla.benchmark(Several(), task="near", partition="calm", episodes=2)
def test_several(policy, env, episode):
    assert vla.rollout(policy, env, episode)
    assert vla.rollout(policy, env, episode)
    vla.rollout(policy, env, episode, "robot.delay=8")
"""

TUNED = """
import os
import numpy as np
import pytest_vla as vla
from test_reach import GoStraight

class Tuned(vla.Policy):
    def __init__(self):
        self.weight = float(os.environ["WEIGHT"])
        horizon = int(os.environ["HORIZON"])
        self.spec = vla.PolicySpec(state_keys=("at", "goal"), chunk=4, horizon=horizon)

    def digest(self):
        return str(self.weight)

    def act(self, observations, states):
        return [np.stack([self.weight * np.clip(o["state"]["goal"] - o["state"]["at"], -0.2, 0.2)] * 4)
                for o in observations]
"""


def lines(reach, run="run"):
    return [json.loads(line) for line in (reach.path / run / "run.jsonl").read_text().splitlines()]


def episodes(reach, run="run"):
    return [line for line in lines(reach, run) if line["type"] == "episode"]


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_a_test_that_objects_to_a_solved_episode_fails_live_resumed_and_gated(reach, workers):
    reach.makepyfile(test_picky=OBJECTS)
    (reach.path / "pyproject.toml").write_text(GATE)
    command = ["test_picky.py", "--vla-policy=oracle", "--vla-run-dir=run", *workers]
    assert reach.runpytest(*command).ret == 1
    (bad,) = [line for line in episodes(reach) if line["test"] == "failed"]
    assert (bad["index"], bad["outcome"]) == (3, "solved")
    assert "three is bad luck" in bad["objection"]
    assert reach.runpytest(*command, "--vla-resume").ret == 1
    gated = reach.runpytest(*command, "--vla-resume", "--vla-gate")
    assert gated.ret == 1
    gated.stdout.fnmatch_lines(["*1 tests failed although their episodes were solved*"])
    os.chdir(reach.path)
    assert main(["gate", "run", "--success=picky=0.5"]) == 1


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_every_rollout_of_a_test_is_a_record_and_resume_goes_by_item(reach, workers):
    reach.makepyfile(test_several_rollouts=SEVERAL)
    command = ["test_several_rollouts.py", "--vla-policy=oracle", "--vla-run-dir=run", *workers]
    result = reach.runpytest(*command)
    keys = [(line["index"], line["perturbation"], line["repeat"]) for line in episodes(reach)]
    assert sorted(keys) == sorted((i, *rest) for i in (0, 1) for rest in (("", 0), ("", 1), ("robot.delay=8", 0)))
    run = read_run(reach.path / "run")
    assert run.completeness(gated=True).finished
    assert len(run.items) == 2 + 4, "the planned ones, and the keys that were rolled out instead"
    again = reach.runpytest(*command, "--vla-resume")
    assert len(episodes(reach)) == 6, "nothing is done twice"
    assert again.ret == result.ret


def test_a_repeat_on_the_page_can_be_replayed(reach, capsys):
    reach.runpytest("--vla-policy=oracle", "--vla-task=near", "--vla-episodes=1", "--vla-repeat=2", "--vla-run-dir=run")
    assert main(["replay", str(reach.path / "run"), "reach/near-calm-00-r1", "--trust"]) == 0
    assert "near-calm-00-r1" in capsys.readouterr().out


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
@pytest.mark.parametrize("change", [{"WEIGHT": "0.9"}, {"HORIZON": "1"}], ids=["weights", "horizon"])
def test_a_policy_with_other_weights_or_another_horizon_does_not_resume(reach, monkeypatch, change, workers):
    reach.makepyfile(tuned=TUNED)
    monkeypatch.setenv("WEIGHT", "0.1")
    monkeypatch.setenv("HORIZON", "4")
    command = ["--vla-policy=tuned:Tuned", "--vla-task=near", "--vla-run-dir=run", *workers]
    reach.runpytest(*command, "--vla-episodes=1")
    for name, value in change.items():
        monkeypatch.setenv(name, value)
    result = reach.runpytest(*command, "--vla-episodes=2", "--vla-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*cannot resume*"])
    assert len(episodes(reach)) == 2


def test_a_policy_that_nobody_can_know_is_said_to_be_unverified(reach):
    result = reach.runpytest("--vla-policy=bad:Slow", "--vla-task=near", "--vla-episodes=1", "--vla-run-dir=run")
    result.stdout.fnmatch_lines(["vla: policy bad:Slow*unverified*"])
    assert lines(reach)[0]["policy"]["verified"] is False


def cut(reach, run, keep):
    """What a kill leaves: the first so many episodes."""
    path = reach.path / run / "run.jsonl"
    kept, count = [], 0
    for line in path.read_text().splitlines():
        count += '"type": "episode"' in line
        if count > keep:
            break
        kept.append(line)
    path.write_text("\n".join(kept) + "\n")


def test_a_run_that_was_cut_merged_and_gated_does_not_pass(reach, capsys):
    (reach.path / "pyproject.toml").write_text(GATE)
    reach.runpytest("--vla-policy=oracle", "--vla-episodes=20", "--vla-run-dir=run")
    os.chdir(reach.path)
    assert main(["gate", "run", "--success=reach=0.5"]) == 0
    cut(reach, "run", 60)
    assert main(["gate", "run", "--success=reach=0.5"]) == 6
    assert main(["merge", "run", "-o", "merged"]) == 0
    assert main(["gate", "merged", "--success=reach=0.5"]) == 6
    assert "incomplete: 60 of 80 episodes" in capsys.readouterr().out
    assert main(["show", "merged"]) == 0
    assert "incomplete: 60 of 80 episodes" in capsys.readouterr().out


def test_a_proven_failure_is_one_even_where_episodes_are_missing(reach):
    reach.runpytest("--vla-policy=noop", "--vla-episodes=20", "--vla-run-dir=run")
    cut(reach, "run", 70)
    os.chdir(reach.path)
    assert main(["gate", "run", "--success=reach=0.9"]) == 1


def test_a_run_that_was_stopped_at_its_first_failure_is_unfinished(reach):
    (reach.path / "pyproject.toml").write_text(GATE)
    reach.makepyfile(test_picky=OBJECTS)
    result = reach.runpytest("test_picky.py", "--vla-policy=oracle", "--vla-run-dir=run", "-x", "--vla-gate")
    assert result.ret == 1
    assert not read_run(reach.path / "run").completeness(gated=False).finished


def test_a_shard_is_finished_with_its_part_and_judged_only_with_the_others(reach):
    (reach.path / "pyproject.toml").write_text(GATE)
    shard = ["--vla-policy=oracle", "--vla-episodes=20"]
    for number in (1, 2):
        alone = reach.runpytest(*shard, f"--vla-shard={number}/2", f"--vla-run-dir=part{number}")
        assert alone.ret == 0
    gated = reach.runpytest(*shard, "--vla-shard=1/2", "--vla-run-dir=gated", "--vla-gate")
    assert gated.ret == 6
    gated.stdout.fnmatch_lines(["*incomplete: 40 of 80 episodes*"])
    os.chdir(reach.path)
    assert main(["gate", "part1", "--success=reach=0.5"]) == 6
    assert main(["merge", "part1", "part2", "-o", "whole"]) == 0
    assert main(["gate", "whole", "--success=reach=0.5"]) == 0


def test_a_suite_that_cannot_run_leaves_a_gated_run_unfinished(reach):
    (reach.path / "pyproject.toml").write_text('[tool.pytest_vla.gate.success]\n"reach" = 0.5\n')
    reach.makepyfile(
        test_far_away="""
        import pytest_vla as vla
        from test_reach import ReachSuite

        class Away(ReachSuite):
            name = "away"
            requires = (vla.Requirement("no_such_simulator", "pip install it"),)

        @vla.benchmark(Away(), episodes=2)
        def test_away(policy, env, episode):
            assert vla.rollout(policy, env, episode)
        """
    )
    command = ["test_reach.py", "test_far_away.py", "--vla-policy=oracle", "--vla-episodes=20"]
    alone = reach.runpytest(*command, "--vla-run-dir=alone")
    assert alone.ret == 0
    alone.stdout.fnmatch_lines(["*skipped 80: suite 'away' needs no_such_simulator: pip install it*"])
    gated = reach.runpytest(*command, "--vla-run-dir=gated", "--vla-gate")
    assert gated.ret == 6
    gated.stdout.fnmatch_lines(["*incomplete: 80 of 160 episodes*"])


def test_a_fixture_that_cannot_be_torn_down_is_in_the_run_file(reach):
    reach.makepyfile(
        test_torn="""
        import pytest
        import pytest_vla as vla
        from test_reach import ReachSuite

        class Torn(ReachSuite):
            name = "torn"

        @pytest.fixture
        def camera():
            yield
            raise OSError("the camera is gone")

        @vla.benchmark(Torn(), task="near", partition="calm", episodes=1)
        def test_torn(policy, env, episode, camera):
            assert vla.rollout(policy, env, episode)
        """
    )
    result = reach.runpytest("test_torn.py", "--vla-policy=oracle", "--vla-run-dir=run")
    assert result.ret == 1
    run = read_run(reach.path / "run")
    assert run.objections == 1
    assert "the camera is gone" in run.failures[0].message
    assert reach.runpytest("test_torn.py", "--vla-policy=oracle", "--vla-run-dir=run", "--vla-resume").ret == 1


def test_a_failure_by_a_name_of_its_own_is_a_defect_of_the_environment(reach):
    reach.makepyfile(
        test_named="""
        import pytest_vla as vla
        from test_reach import ReachEnv, ReachSuite

        class Env(ReachEnv):
            def step(self, action):
                return self.observe(), 0.0, False, False, {"failure": "fell off"}

        class Named(ReachSuite):
            name = "named"
            def make_env(self, task):
                return Env()

        @vla.benchmark(Named(), task="near", partition="calm", episodes=1)
        def test_named(policy, env, episode):
            assert vla.rollout(policy, env, episode)
        """
    )
    reach.runpytest("test_named.py", "--vla-policy=oracle", "--vla-run-dir=run")
    (line,) = episodes(reach)
    assert (line["outcome"], line["reason"]) == ("error", "env_error")
    assert "must be one of" in line["message"]
