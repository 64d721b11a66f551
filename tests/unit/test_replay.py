"""A recorded episode runs again in one way, and nothing is said of it that nobody knows."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.policies.trust import is_trusted, trust, trusted
from pytest_vla.replay import Replayed, Replayer, find_episode, replay
from pytest_vla.run import FILE_NAME, Record, RunFileError, RunWriter, read_run
from pytest_vla.run.trace import encode_actions
from pytest_vla.suite import Requirement, SuiteError

OBSERVATION = {"images": {}, "state": {}, "instruction": "count to three"}


class CountEnv(gymnasium.Env):
    """Solved when the actions add up to three."""

    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.sum = 0
        return OBSERVATION, {}

    def step(self, action):
        self.sum += int(action)
        return (
            {"images": {}, "state": {}, "instruction": "count to three"},
            0.0,
            False,
            False,
            {"success": self.sum == 3},
        )


class CountSuite(vla.Suite):
    name = "count"
    made = 0

    def cells(self):
        return [("up", "seen")]

    def make_env(self, task):
        type(self).made += 1
        return CountEnv()

    def step_limit(self, task):
        return 4


class DigestingSuite(CountSuite):
    name = "count_digest"

    def digest(self, env):
        return str(env.sum)


@pytest.fixture
def make_run(tmp_path, monkeypatch):
    """A run of `noop` over suite objects that are known only here, of one record per suite and repeat."""
    monkeypatch.setattr("pytest_vla.registry._registered", {})
    monkeypatch.setattr(CountSuite, "made", 0)

    def make(suite, **changes):
        vla.register(suite)
        writer = RunWriter.create(
            tmp_path / suite.name / FILE_NAME, {"type": "run", "policy": {"text": "noop", "digest": "builtin:noop"}}
        )
        for repeat in range(2):
            key = EpisodeKey(suite.name, "up", "seen", 0, repeat=repeat)
            result = Result(key, "unsolved", "step_limit", steps=4)
            writer.write(Record(replace(result, **changes), test="failed").to_record())
        writer.close()
        return tmp_path / suite.name

    return make


def test_without_digests_only_the_outcome_is_said_to_be_the_same(make_run):
    replayed = replay(make_run(CountSuite()), "count/up-seen-00")
    assert replayed.same
    assert "suite 'count' gave no digest, so only the outcome was compared: it is the same" in str(replayed)
    assert "bit for bit" not in str(replayed)


def test_without_digests_another_outcome_is_told():
    key = EpisodeKey("count", "up", "seen", 0)
    text = str(Replayed(Result(key, "solved"), Result(key, "unsolved", "step_limit"), policy_changed=False))
    assert "only the outcome was compared: it DIFFERS" in text


def test_with_digests_the_states_are_compared(make_run):
    folder = make_run(DigestingSuite(), digest="of other states", initial_digest="elsewhere")
    replayed = replay(folder, "count_digest/up-seen-00")
    assert not replayed.same
    assert "the digest DIFFERS" in str(replayed)
    assert "the scene itself differs" in str(replayed)
    again = Replayed(replayed.result, replayed.result, policy_changed=True)
    assert "the digest matches: same episode, bit for bit\nnote: the policy is not the one of the run" in str(again)


def test_a_repeat_is_found_by_its_own_name(make_run):
    run = read_run(make_run(CountSuite()))
    assert find_episode(run, "count/up-seen-00").key.repeat == 0
    assert find_episode(run, "count/up-seen-00-r1").key.repeat == 1
    assert find_episode(run, "test_count.py::test_count[up-seen-00-r1]").key.repeat == 1
    assert replay(run.path, "up-seen-00-r1").result.episode.repeat == 1


def test_a_name_that_is_not_there_suggests_the_nearest(make_run):
    with pytest.raises(RunFileError, match=r"unknown episode 'up-sen-00' .*did you mean 'count/up-seen-00'"):
        find_episode(read_run(make_run(CountSuite())), "up-sen-00")


def test_recorded_actions_are_done_again_and_every_step_is_heard(make_run):
    actions = encode_actions([np.int64(1), np.int64(2)])
    run = read_run(make_run(CountSuite(), actions=actions))
    heard = []
    with Replayer(run, policy="no_such_module:Policy") as replayer:
        result = replayer.run_actions(next(run.records()), lambda step: heard.append(step.action))
    assert (result.outcome, result.steps) == ("solved", 2)
    assert heard == [None, 1, 2]


def test_without_recorded_actions_the_policy_acts(make_run):
    run = read_run(make_run(CountSuite()))
    with Replayer(run) as replayer:
        assert replayer.run_actions(next(run.records())).outcome == "unsolved"


def test_environments_are_kept_from_one_episode_to_the_next(make_run):
    run = read_run(make_run(CountSuite()))
    with Replayer(run) as replayer:
        for record in run.records():
            replayer.run_policy(record)
    assert CountSuite.made == 1


def test_another_version_and_a_missing_simulator_are_clear_errors(make_run):
    suite = CountSuite()
    folder = make_run(suite)
    suite.version = "2"
    with pytest.raises(RunFileError, match="recorded with version 1 of suite 'count', installed is 2"):
        replay(folder, "up-seen-00")
    suite.version, suite.requires = "1", [Requirement("no_such_simulator", "pip install it")]
    with pytest.raises(SuiteError, match="suite 'count' needs no_such_simulator: pip install it"):
        replay(folder, "up-seen-00")


def test_a_trusted_run_is_trusted_no_longer_than_it_is_replayed(make_run):
    trust(["mine"])
    run = read_run(make_run(CountSuite()))
    with Replayer(run, trust=True):
        assert is_trusted("whatever it names")
    assert (is_trusted("mine"), is_trusted("whatever it names")) == (True, False)
    with pytest.raises(ZeroDivisionError), Replayer(run, trust=True):
        _ = 1 / 0
    assert trusted() == ("mine",)
