"""What a hunt found is measured on the same fresh scenes: each cause, one level lower, and unperturbed."""

import pytest

from pytest_vla.hunt.brittleness import brittleness
from pytest_vla.hunt.history import History
from pytest_vla.hunt.measure import Measurement
from pytest_vla.hunt.outcome import Cause, Outcome
from pytest_vla.hunt.space import Space
from pytest_vla.run.hunts import Count

SPACE = Space(
    ("camera.yaw", "camera.orbit", "language.case", "robot.delay"),
    ordered=(True, True, False, True),
    signed=(True, True, False, False),
)


def cause(*point, confirmed=None):
    return Cause(point, 0, confirmed or Count(4, 4))


def measurement(*causes, answers=None, most=60):
    return Measurement(SPACE, causes, most, answers or {})


@pytest.mark.parametrize(
    ("point", "lower"),
    [
        ((3, 0, 0, 0), (2, 0, 0, 0)),
        ((-3, 0, 0, 2), (-2, 0, 0, 1)),
        ((0, 0, 4, 3), (0, 0, 4, 2)),
        ((1, 0, 0, 0), None),  # that is no perturbation
        ((0, 0, 4, 0), None),  # nothing is between an alternative and none
    ],
)
def test_one_level_lower_is_nearer_to_neutral(point, lower):
    assert measurement().lower(point) == lower


def test_all_arms_share_the_scenes_and_the_first_is_unperturbed():
    arms = measurement(cause(3, 0, 0, 0), cause(0, 0, 4, 0), cause(2, 0, 0, 0)).arms
    assert arms == [(0, 0, 0, 0), (3, 0, 0, 0), (2, 0, 0, 0), (0, 0, 4, 0), (1, 0, 0, 0)]


def test_a_share_takes_more_scenes_to_measure_than_a_certainty():
    surely, partly = cause(3, 0, 0, 0), cause(3, 0, 0, 0, confirmed=Count(7, 16))
    assert measurement(surely).reserve(1000) == 10 * 3
    assert measurement(surely).reserve(100) == 10
    assert measurement(partly).reserve(1000) == 60 * 3
    assert measurement(partly).reserve(100) == 20


WHOLE, PART = (3, 0, 4, 0), (3, 0, 0, 0)


@pytest.mark.parametrize(
    ("part_fails", "whole_fails", "reported"),
    [
        (12, 13, PART),  # as often: the other axis is superfluous
        (13, 12, PART),
        (2, 13, WHOLE),  # as often as without any perturbation
        (6, 18, WHOLE),  # more often than that, but most of the failures need the whole
    ],
)
def test_a_part_is_reported_where_it_fails_as_the_whole_does(part_fails, whole_fails, reported):
    answers = {
        WHOLE: {scene: scene >= whole_fails for scene in range(20)},
        PART: {scene: scene >= part_fails for scene in range(20)},
    }
    made = Measurement(SPACE, [cause(*WHOLE)], 20, answers, parts={WHOLE: [PART]})
    assert PART in made.arms
    (found,) = made.finished(History(SPACE), lambda scene: {}, Count(4, 40))
    assert found.point == reported
    assert answers[reported][found.seed] is False or reported == WHOLE


def test_two_causes_with_the_same_part_are_one():
    other = (4, 0, 0, 2)
    fails = {scene: scene >= 12 for scene in range(20)}
    answers = {WHOLE: fails, other: fails, PART: fails}
    made = Measurement(SPACE, [cause(*WHOLE), cause(*other)], 20, answers, parts={WHOLE: [PART], other: []})
    assert [found.point for found in made.finished(History(SPACE), lambda scene: {}, Count(4, 40))] == [PART]


def test_rates_are_those_of_the_measured_scenes_and_errors_are_none_of_them():
    made = measurement(cause(3, 0, 0, 0), most=3)
    for scene, solved in enumerate([True, False, None, False]):
        made.add((3, 0, 0, 0), scene, solved)
        assert made.enough == (scene == 3)
    made.add((2, 0, 0, 0), 0, True)
    (found,) = made.finished(History(SPACE), lambda scene: {}, Count(0, 10))
    assert found.rate == Count(2, 3)
    assert found.lower == ((2, 0, 0, 0), Count(0, 1))
    assert found.condition is None


def sides(*failing, count=12):
    return {scene: scene not in failing for scene in range(count)}


YAW, ORBIT, DELAY = (3, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 3)


@pytest.mark.parametrize(
    ("answers", "also"),
    [
        ({YAW: sides(1, 3, 5, 7), ORBIT: sides(1, 3, 5, 7)}, True),
        ({YAW: sides(1, 3, 5, 7), ORBIT: sides(1, 3, 5, 8)}, False),
        ({YAW: sides(1, 3, 5, 7), ORBIT: sides(1, 3, 5)}, True),  # in eleven of twelve alike
        ({YAW: sides(*range(12)), ORBIT: sides(*range(12))}, False),  # all fail: nobody can tell
        ({YAW: sides(4), ORBIT: sides(4)}, False),  # once may be chance
        ({YAW: sides(1, 3, 5, 7), ORBIT: {}}, False),
    ],
)
def test_axes_of_a_group_that_fail_in_the_same_scenes_are_one_cause(answers, also):
    causes = measurement(cause(*YAW), cause(*ORBIT), answers=answers).finished(
        History(SPACE), lambda scene: {}, Count(0, 10)
    )
    named = [(found.point, found.also) for found in causes]
    assert named == ([(ORBIT, (YAW,))] if also else [(ORBIT, ()), (YAW, ())])


def test_axes_of_different_groups_stay_apart():
    answers = {YAW: sides(1, 3, 5, 7), DELAY: sides(1, 3, 5, 7)}
    causes = measurement(cause(*YAW), cause(*DELAY), answers=answers).finished(
        History(SPACE), lambda scene: {}, Count(0, 10)
    )
    assert [found.also for found in causes] == [(), ()]


def test_a_condition_is_suggested_by_other_scenes_than_those_that_measure_it():
    history = History(SPACE)
    for scene in range(100, 120):
        history.add((4, 0, 0, 5), scene, scene % 2 == 0)
    made = measurement(cause(*YAW), answers={YAW: {scene: scene % 2 == 0 for scene in range(12)}})
    (found,) = made.finished(history, lambda scene: {"side": "right" if scene % 2 == 0 else "left"}, Count(0, 10))
    assert str(found.condition) == "side = left"
    assert (found.condition.inside, found.condition.outside) == (Count(6, 6), Count(0, 6))
    (alone,) = made.finished(
        History(SPACE), lambda scene: {"side": "right" if scene % 2 == 0 else "left"}, Count(0, 10)
    )
    assert alone.condition is None


# --- the map ----------------------------------------------------------------------------------------------------------


def outcome(*answers, causes=(), controls=40):
    history = History(SPACE)
    for scene, (point, solved) in enumerate(answers):
        history.add(point, scene, solved)
    return Outcome(SPACE, history, list(causes), dict.fromkeys(range(controls), True))


def test_an_axis_that_fails_more_often_than_without_it_is_not_robust():
    """Failing scenes were certified robust, since solved ones alone were counted."""
    at_yaw = [((level, 0, 0, 0), solved) for level in (4, 6, 8, -5) for solved in [True] * 6 + [False] * 4]
    reach = brittleness(outcome(*at_yaw, *[((2, 0, 0, 0), True)] * 9))["camera.yaw"]
    assert reach.fails_at is None
    assert (reach.holds_to, reach.episodes, reach.failed) == (2, 9, 0)
    assert reach.doubtful == Count(16, 40)


def test_a_level_that_fails_too_often_is_not_held_to_because_a_higher_one_fails_more():
    shuffled = [((0, 0, 0, 4), solved) for solved in [True] * 41 + [False] * 23]
    worse = [((0, 0, 0, 5), False)] * 10
    reach = brittleness(outcome(*shuffled, *worse, ((0, 0, 0, 3), True), ((0, 0, 0, 2), True)))["robot.delay"]
    assert (reach.holds_to, reach.failed, reach.doubtful) == (3, 0, Count(33, 74))


def test_failures_of_the_policys_own_do_not_make_an_axis_doubtful():
    base = [((0, 0, 0, 4), solved) for solved in [True] * 24 + [False] * 16]
    at_yaw = [((8, 0, 0, 0), solved) for solved in [True] * 12 + [False] * 8]
    reach = brittleness(outcome(*base, *at_yaw, controls=0))["camera.yaw"]
    assert (reach.holds_to, reach.episodes, reach.failed, reach.doubtful) == (8, 20, 8, None)


def test_what_a_cause_explains_is_held_against_no_other_axis():
    made = outcome(*[((5, 0, 0, 8), False)] * 20, *[((0, 0, 0, 8), True)] * 5, causes=[cause(5, 0, 0, 0)])
    reaches = brittleness(made)
    assert reaches["camera.yaw"].fails_at == 5
    assert (reaches["robot.delay"].holds_to, reaches["robot.delay"].doubtful) == (8, None)


def test_the_nearer_direction_of_a_cause_is_named():
    made = outcome(causes=[cause(5, 0, 0, 0), cause(-3, 0, 0, 0), cause(2, 0, 0, 4)])
    assert brittleness(made)["camera.yaw"].fails_at == -3
    assert brittleness(made)["robot.delay"].together_with == ("camera.yaw",)


def test_too_much_at_once_is_held_against_no_axis():
    made = outcome(*[((8, 8, 0, 8), False)] * 20)
    made.too_much = 24
    assert brittleness(made)["robot.delay"].doubtful is None
