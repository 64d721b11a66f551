"""In which scenes a cause fails: suggested by some scenes, confirmed by others."""

import random

import pytest

from pytest_vla.hunt.conditions import condition_of, split, suggest
from pytest_vla.run.hunts import Condition, Count


def scenes(fails, count=40, seed=0):
    draw = random.Random(seed)
    made = [
        {"side": draw.choice(["left", "right"]), "x": round(draw.random(), 3), "object": draw.choice("abc")}
        for _ in range(count)
    ]
    return [(scene, fails(scene)) for scene in made]


@pytest.mark.parametrize(
    ("fails", "text"),
    [
        (lambda scene: scene["side"] == "left", "side = left"),
        (lambda scene: scene["object"] == "b", "object = b"),
        (lambda scene: scene["x"] < 0.4, "x < 0.4"),
        (lambda scene: scene["x"] > 0.6, "x > 0.6"),
    ],
)
def test_the_feature_that_parts_failing_from_solved_scenes_is_named(fails, text):
    condition = condition_of(scenes(fails), scenes(fails, seed=1))
    feature, relation, value = text.split()
    assert (condition.feature, condition.relation) == (feature, relation)
    assert str(condition) == text or float(value) == pytest.approx(condition.value, abs=0.05)
    assert condition.inside.rate > 0.9
    assert condition.outside.rate < 0.1


def test_what_other_scenes_do_not_confirm_is_not_said():
    left = scenes(lambda scene: scene["side"] == "left")
    assert suggest(left) is not None
    assert condition_of(left, scenes(lambda scene: scene["x"] < 0.5, seed=3)) is None
    assert condition_of(left, []) is None


@pytest.mark.parametrize("failed", [True, False])
def test_where_all_scenes_come_out_alike_there_is_no_condition(failed):
    assert suggest(scenes(lambda scene: failed)) is None


@pytest.mark.parametrize("seed", range(5))
def test_chance_is_no_condition(seed):
    coin = random.Random(seed)
    assert suggest(scenes(lambda scene: coin.random() < 0.4, seed=seed)) is None


def test_a_scene_without_the_feature_is_elsewhere():
    condition = Condition("x", "<", 0.5)
    assert [condition.holds(scene) for scene in ({"x": 0.4}, {"x": 0.5}, {}, {"x": "low"})] == [
        True,
        False,
        False,
        False,
    ]
    assert Condition("side", "=", "left").holds({"side": "left"})
    assert split(condition, [({"x": 0.1}, True), ({}, True), ({"x": 0.2}, False)]) == (Count(1, 2), Count(1, 1))


def test_features_of_none_of_the_scenes_suggest_nothing():
    assert suggest([({}, True), ({}, False)]) is None
    assert suggest([]) is None
