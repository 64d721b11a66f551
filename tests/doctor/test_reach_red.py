"""The reach suite whose goal the pictures tell, and the policies that the doctor's benchmark has for it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pytest_vla as vla
from benchmarks import doctor_plants, reach_act
from benchmarks.reach_suite import COLOURS, Reach
from pytest_vla.isolate.family import has_environment
from pytest_vla.policies import load_policy

SUITE = Reach("reach_red", goal="red")
without_lerobot = pytest.mark.skipif(
    not has_environment("lerobot"), reason="LeRobot is not installed: pytest-vla install lerobot"
)


def test_every_episode_asks_for_the_red_disc_wherever_it_lies() -> None:
    env, places = SUITE.make_env("reach"), []
    for index in range(5):
        observation, _ = env.reset(options={"episode": SUITE.episode("reach", "test", index)})
        assert "RED" in observation["instruction"]
        assert np.array_equal(env.target, env.places()[list(COLOURS).index("red")])
        places.append(tuple(env.target))
    assert len(set(places)) == 5


def test_demonstrations_have_lerobots_names_and_the_actions_that_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach_act, "EPISODES", 3)
    reach_act.save_demonstrations(tmp_path / "shown.npz")
    shown = dict(np.load(tmp_path / "shown.npz"))
    rows = len(shown["action"])
    assert shown["action"].shape == (rows, reach_act.CHUNK, 4)
    assert shown["observation.state"].shape == (rows, 4)
    assert {name for name in shown if "images" in name} == {"observation.images.main", "observation.images.wrist"}
    assert all(array.dtype == np.uint8 for name, array in shown.items() if "images" in name)


def test_where_lerobot_is_not_installed_there_is_a_small_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks.reach_policy import ReachPolicy

    monkeypatch.setattr(reach_act, "act_is_trainable", lambda: False)
    monkeypatch.setattr("benchmarks.reach_policy.train", lambda steps: ReachPolicy())
    made = reach_act.told_by_pictures(tmp_path)
    assert isinstance(made, ReachPolicy)
    assert "reach_red" in made.spec.suites


def test_the_benchmark_has_as_many_cases_as_it_says() -> None:
    assert (len(doctor_plants.FAULTS), len(doctor_plants.PAIRS), len(doctor_plants.HEALTHY)) == (12, 6, 20)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ACT after two steps of training on a few episodes."""
    monkeypatch.setattr(reach_act, "EPISODES", 10)
    return reach_act.trained_act(tmp_path, 2)


@without_lerobot
def test_an_act_that_lerobot_trained_is_a_folder_like_any_other(folder: Path) -> None:
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["type"] == "act"
    source = load_policy(str(folder))
    assert source.verified
    assert set(source.spec.cameras or ()) == {"main", "wrist"}
    assert (source.spec.chunk, source.spec.horizon) == (reach_act.CHUNK, 2)
    key = SUITE.episode("reach", "test", 0)
    observation, _ = SUITE.make_env("reach").reset(options={"episode": key})
    try:
        (chunk,) = source.policy.act([observation], [source.policy.reset(key)])
    finally:
        source.policy.close()
    assert chunk.shape == (reach_act.CHUNK, 4)
    assert abs(chunk[:, :3]).max() < 1, "metres: its own statistics were undone"
    assert reach_act.trained_act(folder.parent, 2) == folder, "kept, not made again"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name], "demonstrations are not left behind"


@without_lerobot
@pytest.mark.proof
def test_the_act_of_the_benchmark_solves_what_it_was_trained_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.doctor import source_of
    from pytest_vla.policies.conventions.converted import fitted

    monkeypatch.setattr("pytest_vla.registry._registered", {})
    vla.register(SUITE)
    policy, env = doctor_plants.pictured(), SUITE.make_env("reach")
    asked = fitted(source_of(policy).policy, SUITE, env, {})
    try:
        solved = [bool(vla.rollout(asked, env, SUITE.episode("reach", "test", index))) for index in range(50)]
    finally:
        policy.close()
    assert sum(solved) > 40
