"""What a scene is like, as drawn: in the result, in the run file, and the same whatever the perturbation."""

import csv
import json

import pytest

from pytest_vla.cli import main
from pytest_vla.episode import Result
from pytest_vla.registry import get_suite
from pytest_vla.rollout import rollout
from pytest_vla.run import Record

EPISODES = 12


def scenes(suite, env, task):
    partition = suite.select([task])[0][1]
    for index in range(EPISODES):
        key = suite.episode(task, partition, index)
        env.reset(seed=key.seed(), options={"episode": key})
        yield dict(suite.features(env))


@pytest.mark.parametrize(("name", "module"), [("bomb", "mujoco"), ("bomb_bullet", "pybullet"), ("vima", "pybullet")])
def test_every_task_has_at_least_three_features_that_vary(name, module):
    pytest.importorskip(module)
    suite = get_suite(name)
    env = suite.make_env(suite.tasks()[0])
    for task in suite.tasks():
        found = list(scenes(suite, env, task))
        varied = [feature for feature in found[0] if len({scene[feature] for scene in found}) > 1]
        assert len(varied) >= 3, f"{task}: {varied}"
        assert {scene["side"] for scene in found} >= {"left", "right"}, task
    env.close()


@pytest.mark.parametrize("perturbation", ["", "layout.objects=8,camera.yaw=-8,object.scale=8"])
def test_an_episode_is_recorded_with_its_scene(perturbation):
    pytest.importorskip("mujoco")
    suite = get_suite("bomb")
    env = suite.make_env("place_stone")
    result = rollout(suite.oracle(env), env, suite.episode("place_stone", "unperturbed", 0), perturbation)
    env.close()
    assert result.scene == {
        "colour": "white",
        "side": "right",
        "board_column": "left",
        "board_row": "near",
        "way_m": 0.234,
        "stones": 2.0,
    }
    line = json.loads(json.dumps(Record(result).to_record()))
    assert line["scene"] == result.scene
    assert Record.from_record(line).result.scene == result.scene
    assert "scene" not in Result.from_record(line).extra


def test_a_scene_that_is_no_mapping_to_texts_and_numbers_is_refused():
    line = {"suite": "s", "task": "t", "partition": "p", "index": 0, "outcome": "solved"}
    assert Result.from_record(line).scene == {}
    for scene in (["left"], {"side": None}, {"way_m": float("nan")}):
        with pytest.raises(ValueError, match=r"scene|side|way_m"):
            Result.from_record({**line, "scene": scene})


def test_scenes_are_a_column_of_the_csv_and_have_rates_in_the_json(reach):
    reach.makepyfile(
        test_sided="""
import pytest_vla as vla
from test_reach import ReachSuite

class Sided(ReachSuite):
    name = "sided"
    def features(self, env):
        return {"side": "left" if env.goal[0] < 0 else "right"}

@vla.benchmark(Sided())
def test_sided(policy, env, episode):
    assert vla.rollout(policy, env, episode)
"""
    )
    reach.runpytest(
        "--vla-run-dir=run", "--vla-policy=oracle", "--vla-suite=sided", "--vla-episodes=2", "test_sided.py"
    )
    for kind in ("csv", "json"):
        assert main(["export", str(reach.path / "run"), f"--format={kind}", "-o", str(reach.path / f"run.{kind}")]) == 0
    rows = list(csv.DictReader((reach.path / "run.csv").open(encoding="utf-8")))
    sides = [json.loads(row["scene"])["side"] for row in rows]
    assert len(sides) == 8
    scenes = json.loads((reach.path / "run.json").read_text(encoding="utf-8"))["scenes"]
    assert sum(scene["solved"] for scene in scenes if scene["value"] == "left") == sides.count("left")
