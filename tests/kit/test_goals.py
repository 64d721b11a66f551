"""Goals and judges without a simulator: what counts, in which order, and how near it is."""

import math

from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.kit.goals import ALMOST, At, LeaveAlone, LetGo, Past, StagedJudge, StayInside, TableState, Ways
from pytest_vla.sim.pose import Pose

shares = st.floats(0, 1)
coordinates = st.floats(-1, 1)
TARGET = (0.3, 0.0)


def state(x=0.0, y=0.0, z=0.0, opening_m=0.036, **joints):
    return TableState((0.0, 0.0, 0.1), opening_m, {"block": Pose((x, y, z))}, joints)


@given(st.floats(1e-6, 10), st.lists(st.floats(0, 20), max_size=5))
def test_a_way_starts_at_nothing_and_stays_within_0_and_1(first, gaps):
    ways = Ways()
    assert ways.made("goal", first) == 0
    assert all(0 <= ways.made("goal", gap) <= 1 for gap in gaps)
    assert ways.made("goal", 0.0) == 1


@given(st.floats(1e-6, 10), shares, shares)
def test_less_of_a_gap_is_more_of_the_way(first, a, b):
    ways = Ways()
    ways.made("goal", first)
    near, far = sorted((a, b))
    assert ways.made("goal", near * first) >= ways.made("goal", far * first)


@given(coordinates, coordinates)
def test_the_gap_of_a_thing_is_what_it_is_short_of_its_tolerance(x, y):
    goal, away = At("block", TARGET, 0.1), math.dist((x, y), TARGET)
    assert goal.gap(state(x, y)) == max(away - 0.1, 0)
    assert goal.holds(state(x, y)) == (away < 0.1)


@given(st.floats(0, 0.036))
def test_what_is_held_is_not_yet_let_go(opening_m):
    goal = LetGo(At("block", TARGET, 0.1), 0.03)
    assert goal.holds(state(*TARGET, opening_m=opening_m)) == (opening_m >= 0.03)
    assert not goal.holds(state(opening_m=opening_m))
    assert goal.thing == "block"


@given(st.floats(0, 0.1))
def test_a_joint_counts_from_its_least_on(value):
    goal = Past("drawer", 0.05)
    assert goal.holds(state(drawer=value)) == (value >= 0.05) == (goal.gap(state(drawer=value)) == 0)


def test_stages_come_one_after_the_other():
    judge = StagedJudge([Past("left", 1.0), Past("right", 1.0)], [Past("lid", 1.0)])
    assert not judge.update(state(left=0.0, right=1.0, lid=1.0)).success
    assert [goal.thing for goal in judge.open_goals()] == ["left"]
    assert not judge.update(state(left=1.0, right=0.0, lid=1.0)).success, "what was met is remembered"
    assert judge.update(state(left=0.0, right=0.0, lid=1.0)).success


@given(st.lists(shares, min_size=1, max_size=6))
def test_progress_is_one_exactly_when_all_is_done(way):
    judge = StagedJudge([Past("button", 1.0)])
    judge.progress(state(button=0.0))
    for pressed in way:
        verdict = judge.update(state(button=pressed))
        progress = judge.progress(state(button=pressed))
        assert (progress == 1) == judge.complete
        assert judge.complete or progress <= ALMOST
        if verdict.success:
            break


def test_what_is_to_be_left_alone_loses_the_episode():
    judge = StagedJudge([Past("red", 0.5)], rules=[LeaveAlone(("blue",), 0.5)])
    assert judge.update(state(red=0.0, blue=0.5)).failure == "blue was to be left alone"
    assert not judge.update(state(red=1.0, blue=0.5)).success


@given(coordinates, coordinates)
def test_a_thing_that_left_the_workspace_loses_the_episode(x, y):
    judge = StagedJudge([At("block", (9.0, 9.0), 0.1)], rules=[StayInside((-0.5, 0.5), (-0.2, 0.2))])
    assert bool(judge.update(state(x, y)).failure) == (abs(x) > 0.5 or abs(y) > 0.2)
