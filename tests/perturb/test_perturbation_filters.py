"""Filters over frames, words and actions: neutral changes nothing, levels do what they say, draws are the key's."""

from itertools import pairwise

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_vla.perturb import AXES, MAX_LEVEL
from pytest_vla.perturb.actions import Actuator

IMAGES = [axis for axis in AXES.values() if axis.stage == "image"]
TEXTS = [axis for axis in AXES.values() if axis.stage == "instruction"]
ACTIONS = [axis for axis in AXES.values() if axis.stage == "action"]
SENTENCE = "Place the {dragged_obj} into the {base_obj} at position (3,4)."
SPACE = spaces.Dict({"move": spaces.Box(-1, 1, (3,), np.float32), "grip": spaces.Discrete(2)})


def by_name(axis):
    return axis.name


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def photo():
    y, x = np.mgrid[0:192, 0:256]
    tiles = 60 * ((x // 11 + y // 7) % 2)
    return np.stack([x * 0.7 + tiles, y * 0.9, 200 - x * 0.4 + tiles * 0.5], axis=2).clip(0, 255).astype(np.uint8)


def actuator():
    return Actuator(SPACE, lambda last: {"move": np.zeros(3, np.float32), "grip": 0} if last is None else last)


def action(value):
    return {"move": np.full(3, value, np.float32), "grip": 1}


# --- frames -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", IMAGES, ids=by_name)
def test_a_neutral_frame_is_the_same_bits(axis, photo):
    pytest.importorskip("PIL")
    assert np.array_equal(axis.image_filter(0, rng())(photo), photo)


@pytest.mark.parametrize("axis", [a for a in IMAGES if a.name != "sensor.dropped_frames"], ids=by_name)
def test_every_further_level_changes_the_frame_more(axis, photo):
    pytest.importorskip("PIL")
    changes = []
    for level in range(MAX_LEVEL + 1):
        seen = axis.image_filter(level, rng())(photo)
        assert seen.dtype == np.uint8
        assert seen.shape == photo.shape
        changes.append(np.abs(seen.astype(int) - photo).mean())
    assert changes[1] > 0
    assert changes == sorted(changes)


@pytest.mark.parametrize("axis", IMAGES, ids=by_name)
def test_the_same_draws_give_the_same_frames_and_the_original_is_left_alone(axis, photo):
    pytest.importorskip("PIL")
    before = photo.copy()
    one, two = axis.image_filter(8, rng(5)), axis.image_filter(8, rng(5))
    for _ in range(3):
        assert np.array_equal(one(photo), two(photo))
    assert np.array_equal(photo, before)


def test_noise_is_new_in_each_frame_and_a_patch_stays_where_it_is(photo):
    noise, patch = AXES["sensor.noise"].image_filter(4, rng()), AXES["sensor.patch"].image_filter(4, rng())
    assert not np.array_equal(noise(photo), noise(photo))
    assert np.array_equal(patch(photo), patch(photo))


def test_a_patch_covers_the_stated_share(photo):
    flat = np.zeros((200, 200, 3), np.uint8)
    seen = AXES["sensor.patch"].image_filter(8, rng())(flat)
    assert (seen[:, :, 0] > 0).mean() == pytest.approx(0.24, abs=0.01)


def test_dropped_frames_show_the_last_one_again_and_the_first_always_arrives():
    see = AXES["sensor.dropped_frames"].image_filter(8, rng(1))
    shown = [int(see(np.full((2, 2, 3), n, np.uint8))[0, 0, 0]) for n in range(200)]
    assert shown[0] == 0
    assert all(now in (n, before) for n, (before, now) in enumerate(pairwise(shown), start=1))
    assert np.mean([now != n for n, now in enumerate(shown)]) == pytest.approx(0.64, abs=0.1)


@pytest.mark.parametrize("level", range(1, MAX_LEVEL + 1))
def test_a_lost_camera_is_black_in_so_many_of_eight_frames_and_the_others_see_on(photo, level):
    lose = AXES["sensor.camera_loss"].cameras_filter(level, rng(level))
    shown = [lose({"front": photo, "wrist": photo}) for _ in range(16)]
    black = {name: [not images[name].any() for images in shown] for name in ("front", "wrist")}
    (lost,) = [name for name, frames in black.items() if any(frames)]
    assert black[lost] == 2 * ([True] * level + [False] * (MAX_LEVEL - level))


def test_either_camera_is_lost_in_some_episode_and_the_only_one_never_for_good(photo):
    lost = set()
    for seed in range(20):
        images = AXES["sensor.camera_loss"].cameras_filter(8, rng(seed))({"a": photo, "b": photo})
        lost |= {name for name, image in images.items() if not image.any()}
    assert lost == {"a", "b"}
    alone = AXES["sensor.camera_loss"].cameras_filter(8, rng())
    assert [alone({"a": photo})["a"].any() for _ in range(8)] == [False] * 7 + [True]


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 80), st.integers(0, 80))
def test_a_patch_keeps_off_a_thing_on_a_plain_table(seed, level, x, y):
    frame = np.full((128, 128, 3), 90, np.uint8)
    frame[y : y + 12, x : x + 12] = (200, 30, 30)
    seen = AXES["sensor.patch"].image_filter(level, rng(seed))(frame)
    assert (seen[y : y + 12, x : x + 12] == frame[y : y + 12, x : x + 12]).all(axis=2).mean() > 0.5


# --- states -----------------------------------------------------------------------------------------------------------

STATES = [axis for axis in AXES.values() if axis.stage == "state"]


@pytest.mark.parametrize("axis", STATES, ids=by_name)
def test_a_neutral_state_is_the_same_bits_and_whole_numbers_always_are(axis):
    joints, tool = np.array([0.1, -0.2], np.float32), np.array([3])
    assert np.array_equal(axis.state_filter(0, rng())(joints), joints)
    assert axis.state_filter(8, rng())(tool) is tool
    assert axis.state_filter(8, rng())(joints).dtype == np.float32


def test_state_noise_is_new_at_each_step_and_as_large_as_stated():
    through = AXES["robot.state_noise"].state_filter(8, rng())
    seen = np.array([through(np.zeros(4)) for _ in range(500)])
    assert seen.std() == pytest.approx(0.02, rel=0.1)
    assert not np.array_equal(seen[0], seen[1])


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_a_state_bias_is_the_same_all_along_and_of_the_stated_size(seed, level):
    through = AXES["robot.state_bias"].state_filter(level, rng(seed))
    first, later = through(np.zeros(6)), through(np.ones(6)) - 1
    assert np.allclose(first, later)
    assert np.allclose(np.abs(first), 0.0025 * level)


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", TEXTS, ids=by_name)
def test_a_neutral_instruction_is_the_same_text(axis):
    for text in (SENTENCE, "", "  odd  spacing "):
        assert axis.text_filter(0, rng())(text) == text


@pytest.mark.parametrize("axis", TEXTS, ids=by_name)
@pytest.mark.parametrize("level", range(1, MAX_LEVEL + 1))
def test_every_level_rewords_the_instruction_and_keeps_the_marks_of_images(axis, level):
    text = axis.text_filter(level, rng())(SENTENCE)
    assert text != SENTENCE
    if axis.name not in ("language.omit", "language.empty"):
        assert "{dragged_obj}" in text
        assert "{base_obj}" in text


def test_the_empty_instruction_is_a_control_of_its_own():
    assert AXES["language.empty"].text_filter(1, rng())(SENTENCE) == ""
    assert AXES["language.empty"].control


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_however_many_words_are_missing_the_most_telling_one_is_left(seed):
    omit = AXES["language.omit"]
    assert omit.text_filter(8, rng(seed))(SENTENCE) == "{dragged_obj}"
    assert omit.text_filter(8, rng(seed))("place the black stone at position (3,4)") == "(3,4)"
    assert omit.text_filter(7, rng(seed))("go") == "go"


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 7))
def test_more_words_are_missing_at_a_higher_level_and_none_come_back(seed, level):
    axis = AXES["language.omit"]
    fewer, more = (axis.text_filter(each, rng(seed))(SENTENCE).split() for each in (level + 1, level))
    assert len(fewer) <= len(more)
    assert set(fewer) <= set(more)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_typing_errors_spare_numbers(seed, level):
    assert "(3,4)." in AXES["language.typos"].text_filter(level, rng(seed))(SENTENCE)


@settings(max_examples=50, deadline=None)
@given(st.text(), st.sampled_from(TEXTS), st.integers(0, 8), st.integers(0, 9))
def test_any_text_can_be_reworded_the_same_way_twice(text, axis, level, seed):
    assert axis.text_filter(level, rng(seed))(text) == axis.text_filter(level, rng(seed))(text)


# --- actions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", ACTIONS, ids=by_name)
def test_neutral_actions_are_the_same_bits(axis):
    through = axis.action_filter(0, rng(), actuator())
    for value in (0.25, -1.0, 1.5):
        result = through(action(value))
        assert np.array_equal(result["move"], action(value)["move"])
        assert result["grip"] == 1


def test_action_noise_is_a_share_of_the_range_and_leaves_choices_alone():
    through = AXES["robot.action_noise"].action_filter(8, rng(), actuator())
    moves = np.array([through(action(0))["move"] for _ in range(500)])
    assert moves.std() == pytest.approx(0.004 * 2, rel=0.1)
    assert moves.dtype == np.float32
    assert through(action(0))["grip"] == 1


def test_noise_never_brings_an_action_out_of_bounds_nor_one_that_was_out_back_in():
    through = AXES["robot.action_noise"].action_filter(8, rng(), actuator())
    assert all(through(action(1.0))["move"].max() <= 1 for _ in range(50))
    assert all(through(action(3.0))["move"].max() > 2 for _ in range(50))


@pytest.mark.parametrize(("level", "late"), [(2, 1), (4, 2), (8, 4)])
def test_a_delay_holds_until_the_first_action_arrives(level, late):
    through = AXES["robot.delay"].action_filter(level, rng(), actuator())
    done = [float(through(action(n))["move"][0]) for n in range(1, 9)]
    assert done == [0.0] * late + [float(n) for n in range(1, 9 - late)]


def test_a_lost_action_makes_the_robot_hold_the_last_one():
    through = AXES["robot.dropped_actions"].action_filter(8, rng(), actuator())
    done = [float(through(action(n))["move"][0]) for n in range(1, 200)]
    lost = [now != n for n, now in enumerate(done, start=1)]
    assert np.mean(lost) == pytest.approx(0.24, abs=0.1)
    assert all(now in (n, before) for n, (before, now) in enumerate(zip([0.0, *done], done, strict=False), start=1))


@settings(deadline=None)
@given(st.floats(-1, 1), st.integers(1, 8), st.sampled_from([-1, 1]))
def test_a_gain_scales_about_the_middle_of_the_range(value, level, sign):
    through = AXES["robot.action_gain"].action_filter(sign * level, rng(), actuator())
    expected = np.clip(np.float32(value) * (1 + sign * 0.0025 * level), -1, 1)
    assert np.allclose(through(action(value))["move"], expected, atol=1e-6)
    assert through(action(value))["grip"] == 1


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_an_action_bias_is_the_same_all_along_and_a_share_of_the_range(seed, level):
    through = AXES["robot.action_bias"].action_filter(level, rng(seed), actuator())
    offsets = [through(action(value))["move"] - np.float32(value) for value in (0.0, 0.5)]
    assert np.allclose(offsets[0], offsets[1], atol=1e-6)
    assert np.allclose(np.abs(offsets[0]), 0.00125 * level * 2, atol=1e-6)


def test_a_number_without_bounds_has_no_gain_no_bias_and_no_noise():
    free = Actuator(spaces.Box(-np.inf, np.inf, (2,), np.float32), lambda last: last)
    for name in ("robot.action_gain", "robot.action_bias", "robot.action_noise"):
        through = AXES[name].action_filter(8, rng(), free)
        assert np.array_equal(through(np.array([3.0, -4.0], np.float32)), [3.0, -4.0])
