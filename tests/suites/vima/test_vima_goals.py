"""Winning and losing, without a simulator: what satisfies a goal, what does not, and no way around the rules."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_vla.suites.vima.kit.sweep import SweepJudge
from pytest_vla.suites.vima.tasks import TASKS

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit.goals import At, KeepDistractorsAway, StagedJudge, turn_between
from pytest_vla.sim.pose import Pose, yaw_rotation

STAGED = [name for name, task in TASKS.items() if task.tool == "suction"]
SWEEPING = [name for name, task in TASKS.items() if task.tool == "spatula"]
TURNING = ("rotate", "twist")
SLACK_M = 1e-6

examples = settings(max_examples=25, deadline=None)
indices = st.integers(0, 200)
directions = st.floats(0, 2 * math.pi)


def episode(name, index, strict=False):
    """A fresh instance and where its things start."""
    task = TASKS[name]
    partition = list(task.partitions)[index % len(task.partitions)]
    instance = task.instance(EpisodeKey("vima", name, partition, index), strict=strict)
    return instance, {thing.label: thing.pose for thing in instance.things}


def at(state, goal, distance_m=0.0, direction=0.0, turn=0.0):
    """The state with a goal's thing at (or off) its place."""
    x, y = goal.spot
    yaw = (goal.yaw if goal.yaw is not None else state[goal.thing].yaw) + turn
    z = goal.z if goal.z is not None else state[goal.thing].position[2]
    spot = (x + distance_m * math.cos(direction), y + distance_m * math.sin(direction), z)
    return {**state, goal.thing: Pose(spot, yaw_rotation(yaw))}


def clear(judge, state):
    """The state with every distractor in the corner that is farthest from everything that matters."""
    rules = [rule for rule in judge.rules if isinstance(rule, KeepDistractorsAway)]
    labels = [label for rule in rules for label in rule.distractors]
    goals = [goal for stage in judge.stages for goal in stage]
    busy = [goal.spot for goal in goals] + [state[goal.thing].xy for goal in goals]
    corners = [(x, y) for x in (0.25, 0.75) for y in (-0.5, 0.5)]
    corner = max(corners, key=lambda spot: min(math.dist(spot, other) for other in busy))
    return state | {label: Pose((*corner, 0.0)) for label in labels}


@pytest.mark.parametrize("task", STAGED)
@pytest.mark.parametrize("strict", [False, True])
@examples
@given(index=indices)
def test_bringing_everything_to_its_place_in_order_solves_the_episode(task, strict, index):
    instance, state = episode(task, index, strict)
    judge = instance.judge
    progress = [judge.progress(state)]
    while goals := judge.open_goals():
        if judge.stage == 0 or not strict:
            state = clear(judge, state)
        state = at(state, goals[0])
        verdict = judge.update(state)
        assert not verdict.failure, verdict
        progress.append(judge.progress(state))
    assert verdict.success
    assert progress == sorted(progress)
    assert progress[0] < 1
    assert progress[-1] == 1


@pytest.mark.parametrize("task", STAGED)
@examples
@given(index=indices, direction=directions, beyond=st.floats(0, 0.2))
def test_an_object_past_the_tolerance_is_not_at_its_place(task, index, direction, beyond):
    instance, state = episode(task, index)
    goal = instance.judge.open_goals()[0]
    assert goal.holds(at(state, goal, goal.within_m - SLACK_M, direction))
    assert not goal.holds(at(state, goal, goal.within_m + SLACK_M + beyond, direction))


@pytest.mark.parametrize("task", TURNING)
@examples
@given(index=indices, turn=st.floats(math.radians(15) + 1e-6, math.pi), side=st.sampled_from([-1, 1]))
def test_a_turn_past_15_degrees_from_the_asked_one_does_not_count(task, index, turn, side):
    instance, state = episode(task, index)
    goal = instance.judge.open_goals()[0]
    assert goal.holds(at(state, goal, turn=side * math.radians(14.9)))
    assert not goal.holds(at(state, goal, turn=side * turn))


@pytest.mark.parametrize("name", ["rotate", "twist"])
@examples
@given(index=indices)
def test_turning_starts_at_the_drawn_yaw_and_goes_clockwise_by_the_shown_angle(name, index):
    instance, state = episode(name, index)
    goal = instance.judge.open_goals()[0]
    angle = math.degrees(turn_between(state[goal.thing].yaw, goal.yaw))
    assert round(angle) in (30, 60, 90, 120, 150)
    if name == "rotate":
        assert f" {round(angle)} degrees" in instance.prompt.text
    clockwise = Pose((0, 0, 0), yaw_rotation(state[goal.thing].yaw - math.radians(angle))).yaw
    assert turn_between(clockwise, goal.yaw) < 1e-6


@pytest.mark.parametrize("name", ["follow_order", "follow_motion"])
@examples
@given(index=indices)
def test_a_step_that_is_not_the_next_shown_move_loses(name, index):
    instance, state = episode(name, index)
    assert instance.judge.update(state).failure
    instance, state = episode(name, index)
    assert not instance.judge.update(at(state, instance.judge.open_goals()[0])).failure
    assert instance.judge.update(state | {}).failure or instance.judge.complete


@examples
@given(index=indices)
def test_the_neighbour_may_not_go_in_first(index):
    instance, state = episode("manipulate_old_neighbor", index)
    first, second = instance.judge.open_goals()
    assert instance.judge.update(at(state, second)).failure
    instance, state = episode("manipulate_old_neighbor", index)
    assert not instance.judge.update(at(state, first)).failure


@examples
@given(index=indices)
def test_no_container_may_be_skipped_and_a_detour_to_ones_own_is_tolerated(index):
    task = "pick_in_order_then_restore"
    instance, state = episode(task, index)
    (first,), (second,), (own,) = instance.judge.stages
    assert instance.judge.update(at(state, second)).failure
    instance, state = episode(task, index)
    for goal in (own, first, own, second):
        verdict = instance.judge.update(at(state, goal))
        assert not verdict.failure
        assert not verdict.success
    assert instance.judge.update(at(state, own)).success


@pytest.mark.parametrize("strict", [False, True])
@examples
@given(index=indices)
def test_restoring_counts_only_after_rearranging(strict, index):
    instance, state = episode("rearrange_then_restore", index, strict)
    assert not instance.judge.update(state).success
    assert instance.judge.stage == 0


def conflict(strict):
    """An episode in which a distractor lies on the target."""
    for index in range(200):
        instance, state = episode("rearrange_then_restore", index, strict)
        spot = instance.judge.stages[0][0].spot
        if "distractor" in state and math.dist(state["distractor"].xy, spot) < 0.01:
            return instance, state
    raise AssertionError("no episode has a distractor on its target")


def test_putting_the_distractor_back_is_punished_by_the_faithful_rules_and_demanded_by_the_strict_ones():
    for strict in (False, True):
        for back in (False, True):
            instance, state = conflict(strict)
            judge, away = instance.judge, Pose((0.7, 0.4, 0.02))
            goal = judge.open_goals()[0]
            assert not judge.update(at(state | {"distractor": away}, goal)).failure
            verdict = judge.update(state if back else state | {"distractor": away})
            assert verdict.success is (back is strict), (strict, back, verdict)
            assert bool(verdict.failure) is (back and not strict)


@pytest.mark.parametrize(
    "name", ["visual_manipulation", "novel_noun", "novel_adj", "same_shape", "scene_understanding"]
)
@examples
@given(index=indices)
def test_a_distractor_at_the_goal_loses(name, index):
    instance, state = episode(name, index)
    rule = next(rule for rule in instance.judge.rules if isinstance(rule, KeepDistractorsAway))
    assert instance.judge.update(state | {rule.distractors[0]: Pose((*rule.spots[0], 0.0))}).failure


@pytest.mark.parametrize("task", [name for name in STAGED if not name.startswith("follow_")])
@examples
@given(index=indices, direction=directions)
def test_a_task_object_off_the_table_loses(task, index, direction):
    instance, state = episode(task, index)
    goal = instance.judge.open_goals()[0]
    off = Pose((0.5 + 2 * math.cos(direction), 2 * math.sin(direction), 0.0))
    assert instance.judge.update(state | {goal.thing: off}).failure


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("strict", [False, True])
@examples
@given(index=indices)
def test_no_episode_starts_solved_or_lost(task, strict, index):
    instance, state = episode(task, index, strict)
    verdict = instance.judge.update(state)
    assert not verdict.success
    if not task.startswith("follow_"):
        assert not verdict.failure, verdict


def test_met_goals_stay_met():
    judge = StagedJudge([At("a", (0.5, 0.0), 0.1), At("b", (0.5, 0.3), 0.1)])
    away, spot = Pose((0.3, -0.3, 0.0)), Pose((0.5, 0.0, 0.0))
    judge.update({"a": spot, "b": away})
    assert judge.update({"a": away, "b": Pose((0.5, 0.3, 0.0))}).success


def test_stack_height_counts_under_strict_rules_only():
    for strict in (False, True):
        instance, state = episode("follow_order", 0, strict)
        goal = instance.judge.open_goals()[0]
        flat = at(state, goal)
        flat[goal.thing] = Pose((*goal.spot, 5.0))
        assert goal.holds(flat) is not strict


# --- sweeping ---------------------------------------------------------------------------------------------------------


def block(x, y, yaw=0.0):
    return Pose((x, y, 0.015), yaw_rotation(yaw))


def middle(judge, i=0):
    """Somewhere in the zone, different for each i."""
    zone = judge.zone
    return block((zone.x_low + zone.x_high) / 2, zone.y_low + (i + 1) * (zone.y_high - zone.y_low) / 5)


@pytest.mark.parametrize("task", SWEEPING)
@examples
@given(index=indices)
def test_exactly_the_asked_number_of_blocks_solves_and_one_more_loses(task, index):
    instance, state = episode(task, index)
    judge = instance.judge
    assert isinstance(judge, SweepJudge)
    for i, label in enumerate(judge.targets):
        state = state | {label: middle(judge, i)}
        verdict = judge.update(state)
        assert verdict.success is (i + 1 == judge.number)
        assert bool(verdict.failure) is (i + 1 > judge.number)


@pytest.mark.parametrize("task", SWEEPING)
@examples
@given(index=indices, yaw=directions)
def test_a_block_that_is_half_in_does_not_count_but_a_wrong_one_that_is_half_in_loses(task, index, yaw):
    instance, state = episode(task, index)
    judge = instance.judge
    edge = block(judge.zone.x_high, 0.0, yaw)
    if not judge.line.samples_in(edge):
        assert judge.update(state | {judge.targets[0]: edge}) == judge.update(state)
    assert judge.update(state | {judge.others[0]: edge}).failure


@pytest.mark.parametrize("task", SWEEPING)
@examples
@given(index=indices, share=st.floats(-0.45, 0.45))
def test_touching_the_line_at_a_look_loses_for_ever(task, index, share):
    instance, state = episode(task, index)
    judge = instance.judge
    x = (judge.line.x_low + judge.line.x_high) / 2
    on_line = {**state, judge.targets[-1]: block(x, share * (judge.line.y_high - judge.line.y_low))}
    judge.look_at_line(on_line)
    solved = state | {label: middle(judge, i) for i, label in enumerate(judge.targets[: judge.number])}
    assert judge.update(solved).failure


@pytest.mark.parametrize("task", SWEEPING)
@examples
@given(index=indices)
def test_a_block_that_was_swept_in_counts_for_good(task, index):
    instance, state = episode(task, index)
    judge = instance.judge
    for i, label in enumerate(judge.targets[: judge.number]):
        verdict = judge.update(state | {label: middle(judge, i)})  # the one before is out again
    assert verdict.success


@pytest.mark.parametrize("task", SWEEPING)
@examples
@given(index=indices)
def test_off_the_table_only_a_block_that_is_still_wanted_loses(task, index):
    instance, state = episode(task, index)
    judge, away = instance.judge, block(0.8, 0.3)
    assert not judge.update(state | {judge.others[0]: away}).failure
    solved = state | {label: middle(judge, i) for i, label in enumerate(judge.targets[: judge.number])}
    assert judge.update(solved | dict.fromkeys(judge.targets[judge.number :], away)).success
    instance, state = episode(task, index)
    assert instance.judge.update(state | {judge.targets[0]: away}).failure


@pytest.mark.parametrize("task", SWEEPING)
@examples
@given(index=indices)
def test_under_strict_rules_every_moment_counts_and_every_block_stays(task, index):
    instance, state = episode(task, index, strict=True)
    judge = instance.judge
    for label in (*judge.targets, *judge.others):
        assert judge.update(state | {label: block(0.8, 0.3)}).failure
    assert not judge.update(state).success
    for i, label in enumerate(judge.targets[: judge.number]):
        verdict = judge.update(state | {label: middle(judge, i)})
    assert verdict.success is (judge.number == 1)
    judge.look_at_line({**state, judge.targets[-1]: block((judge.line.x_low + judge.line.x_high) / 2, 0.0)})
    assert judge.update(state).failure
