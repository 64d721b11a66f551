"""A policy in an environment of its own: really installed, asked through the contract, lost and replaced."""

import copy
import gc
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from points import declare

from pytest_vla import cli
from pytest_vla.episode import EpisodeKey
from pytest_vla.inference import units
from pytest_vla.isolate import environment as module
from pytest_vla.isolate.environment import installed
from pytest_vla.policies import PolicyError
from pytest_vla.policies.kinds import kind_of, load_shared

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "test_reach.py"
POLICY = """
import os, sys, time
import numpy as np

try:
    import pytest_vla
except ImportError:
    pytest_vla = None


class Walk:
    spec = {"state_keys": ["at"], "chunk": 1}

    def reset(self, episode):
        return {"steps": 0, "task": episode.task, "draw": float(np.random.default_rng(episode.seed).uniform())}

    def act(self, observations, states):
        assert pytest_vla is None, "the environment is its own"
        for state in states:
            state["steps"] += 1
            if state["task"] == "crashes":
                os.abort()
            if state["task"] == "raises":
                raise ValueError("no idea")
        print("garbage")
        return [np.append(o["state"]["at"] * 2, [s["steps"], s["draw"]]) for o, s in zip(observations, states)]

    def digest(self):
        return "walk-1"


class Silent:
    def act(self, observations, states):
        return [o["images"]["camera"].mean(axis=(0, 1)) for o in observations]


def nothing():
    return 5
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """An environment with numpy in it, declared by a folder of the user's, and a module with policies beside it."""
    root = tmp_path_factory.mktemp("project")
    declare(root / "walker", 'python = ["3.13", "3.12", "3.11"]\nrequirements = ["numpy"]\nimports = ["numpy"]\n')
    (root / "walking_apart.py").write_text(POLICY)
    patch = pytest.MonkeyPatch()
    patch.setenv(module.FOLDER_VARIABLE, str(root / "envs"))
    patch.chdir(root)
    assert cli.main(["install", "./walker"]) == 0
    yield root
    patch.undo()


def key(task="steady", index=0):
    return EpisodeKey("points", task, "plain", index)


def seen(value=1.0, size=0):
    images = {"camera": np.full((size, size, 3), 7, np.uint8)} if size else {}
    return {"images": images, "state": {"at": np.full(3, value, np.float32)}, "instruction": "go"}


@pytest.mark.slow
def test_a_folder_that_declares_an_environment_is_known_by_its_name_once_installed(world, capsys):
    assert installed("walker") is not None
    assert cli.main(["environments"]) == 0
    said = capsys.readouterr().out
    assert "walker: numpy (Python 3." in said
    assert "kinetix: kinetix-env==3.0.2 (not installed: pytest-vla install kinetix)" in said


@pytest.mark.slow
def test_a_policy_in_its_own_environment_acts_through_the_contract(world):
    source = load_shared("env:walker:walking_apart:Walk")
    assert source.spec.state_keys == ("at",)
    assert source.verified
    assert source.digest.startswith("env:")
    policy = source.policy
    states = [policy.reset(key(index=index)) for index in range(2)]
    first = policy.act([seen(1.0), seen(2.0)], states)
    again = policy.act([seen(3.0)], states[1:])
    assert first[0][:4].tolist() == [2, 2, 2, 1]
    assert first[1][:4].tolist() == [4, 4, 4, 1]
    assert again[0][:4].tolist() == [6, 6, 6, 2], "a state is its episode's, and stays in the other process"
    assert first[0][4] != first[1][4]
    assert policy.act([seen()], [policy.reset(key())])[0][4] == first[0][4], "the key decides what is drawn"
    policy.close()


@pytest.mark.slow
def test_states_that_nobody_holds_are_forgotten_there_too(world):
    policy = load_shared("env:walker:walking_apart:Walk").policy
    for index in range(20):
        policy.reset(key(index=index))
    gc.collect()
    state = policy.reset(key())
    assert len(policy._call("__getattribute__", "states")) == 1
    assert policy.act([seen()], [state])[0][3] == 1
    policy.close()


@pytest.mark.slow
def test_a_state_is_copied_where_it_is_for_whoever_asks_what_if(world):
    policy = load_shared("env:walker:walking_apart:Walk").policy
    state = policy.reset(key())
    policy.act([seen()], [state])
    other = copy.deepcopy(state)
    assert policy.act([seen()], [other])[0][3] == 2
    assert policy.act([seen()], [state])[0][3] == 2
    assert not hasattr(policy, "log_prob")
    with pytest.raises(PolicyError, match="no torch module"):
        policy.restore_units(units.__file__, seen(), seen(2.0), state, ())
    policy.close()


@pytest.mark.slow
def test_pictures_cross_by_shared_memory_and_a_class_without_a_digest_is_unverified(world):
    source = load_shared("env:walker:walking_apart:Silent")
    assert not source.verified
    for size in (4, 256, 128):
        assert source.policy.act([seen(size=size)] * 2, [source.policy.reset(key())] * 2)[1].tolist() == [7, 7, 7]
    source.policy.close()


@pytest.mark.slow
def test_what_it_raises_is_the_policys_error_and_a_crash_costs_what_it_was_playing(world):
    policy = load_shared("env:walker:walking_apart:Walk").policy
    with pytest.raises(PolicyError, match="ValueError: no idea"):
        policy.act([seen()], [policy.reset(key("raises"))])
    other = policy.reset(key())
    with pytest.raises(PolicyError, match="signal 6"):
        policy.act([seen()], [policy.reset(key("crashes"))])
    with pytest.raises(PolicyError, match="was lost"):
        policy.act([seen()], [other])
    assert policy.act([seen()], [policy.reset(key())])[0][3] == 1, "the next episode has a new process"
    policy.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("env:walker:walking_apart", "write env:NAME:MODULE:FACTORY"),
        ("env:../up:a:b", "is no name of an environment"),
        ("env:wakler:a:b", "unknown environment 'wakler'"),
        ("env:kinetix:a:b", "needs the environment 'kinetix': pytest-vla install kinetix"),
        ("env:walker:no_such_module:Walk", "No module named 'no_such_module'"),
        ("env:walker:walking_apart:Nobody", "has no attribute 'Nobody'"),
        ("env:walker:walking_apart:nothing", "has no act"),
    ],
)
def test_what_cannot_be_used_is_said(world, text, words):
    assert kind_of(text).write == "env:NAME:MODULE:FACTORY"
    with pytest.raises(PolicyError, match=words):
        load_shared(text)


GOING = """
import numpy as np


class GoStraight:
    spec = {"state_keys": ["at", "goal"]}

    def act(self, observations, states):
        return [np.clip(o["state"]["goal"] - o["state"]["at"], -0.2, 0.2) for o in observations]
"""


@pytest.mark.slow
def test_a_whole_run_with_workers_is_the_same_as_in_one_process(world, tmp_path, read_episodes):
    """The policy runs once, behind the server of the run, and solves what the same lines solve in our interpreter."""
    shutil.copy(EXAMPLE, world)
    (world / "going_apart.py").write_text(GOING)
    facts = []
    for name, policy, more in (
        ("one", "env:walker:going_apart:GoStraight", []),
        ("two", "env:walker:going_apart:GoStraight", ["-n2"]),
        ("ours", "test_reach:GoStraight", []),
    ):
        command = [sys.executable, "-m", "pytest", EXAMPLE.name, f"--vla-policy={policy}", "--vla-episodes=2"]
        done = subprocess.run([*command, f"--vla-run-dir={tmp_path / name}", *more], cwd=world, capture_output=True)
        assert done.returncode in (0, 1), done.stdout
        episodes = read_episodes(tmp_path / name)
        facts.append({key: (record["digest"], record["outcome"], record["steps"]) for key, record in episodes.items()})
    assert len(facts[0]) == 8
    assert facts[0] == facts[1] == facts[2]
    assert {outcome for _, outcome, _ in facts[0].values()} >= {"solved"}
