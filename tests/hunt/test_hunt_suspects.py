"""Suspicion by numbers: what it starts from, what is asked next, and what an answer changes."""

import numpy as np
import pytest

from pytest_vla.hunt.space import Space
from pytest_vla.hunt.suspects import Rates, Suspects, Thresholds

SPACE = Space(("a", "b", "c", "d"), ordered=(True, True, False, True))
NOTHING = np.zeros((0, 4), dtype=np.int64)


def solved(*points):
    return np.array(points, dtype=np.int64)


def weight(suspects, *axes):
    """Of one suspect; of `more than three axes` without any."""
    if not axes:
        return suspects.weights[-1]
    wanted = [axis in axes for axis in suspects.axes]
    return suspects.weights[:-1][(suspects.members == wanted).all(axis=1)].sum()


def test_every_axis_pair_and_triple_is_a_suspect_and_few_axes_are_likelier():
    suspects = Suspects.of(SPACE, (3, 3, 3, 3), NOTHING)
    assert len(suspects.members) == 4 + 6 + 4
    assert weight(suspects, 0) == pytest.approx(0.4 / 4)
    assert weight(suspects, 0, 1) == pytest.approx(0.3 / 6)
    assert weight(suspects, 0, 1, 2) == pytest.approx(0.2 / 4)
    assert weight(suspects) == pytest.approx(0.1)


def test_axes_that_are_neutral_are_no_suspects():
    suspects = Suspects.of(SPACE, (0, 3, 0, 3), NOTHING)
    assert suspects.axes == [1, 3]
    assert suspects.members.tolist() == [[True, False], [False, True], [True, True]]
    assert suspects.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("point", "vouches"),
    [
        ((3, 0, 0, 0), True),
        ((4, 0, 0, 0), True),  # an ordered axis one level farther off vouches too
        ((5, 0, 0, 0), False),  # between there may be a band that fails
        ((2, 0, 0, 0), False),
    ],
)
def test_what_was_solved_is_suspected_less(point, vouches):
    suspects = Suspects.of(SPACE, (3, 3, 0, 0), solved(point))
    ratio = weight(suspects, 0) / weight(suspects, 1)
    assert ratio == pytest.approx(0.35 if vouches else 1)
    assert weight(suspects) == pytest.approx(0.1)


def test_an_unordered_axis_vouches_for_its_own_level_only():
    suspects = Suspects.of(SPACE, (3, 0, 3, 0), solved((0, 0, 4, 0)))
    assert weight(suspects, 0) == pytest.approx(weight(suspects, 2))


def test_every_solved_point_takes_suspicion_away_but_never_all_of_it():
    twice = Suspects.of(SPACE, (3, 3, 0, 0), solved((3, 0, 0, 0), (3, 0, 0, 0)))
    assert weight(twice, 0) / weight(twice, 1) == pytest.approx(0.35**2)
    often = Suspects.of(SPACE, (3, 3, 0, 0), solved(*[(3, 0, 0, 0)] * 50))
    assert weight(often, 0) / weight(often, 1) == pytest.approx(1e-3)


def test_a_pair_is_vouched_for_where_both_were_off():
    suspects = Suspects.of(SPACE, (3, 3, 0, 3), solved((3, 3, 0, 0)))
    assert weight(suspects, 0, 1) / weight(suspects, 0, 3) == pytest.approx(0.35)
    assert weight(suspects, 0) / weight(suspects, 3) == pytest.approx(0.35)


def test_a_test_keeps_about_half_of_the_weight():
    suspects = Suspects.of(SPACE, (3, 3, 3, 3), NOTHING)
    kept = suspects.next_test()
    inside = sum(weight(suspects, *axes) for axes in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)))
    assert kept == [0, 1, 2]
    assert inside == pytest.approx(0.5)


def test_a_test_never_keeps_all_of_the_axes():
    both = [(3, 0, 0, 0), (0, 3, 0, 0)] * 5
    assert len(Suspects.of(SPACE, (3, 3, 0, 0), solved(*both)).next_test()) == 1


def test_a_test_of_one_axis_is_that_axis():
    assert Suspects.of(SPACE, (0, 0, 3, 0), NOTHING).next_test() == [2]


def test_an_answer_shifts_weight_by_how_far_it_can_be_trusted():
    suspects = Suspects.of(SPACE, (3, 3, 0, 0), NOTHING)
    before = weight(suspects, 0), weight(suspects, 1), weight(suspects)
    suspects.learn([0], solved=False, rates=Rates(0.9, 0.1), light=True)
    after = weight(suspects, 0), weight(suspects, 1), weight(suspects)
    assert after[0] / after[1] == pytest.approx(0.9 / 0.1 * before[0] / before[1])
    assert after[2] / after[1] == pytest.approx(before[2] / before[1]), "so little cannot be too much"
    assert suspects.weights.sum() == pytest.approx(1)
    suspects.learn([0], solved=True, rates=Rates(0.9, 0.1), light=True)
    assert (weight(suspects, 0), weight(suspects, 1), weight(suspects)) == pytest.approx(before)


def test_a_heavy_test_says_nothing_about_too_much():
    suspects = Suspects.of(SPACE, (3, 3, 0, 0), NOTHING)
    before = weight(suspects) / weight(suspects, 1)
    suspects.learn([0], solved=False, rates=Rates(0.9, 0.1), light=False)
    assert weight(suspects) / weight(suspects, 1) == pytest.approx(before * 0.5 / 0.1)


def test_the_likeliest_suspect_is_named_by_its_axes():
    suspects = Suspects.of(SPACE, (0, 3, 0, 3), NOTHING)
    suspects.learn([3], solved=False, rates=Rates(0.99, 0.01), light=True)
    axes, share = suspects.best()
    assert axes == [3]
    assert share == pytest.approx(weight(suspects, 3))
    for _ in range(4):
        suspects.learn([1], solved=True, rates=Rates(0.99, 0.01), light=True)
        suspects.learn([3], solved=True, rates=Rates(0.99, 0.01), light=True)
        suspects.learn([1, 3], solved=True, rates=Rates(0.99, 0.01), light=False)
    assert suspects.best()[0] is None, "more than three axes"


def test_any_level_may_be_the_threshold_at_first_and_half_of_them_are_asked():
    thresholds = Thresholds.of(SPACE, (7, 0, 0, 0), 0, NOTHING)
    assert thresholds.weights == pytest.approx([1 / 8] * 8)
    assert thresholds.best() == (0, pytest.approx(1 / 8))
    assert thresholds.next_test() == 3


def test_solved_levels_of_the_axis_vouch_for_those_below():
    thresholds = Thresholds.of(SPACE, (4, 0, 0, 0), 0, solved((2, 0, 0, 0)))
    assert thresholds.weights / thresholds.weights[-1] == pytest.approx([0.35, 0.35, 0.35, 1, 1])


def test_solved_points_without_the_rest_of_the_cause_vouch_for_nothing():
    thresholds = Thresholds.of(SPACE, (4, 2, 0, 0), 0, solved((3, 0, 0, 0), (3, 2, 0, 0), (3, 3, 0, 0)))
    assert thresholds.weights / thresholds.weights[-1] == pytest.approx([0.35**2] * 4 + [1])


def test_solved_points_as_far_off_as_the_cause_are_no_witnesses():
    thresholds = Thresholds.of(SPACE, (4, 0, 0, 0), 0, solved((4, 0, 0, 0), (6, 0, 0, 0)))
    assert thresholds.weights == pytest.approx([1 / 5] * 5)


@pytest.mark.parametrize("was_solved", [True, False])
def test_an_answer_at_a_level_moves_the_threshold(was_solved):
    thresholds = Thresholds.of(SPACE, (4, 0, 0, 0), 0, NOTHING)
    thresholds.learn(2, solved=was_solved, rates=Rates(0.9, 0.1))
    up_to, beyond = (0.1, 0.9) if was_solved else (0.9, 0.1)
    expected = np.array([up_to] * 3 + [beyond] * 2)
    assert thresholds.weights == pytest.approx(expected / expected.sum())
