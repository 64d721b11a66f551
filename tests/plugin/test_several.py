"""`--vla-policy` typed more than once: a run for each policy, on the same episodes, and who is better."""

import pytest

from pytest_vla.run import read_run
from pytest_vla.several import folder_names, split


@pytest.mark.parametrize(
    ("typed", "policies", "others"),
    [
        (["--vla-policy=a", "-n2", "--vla-policy", "b"], ["a", "b"], ["-n2"]),
        (["--vla-policy=ws://h:1", "--vla-policy=ws://h:1"], ["ws://h:1"], []),
        (["-k", "x"], [], ["-k", "x"]),
    ],
)
def test_policies_are_told_from_other_arguments(typed, policies, others):
    assert split(typed) == (policies, others)


def test_folders_have_short_names_that_differ():
    assert folder_names(["a/new.pt", "b/old.pt", "ws://host:80"]) == ["new.pt", "old.pt", "host_80"]
    assert folder_names(["a/ckpt.pt", "b/ckpt.pt"]) == ["1_ckpt.pt", "2_ckpt.pt"]


def test_each_policy_gets_a_run_of_the_same_episodes_and_all_are_ranked(reach):
    result = reach.runpytest_subprocess(
        "--vla-policy=oracle", "--vla-policy=noop", "--vla-episodes=4", "--vla-run-dir=both", "-q"
    )
    assert result.ret == 1  # noop solves nothing
    oracle, noop = read_run(reach.path / "both" / "oracle"), read_run(reach.path / "both" / "noop")
    assert oracle.items == noop.items
    assert oracle.once.tally().solved == 16
    result.stdout.fnmatch_lines(["*2 policies on the 16 episodes that all runs share*", "*oracle*1 *yes*"])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--junitxml=out.xml"], "--junitxml is about one run"),
        (["--vla-resume"], "needs --vla-run-dir"),
    ],
)
def test_what_is_about_one_run_is_refused(reach, more, message):
    result = reach.runpytest_subprocess("--vla-policy=oracle", "--vla-policy=noop", *more)
    assert result.ret == 4
    assert message in result.stderr.str()
