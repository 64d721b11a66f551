"""Conventions are data: what differs between a policy and a suite is converted, or an error that names both sides."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import pytest_vla as vla
from benchmarks.reach_suite import Reach
from pytest_vla.policies.conventions import (
    CORRECTIONS,
    Camera,
    Conventions,
    Normalisation,
    Part,
    Wording,
    check_corrections,
    preset,
    preset_names,
)
from pytest_vla.policies.conventions.conversion import applied, conversion_for, misfit, shown
from pytest_vla.policies.conventions.declared import FORMS, SIZES
from pytest_vla.policies.conventions.rotations import from_matrix, to_matrix
from pytest_vla.policies.errors import PolicyError

DELTA = "agnostos_delta"

REPOSITORY = Path(__file__).parents[2]


def seen(position=(0.3, -0.1, 0.8), rotation=(0.0, 1.0, 0.0, 0.0), opening=1.0):
    return {"state": {"ee": np.array([*position, *rotation, opening], np.float32)}, "images": {}, "instruction": "Go."}


@pytest.mark.parametrize("form", FORMS)
def test_every_rotation_survives_its_form(form):
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    for number in range(20):
        matrix = rotation.random(rng=np.random.default_rng(number)).as_matrix()
        numbers = from_matrix(matrix, form)
        assert len(numbers) == SIZES[form]
        np.testing.assert_allclose(to_matrix(numbers, form), matrix, atol=1e-9)
        if form.startswith("euler"):
            np.testing.assert_allclose(rotation.from_euler(form[6:], numbers).as_matrix(), matrix, atol=1e-9)


def test_absolute_poses_with_another_gripper_become_small_steps():
    suite = vla.get_suite(DELTA)
    said = Conventions(
        action=(
            Part("gripper", closed=1.0, open=-1.0),
            Part("position", unit=0.001),
            Part("rotation", form="quaternion_wxyz"),
        )
    )
    conversion = conversion_for(said, suite)
    now = seen()
    made = conversion.do([-1.0, 310.0, -100.0, 790.0, 0.0, 0.0, 1.0, 0.0], now)
    np.testing.assert_allclose(made, [0.01, 0.0, -0.01, 0.0, 0.0, 0.0, 1.0], atol=1e-6)
    assert any("quaternion_wxyz" in line for line in conversion.lines)
    assert any("gripper 1 closed, -1 open -> gripper 0 closed, 1 open" in line for line in conversion.lines)


def test_small_steps_in_the_tools_axes_become_those_of_the_base():
    suite = vla.get_suite(DELTA)
    said = Conventions(
        action=(
            Part("position", mode="delta", frame="tool"),
            Part("rotation", mode="delta", frame="tool", form="axis_angle"),
            Part("gripper"),
        )
    )
    made = conversion_for(said, suite).do([0.01, 0, 0.02, 0, 0, 0.1, 1], seen())
    np.testing.assert_allclose(made, [-0.01, 0, -0.02, 0, 0, -0.1, 1], atol=1e-6)  # the hand points down


def test_what_cannot_be_converted_names_both_sides():
    said = Conventions(action=(Part("joints", size=7), Part("gripper")))
    why = misfit(said, vla.get_suite("bomb"))
    assert "joints (7)" in why
    assert "'bomb' takes absolute position in m, gripper 0 closed, 1 open" in why
    why = misfit(Conventions(cameras={"left": Camera(role="left")}), vla.get_suite("bomb"))
    assert "'left'" in why
    assert "'front' (main), 'wrist' (wrist)" in why


@pytest.mark.parametrize(
    ("said", "corrections", "refused"),
    [
        (Conventions(), {}, None),
        (
            Conventions(cameras={"image": Camera(shows="main")}),
            {},
            "needs camera 'main', 'wrist'; by its conventions.* has image$",
        ),
        (
            Conventions(cameras={"main": Camera(), "image": Camera(shows="wrist")}),
            {},
            "needs camera 'wrist'; .* has main, image$",
        ),
        (Conventions(cameras={"main": Camera()}), {"cameras": {"wrist": "main"}}, None),
        (Conventions(state=(Part("position"),)), {}, "needs state key 'ee'; by its conventions.* has state$"),
        (Conventions(state=(Part("position", name="ee"),)), {}, None),
    ],
)
def test_what_a_policy_needs_by_name_is_there_under_its_conventions(said, corrections, refused):
    spec = vla.PolicySpec(cameras=("main", "wrist"), state_keys=("ee",), conventions=said)
    mismatch = spec.mismatch(Reach(), corrections)
    assert (mismatch is None) if refused is None else re.search(refused, mismatch)


def test_a_policy_that_says_nothing_gets_what_the_suite_gives():
    for name in ("bomb", "vima", DELTA, "agnostos"):
        assert not conversion_for(Conventions(), vla.get_suite(name))


def test_pictures_are_turned_coloured_cropped_and_sized():
    image = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    np.testing.assert_array_equal(shown(image, Camera(), Camera(turn="rotate180")), image[::-1, ::-1])
    np.testing.assert_array_equal(shown(image, Camera(turn="vertical"), Camera()), image[::-1])
    np.testing.assert_array_equal(shown(image, Camera(turn="vertical"), Camera(turn="rotate180")), image[:, ::-1])
    np.testing.assert_array_equal(shown(image, Camera(), Camera(colours="bgr")), image[..., ::-1])
    assert shown(image, Camera(), Camera(crop=0.5)).shape == (4, 6, 3), "a crop keeps the size"
    assert shown(image, Camera(), Camera(size=(8, 8))).shape == (8, 8, 3)


@pytest.mark.parametrize("done", ["", "a"])
def test_statistics_are_chosen_by_their_key_also_where_the_policy_used_another(done):
    statistics = {"a": {"low": (0,) * 4, "high": (2,) * 4}, "b": {"low": (10,) * 4, "high": (20,) * 4}}
    said = Conventions(normalisation=Normalisation("min_max", "b", statistics, done))
    made = conversion_for(said, vla.get_suite("bomb")).do([1.0 if done else 0.0] * 4, {})
    np.testing.assert_allclose(made, [15.0] * 4)


def test_words_are_written_as_a_policy_knows_them():
    assert Wording("In: {instruction}?", "lower", "none")("Pick it up.") == "In: pick it up?"
    assert Wording(case="sentence", stop="stop")("pick it up") == "Pick it up."
    assert Wording()(" As it is. ") == " As it is. "


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_says_where_it_is_known_from_and_survives_being_written(name):
    said = preset(name)
    assert "/" in said.source
    assert Conventions.from_dict(json.loads(json.dumps(said.to_dict()))) == said


def test_the_asked_for_families_have_presets():
    asked = [
        "openvla",
        "openvla-oft",
        "pi0",
        "pi0-fast",
        "pi05",
        "smolvla",
        "spatialvla",
        "groot",
        "xvla",
        "cogact",
        "octo",
        "rdt",
    ]
    assert set(asked) <= set(preset_names())
    lines = applied(preset("openvla-oft"), vla.get_suite("libero"))
    assert "action: gripper 0 closed, 1 open -> gripper 1 closed, -1 open" in lines
    assert "state" not in " ".join(line for line in lines if line.startswith("state")), "both have it as LIBERO does"


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"griper": -1}, "did you mean 'gripper'"),
        ({"gripper": 2}, "gripper must be 1 or -1, got 2"),
        ({"turn": "left"}, "turn"),
        ({"rotation": "quat"}, "rotation form"),
        ({"scale": 0}, "scale must be a number above 0"),
        ({"wait": -1}, "wait must be a whole number"),
        ("gripper", "must be a table"),
    ],
)
def test_a_correction_that_cannot_be_meant_is_one_clear_error(table, says):
    with pytest.raises(PolicyError, match=says):
        check_corrections(table)


def test_every_correction_has_its_line_in_the_docs():
    from pytest_vla.policies.conventions.corrections import markdown_table

    page = (REPOSITORY / "docs" / "conventions.md").read_text(encoding="utf-8")
    assert markdown_table() in page
    assert all(f"`{name}`" in page for name in (*CORRECTIONS, *preset_names()))


RUN = """
import pytest_vla as vla
from benchmarks.reach_suite import Reach


@vla.benchmark(vla.register(Reach()), episodes=3)
def test_reach(policy, env, episode):
    assert vla.rollout(policy, env, episode)
"""
POLICY = """
import numpy as np
from benchmarks.doctor_plants import Miswired, Planner


def flipped():
    return Miswired(Planner(), do=lambda action: np.array([*action[:3], 1 - action[3]], np.float32))
"""


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["here", "served"])
def test_a_persons_correction_is_applied_said_and_recorded(pytester, monkeypatch, workers):
    monkeypatch.setenv("PYTHONPATH", f"{REPOSITORY}:{pytester.path}")
    pytester.makepyfile(test_reach=RUN, flipping=POLICY)
    pytester.makepyprojecttoml("[tool.pytest_vla.conventions]\ngripper = -1\n")
    result = pytester.runpytest_subprocess("--vla-policy=flipping:flipped", "--vla-run-dir=run", *workers)
    assert result.ret == 0
    first = json.loads((pytester.path / "run" / "run.jsonl").read_text().splitlines()[0])
    assert first["options"]["conventions"] == {"gripper": -1}
    assert "+conventions:" in first["policy"]["digest"]


def test_suites_declare_as_many_numbers_as_their_actions_have():
    for name in ("bomb", "vima", DELTA, "agnostos", "libero", "metaworld", "calvin"):
        suite = vla.get_suite(name)
        size = sum(part.size for part in suite.conventions.action)
        from pytest_vla.policies.actions import flatten_action

        try:
            space = suite.action_space(suite.tasks()[0])
        except Exception as error:  # no simulator here
            pytest.skip(str(error))
        assert len(flatten_action(space.sample())) == size, name


def test_the_reach_suite_keeps_the_contract():
    from pytest_vla.testing import check_suite

    check_suite(Reach())
