"""A world in another process is an environment like any other; whatever it does costs one episode."""

import os
import signal
import time

import numpy as np
import pytest
from points import declare, is_running

from pytest_vla.episode import EpisodeError
from pytest_vla.isolate.env import SEED_BITS, world_seed
from pytest_vla.policies.builtin import NoopPolicy
from pytest_vla.rollout import rollout
from pytest_vla.suite import SuiteError, provide
from pytest_vla.testing import check_suite


@pytest.fixture
def env(points):
    env = points.make_env("steady")
    yield env
    env.close()


def still(env):
    return NoopPolicy(np.zeros(3, np.float32))


def begin(points, env, task="steady", index=1, perturbation=""):
    key = points.episode(task, "plain", index, perturbation)
    return env.reset(seed=key.seed(), options={"episode": key})[0]


def test_it_keeps_the_contract_of_suites(points):
    check_suite(points, tasks=["steady", "prints", "draws"])


def test_the_oracle_of_the_world_solves_it_and_its_facts_arrive(points, env):
    result = rollout(points.oracle(env), env, points.episode("steady", "plain", 1))
    assert result, str(result)
    assert result.progress > 0.9
    assert result.instruction == "go to the middle: steady"
    assert result.scene == env.features
    assert result.initial_digest
    assert result.made_with["environment"].startswith("points-")


def test_observations_are_exact_copies_that_stay_as_they_are(points, env):
    first = begin(points, env)
    assert first["images"]["camera0"].shape == (32, 32, 3)
    assert first["images"]["camera0"].dtype == np.uint8
    assert first["images"]["camera0"][0, 0].tolist() == [1, 2, 3]
    assert first["images"]["camera1"][-1, 0].tolist() == [1, 2, 3], "a picture upside down arrives upside down"
    assert first["state"]["at"].dtype == np.float32
    kept = first["images"]["camera0"].copy()
    second = env.step(np.zeros(3, np.float32))[0]
    assert (second["images"]["camera0"][1:] == 1).all()
    assert (first["images"]["camera0"] == kept).all(), "a later step must not write into an earlier observation"


def test_a_picture_that_is_a_function_is_drawn_when_it_is_looked_at(points, env):
    first = begin(points, env, "draws")
    assert list(first["images"]) == ["camera0", "camera1"]
    assert env.call("how_often_drawn") == 0
    assert first["images"]["camera1"].shape == (32, 32, 3)
    assert first["images"]["camera1"].max() == 0
    assert env.call("how_often_drawn") == 1
    second = env.step(np.zeros(3, np.float32))[0]
    assert (second["images"]["camera0"] == 1).all()
    assert first["images"]["camera1"].max() == 0, "what was drawn stays"
    with pytest.raises(EpisodeError, match="was not looked at before the next step"):
        first["images"]["camera0"]


def test_no_child_is_started_before_the_first_reset(points):
    env = points.make_env("steady")
    points.noop(env)
    points.oracle(env)
    assert env.pid is None


def test_the_child_imports_nothing_of_ours_and_no_pytest(points, env):
    begin(points, env)
    there = env.call("said", "a", 2)
    assert there["words"] == ["a", 2]
    assert there["pid"] == env.pid != os.getpid()
    heavy = {name.partition(".")[0] for name in there["modules"]} & {"pytest_vla", "pytest", "torch", "gymnasium"}
    assert not heavy
    assert not any(entry.endswith("isolate") for entry in there["path"])


def test_a_task_after_another_gets_a_world_of_its_own_in_the_same_process(points, env):
    assert begin(points, env)["instruction"].endswith("steady")
    pid = env.pid
    assert begin(points, env, "prints")["instruction"].endswith("prints")
    assert env.pid == pid


def test_seeds_are_numbers_that_any_simulator_takes(points):
    seeds = {world_seed(points.episode("steady", "plain", index)) for index in range(1000)}
    assert len(seeds) == 1000
    assert max(seeds) < 2**SEED_BITS


def test_the_world_gets_the_key_with_its_perturbation_as_plain_data(points, env):
    begin(points, env, perturbation="sensor.noise=3")
    assert env.call("__getattribute__", "episode") == {
        "task": "steady",
        "partition": "plain",
        "index": 1,
        "perturbation": {"sensor.noise": 3},
    }


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("crashes", ["signal 6 (SIGABRT)", "the last words"]),
        ("exits", ["exit code 3"]),
        ("raises", ["ValueError: a broken joint", "misbehave"]),
        ("never_opens", ["RuntimeError: no such scene"]),
    ],
)
def test_a_child_that_is_lost_costs_its_episode_and_is_replaced(points, env, task, words):
    lost = rollout(still(env), env, points.episode(task, "plain", 0))
    assert (lost.outcome, lost.reason) == ("error", "env_error")
    assert all(word in lost.message for word in words), lost.message
    assert env.pid is None
    again = rollout(still(env), env, points.episode("steady", "plain", 1))
    assert (again.outcome, again.reason) == ("unsolved", "step_limit")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="without interval timers there is no such time-out")
def test_a_child_that_hangs_times_out_and_is_replaced(points, env):
    lost = rollout(still(env), env, points.episode("hangs", "plain", 0), timeout=3)
    assert (lost.outcome, lost.reason) == ("error", "timeout")
    hanging = env.pid
    again = rollout(still(env), env, points.episode("hangs", "plain", 1), timeout=30)
    assert again.outcome == "unsolved"
    assert not is_running(hanging)


def test_a_child_that_prints_garbage_is_heard_of_only_when_it_is_lost(points, env, capfd):
    result = rollout(still(env), env, points.episode("prints", "plain", 0))
    assert result.outcome == "unsolved"
    assert result.steps == 20
    assert capfd.readouterr() == ("", "")


def test_a_child_that_eats_memory_is_stopped_at_its_limit(points, env):
    provide(memory_gb=2)
    lost = rollout(still(env), env, points.episode("eats", "plain", 0))
    assert (lost.outcome, lost.reason) == ("error", "env_error")
    assert "MemoryError" in lost.message
    assert rollout(still(env), env, points.episode("eats", "plain", 1)).outcome == "unsolved"


def test_a_child_ends_with_its_environment(points):
    env = points.make_env("steady")
    begin(points, env)
    pid = env.pid
    env.close()
    assert not is_running(pid)


def test_a_child_does_not_outlive_a_killed_parent(points, tmp_path):
    reader, writer = os.pipe()
    parent = os.fork()
    if not parent:
        env = points.make_env("steady")
        begin(points, env)
        os.write(writer, str(env.pid).encode())
        time.sleep(60)
        os._exit(0)
    pid = int(os.read(reader, 20))
    os.kill(parent, 9)
    os.waitpid(parent, 0)
    for _ in range(100):
        if not is_running(pid):
            return
        time.sleep(0.05)
    pytest.fail("the child is still there")


def test_what_cannot_cross_is_said(points, env):
    begin(points, env)
    with pytest.raises(TypeError, match="a object cannot cross to another process"):
        env.step(object())


def test_a_suite_without_its_environment_says_what_to_type(points, environments):
    (environments / "points" / "installed.json").unlink()
    assert points.missing().install == "pytest-vla install points"
    with pytest.raises(SuiteError, match="pytest-vla install points"):
        begin(points, points.make_env("steady"))


def test_an_environment_that_was_declared_anew_has_to_be_installed_again(points, tmp_path):
    assert points.missing() is None
    declare(tmp_path / "declared" / "points", 'python = ["3.11"]\nrequirements = ["numpy==2.4.6"]\n')
    fresh = type(points)()
    assert "as it is declared now" in fresh.missing().module


def test_missing_data_is_named_with_what_to_fetch(points, tmp_path):
    points.data, points.fetch = ("assets/table.xml",), "hf download somewhere/assets"
    assert points.missing().install == "hf download somewhere/assets, then add --vla-data=points=DIR"
    provide([f"points={tmp_path}", "other=/nowhere"])
    assert points.missing().module == f"'{tmp_path}/assets/table.xml'"
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "table.xml").touch()
    assert points.missing() is None
    assert points.data_folder() == tmp_path
