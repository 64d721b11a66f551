"""Perturbed runs from the command line: each next to its matched control."""

import sys

import pytest

TOLD = '''
import numpy as np
import pytest_vla as vla
from test_reach import GoStraight, ReachEnv, ReachSuite


class ToldEnv(ReachEnv):
    """Goes to the goal or, told otherwise, is asked to stay; the judge looks at the goal all the same."""

    def reset(self, *, seed=None, options=None):
        self.words = "stay" if "language.contradict" in options["episode"].perturbation else "go"
        return super().reset(seed=seed, options=options)

    def observe(self):
        return {**super().observe(), "instruction": self.words}


class ToldSuite(ReachSuite):
    name = "told"

    def make_env(self, task):
        return ToldEnv()

    def axes(self):
        return [*super().axes(), "language.contradict"]


class Reads(GoStraight):
    def act(self, observations, states):
        actions = super().act(observations, states)
        return [a * (o["instruction"] == "go") for a, o in zip(actions, observations)]


@vla.benchmark(ToldSuite())
def test_told(policy, env, episode):
    assert vla.rollout(policy, env, episode)
'''


@pytest.fixture
def told(reach):
    reach.makepyfile(test_told=TOLD)
    return reach


def run(project, *arguments):
    return project.runpytest("--vla-run-dir=run", *arguments)


def test_a_perturbed_run_measures_each_episode_with_and_without(reach, read_episodes):
    result = run(reach, "--vla-policy=oracle", "--vla-episodes=3", "--vla-perturb=robot.delay=8", "--vla-task=far")
    episodes = read_episodes(reach.path / "run")
    assert sorted({e["perturbation"] for e in episodes.values()}) == ["", "robot.delay=8"]
    assert len(episodes) == 2 * 2 * 3
    for key, episode in episodes.items():
        if episode["perturbation"]:
            control = episodes[key.removesuffix("robot.delay=8")]
            assert control["initial_digest"] == episode["initial_digest"]
            assert control["digest"] != episode["digest"]
    result.stdout.fnmatch_lines(
        [
            "perturbed and matched control (the same episodes, unperturbed):",
            "*robot.delay=8*0.0%*control 100.0%*change -100.0 [[]-100, *[]]*n=6",
        ]
    )


def test_the_perturbation_is_part_of_the_node_id_and_replays(reach):
    run(reach, "--vla-policy=oracle", "--vla-episodes=1", "--vla-perturb=robot.delay=4,robot.action_noise=2", "-v")
    episode = "reach/far-calm-00-robot.action_noise=2,robot.delay=4"
    result = reach.run(sys.executable, "-m", "pytest_vla.cli", "replay", "run", episode, "--trust")
    result.stdout.fnmatch_lines(["the digest matches: same episode, bit for bit"])
    listed = reach.runpytest("--collect-only", "-q", "--vla-policy=oracle", "--vla-perturb=robot.delay=4")
    listed.stdout.fnmatch_lines(["test_reach.py::test_reach[[]near-calm-00[]]"])
    listed.stdout.fnmatch_lines(["test_reach.py::test_reach[[]near-calm-00-robot.delay=4[]]"])


def test_a_neutral_perturbation_is_the_control_alone(reach, read_episodes):
    run(reach, "--vla-policy=oracle", "--vla-episodes=2", "--vla-perturb=robot.delay=0")
    assert {e["perturbation"] for e in read_episodes(reach.path / "run").values()} == {""}


def test_a_sweep_draws_a_curve_over_nine_levels(reach, read_episodes):
    result = run(reach, "--vla-policy=oracle", "--vla-episodes=2", "--vla-sweep=robot.delay", "--vla-task=far")
    assert len(read_episodes(reach.path / "run")) == 9 * 4
    result.stdout.fnmatch_lines(
        ["sweep of robot.delay: slow to obey", "  0 *0 steps late*100.0%*n=4", "  8 *4 steps late*"]
    )


def test_a_sweep_goes_both_ways_where_an_axis_does(reach, read_episodes):
    result = run(reach, "--vla-policy=oracle", "--vla-episodes=1", "--vla-sweep=robot.action_gain", "--vla-task=far")
    swept = {e["perturbation"] for e in read_episodes(reach.path / "run").values()}
    assert swept == {"", *(f"robot.action_gain={level}" for level in range(-8, 9) if level)}
    result.stdout.fnmatch_lines(
        ["sweep of robot.action_gain: *", "  -8 *0.98 times*", "   0 *1 times*", "   8 *1.02 times*"]
    )


def test_a_negative_level_is_part_of_the_node_id_and_replays(reach):
    run(reach, "--vla-policy=oracle", "--vla-episodes=1", "--vla-perturb=robot.action_gain=-8", "--vla-task=far")
    episode = "reach/far-calm-00-robot.action_gain=-8"
    result = reach.run(sys.executable, "-m", "pytest_vla.cli", "replay", "run", episode, "--trust")
    result.stdout.fnmatch_lines(["the digest matches: same episode, bit for bit"])


def test_a_policy_that_reads_stops_doing_the_old_task_when_told_otherwise(told):
    result = run(told, "--vla-policy=test_told:Reads", "--vla-suite=told", "--vla-language-check", "--vla-episodes=2")
    result.stdout.fnmatch_lines(
        ["language check: told otherwise, the policy still did the old task in 0 of 8 episodes*told so, in 8"]
    )
    result.stdout.fnmatch_lines(["*it does 0% also when told otherwise*"])


def test_a_policy_that_is_blind_to_language_is_found_out(told):
    result = run(told, "--vla-policy=oracle", "--vla-suite=told", "--vla-language-check", "--vla-episodes=2")
    result.stdout.fnmatch_lines(["language check: told otherwise, the policy still did the old task in 8 of 8*"])
    result.stdout.fnmatch_lines(["*it does 100% also when told otherwise*"])


def test_workers_and_one_process_measure_the_same(reach, read_episodes):
    arguments = (
        "--vla-policy=oracle",
        "--vla-episodes=2",
        "--vla-perturb=robot.action_noise=8,robot.dropped_actions=4",
    )
    run(reach, *arguments)
    alone = read_episodes(reach.path / "run")
    reach.runpytest_subprocess("--vla-run-dir=two", "-n2", *arguments)
    digests = {key: episode["digest"] for key, episode in read_episodes(reach.path / "two").items()}
    assert digests == {key: episode["digest"] for key, episode in alone.items()}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--vla-perturb=robot.dely=3", "*--vla-perturb: unknown axis 'robot.dely'; did you mean 'robot.delay'*"),
        (
            "--vla-perturb=robot.delay=9",
            "*--vla-perturb: robot.delay=9 is out of range*0 (neutral) to 8 (4 steps late)",
        ),
        ("--vla-perturb=robot.delay", "*--vla-perturb: cannot read 'robot.delay'*write AXIS=LEVEL*"),
        ("--vla-sweep=camera.yow", "*--vla-sweep: unknown axis 'camera.yow'; did you mean 'camera.yaw'*"),
        ("--vla-perturb=camera.yaw=3", "*suite 'reach' does not support axis 'camera.yaw'; it supports robot.*"),
        ("--vla-sweep=sensor.blur", "*suite 'reach' does not support axis 'sensor.blur'*"),
        ("--vla-language-check", "*suite 'reach' does not support axis 'language.contradict'*"),
    ],
)
def test_a_perturbation_that_cannot_be_is_one_usage_error(reach, option, message):
    result = run(reach, "--vla-policy=oracle", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
