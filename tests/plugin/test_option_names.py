"""Names of options: the groups of the help, and old names that are answered with the new one."""

import pytest

from pytest_vla.options import GROUPS, OPTIONS, RENAMED

USAGE = pytest.ExitCode.USAGE_ERROR


def refused(result, message):
    assert result.ret == USAGE
    assert [line for line in result.stderr.str().splitlines() if line.strip()] == [f"ERROR: {message}"]


@pytest.mark.parametrize("value", ["", "=9"])
@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_on_the_command_line_is_refused_with_the_new_one(reach, old, value):
    result = reach.runpytest("test_reach.py", "--vla-policy=oracle", f"--vla-{old}{value}")
    refused(result, f"--vla-{old} has another name now: write --vla-{RENAMED[old]}")


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_in_the_table_is_refused_with_the_new_one(reach, old):
    reach.makepyprojecttoml(f"[tool.pytest_vla]\n{old} = 9")
    new = RENAMED[old].replace("-", "_")
    refused(reach.runpytest("--vla-policy=oracle"), f"[tool.pytest_vla] {old} has another name now: write {new}")


def test_the_episodes_of_a_hunt_are_its_scenes(reach):
    message = "--vla-episodes under --vla-hunt has another name now: write --vla-hunt-scenes"
    refused(reach.runpytest("--vla-policy=oracle", "--vla-hunt", "--vla-episodes=4"), message)
    reach.makepyprojecttoml("[tool.pytest_vla]\nhunt = true")
    refused(reach.runpytest("--vla-policy=oracle", "--vla-episodes=4"), message)
    reach.makepyprojecttoml("[tool.pytest_vla]\nhunt = true\nepisodes = 4")
    message = "[tool.pytest_vla] episodes next to hunt has another name now: write hunt_scenes"
    refused(reach.runpytest("--vla-policy=oracle"), message)


def test_the_usual_number_of_episodes_does_not_hinder_a_hunt(reach):
    reach.makepyprojecttoml("[tool.pytest_vla]\nepisodes = 4")
    result = reach.runpytest("--vla-policy=oracle", "--vla-hunt", "--collect-only", "-q")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["test_reach.py::test_reach[[]near-calm-hunt[]]"])


def test_the_budget_of_a_hunt_is_its_episodes(reach):
    reach.makepyfile(
        test_old="""
        import pytest_vla as vla
        from test_reach import ReachSuite

        @vla.hunt(ReachSuite(), budget=60)
        def test_old(policy, env, episode, perturbation):
            assert vla.rollout(policy, env, episode, perturbation)
        """
    )
    result = reach.runpytest("test_old.py", "--vla-policy=oracle")
    refused(result, "@vla.hunt(budget=) has another name now: write @vla.hunt(episodes=)")


def test_the_help_shows_every_option_in_its_group_and_no_old_name(pytester):
    text = pytester.runpytest("--help").stdout.str()
    places = [text.index(f"pytest-vla: {title} (defaults in [tool.pytest_vla])") for title in GROUPS]
    assert places == sorted(places)
    assert list(GROUPS) == ["what to run", "policy and inference", "perturb and hunt", "gate", "report"]
    for (title, options), start, end in zip(GROUPS.items(), places, [*places[1:], len(text)], strict=True):
        for option in options:
            assert f"  {option.flag}" in text[start:end], title
    for old in RENAMED:
        assert f"--vla-{old}" not in text
    assert sum(map(len, GROUPS.values())) == len(OPTIONS)
