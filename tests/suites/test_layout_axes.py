"""Where things stand under each layout axis, from the drawn episodes alone: what moves, how far, with which goals."""

import math
from dataclasses import replace

import numpy as np
import pytest
from pytest_vla.suites.bomb import axes as bomb_axes
from pytest_vla.suites.bomb.board import CLEARANCE_M, off_board_by
from pytest_vla.suites.bomb.edits import NEUTRAL as BOMB_NEUTRAL
from pytest_vla.suites.bomb.layout import shifted, still_nearest
from pytest_vla.suites.bomb.scene import labels_to_move, stone_of
from pytest_vla.suites.bomb.tasks import TASKS as BOMB_TASKS
from pytest_vla.suites.vima import axes as vima_axes
from pytest_vla.suites.vima.edits import NEUTRAL as VIMA_NEUTRAL
from pytest_vla.suites.vima.kit.elsewhere import bystanders, followed, receivers
from pytest_vla.suites.vima.kit.features import first_goal, movers
from pytest_vla.suites.vima.kit.prompt import ObjectImage
from pytest_vla.suites.vima.kit.scene import WORKSPACE_X_M, WORKSPACE_Y_M
from pytest_vla.suites.vima.objects import OBJECTS
from pytest_vla.suites.vima.tasks import TASKS as VIMA_TASKS

from pytest_vla.kit.goals import StagedJudge
from pytest_vla.kit.layout import distance
from pytest_vla.perturb import scene_edits
from pytest_vla.registry import get_suite

EPISODES = range(6)


def bomb(task, perturbation):
    """Drawn episodes of BOMB, each with its edits."""
    for index in EPISODES:
        key = get_suite("bomb").episode(task, "unperturbed", index, perturbation)
        instance = BOMB_TASKS[task].instance(key)
        yield instance, scene_edits(bomb_axes.TABLE, BOMB_NEUTRAL, key, instance)


def vima(task, perturbation):
    """The same of VIMA, in the first partition that the task has."""
    partition = next(iter(VIMA_TASKS[task].partitions))
    for index in EPISODES:
        key = get_suite("vima").episode(task, partition, index, perturbation)
        instance = VIMA_TASKS[task].instance(key)
        yield instance, scene_edits(vima_axes.TABLE, VIMA_NEUTRAL, key, instance)


def lengths(shifts):
    return [math.hypot(*shift) for shift in shifts.values()]


# --- BOMB -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", BOMB_TASKS)
@pytest.mark.parametrize("axis", ["objects", "objects_far", "manipulated", "disturbance"])
def test_stones_stay_clear_of_each_other_and_the_instruction_true(task, axis):
    for instance, edits in bomb(task, f"layout.{axis}=8"):
        moved = shifted(shifted(instance, edits.shifts_m), edits.pushes_m)
        spots = {stone.label: stone.spot for stone in moved.stones}
        assert still_nearest(instance, spots)
        for stone, before in zip(moved.stones, instance.stones, strict=True):
            assert stone.beside == before.beside
            others = [spot for label, spot in spots.items() if label != stone.label]
            assert not stone.beside or all(distance(stone.spot, spot) >= CLEARANCE_M - 1e-9 for spot in others)


@pytest.mark.parametrize("level", [1, 4, 8])
def test_far_means_about_as_far_as_stated(level):
    reached = [
        length for _, edits in bomb("place_stone", f"layout.objects_far={level}") for length in lengths(edits.shifts_m)
    ]
    assert np.median(reached) == pytest.approx(0.01875 * level, rel=0.2)


@pytest.mark.parametrize("task", BOMB_TASKS)
def test_only_what_is_to_be_moved_starts_elsewhere_or_only_the_board(task):
    for instance, edits in bomb(task, "layout.manipulated=8"):
        assert set(edits.shifts_m)
        assert set(edits.shifts_m) <= labels_to_move(instance)
    for instance, edits in bomb(task, "layout.receiver=8"):
        assert [abs(value) for value in edits.board_m] == [0.0, 0.04]
        on_it = {stone.label for stone in instance.stones if not stone.beside}
        assert edits.shifts_m == dict.fromkeys(on_it, edits.board_m)
        assert all(off_board_by(stone.spot, edits.board_m) >= 0.011 for stone in instance.stones if stone.beside)


@pytest.mark.parametrize("task", BOMB_TASKS)
def test_lookalikes_have_the_colour_of_the_stone_and_are_none(task):
    for instance, edits in bomb(task, "layout.lookalikes=3"):
        assert len(edits.blocks) == 3
        assert not edits.extra_stones
        assert len({block.rgb for block in edits.blocks}) == 1
        dark = stone_of(instance, instance.goals[0]).colour == "black"
        assert (max(edits.blocks[0].rgb) < 0.2) == dark


# --- VIMA -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", VIMA_TASKS)
def test_things_stay_on_the_table(task):
    for axis in ("objects", "objects_far", "manipulated", "receiver", "disturbance"):
        for instance, edits in vima(task, f"layout.{axis}=8"):
            for thing in instance.things:
                for shift in (edits.shifts_m.get(thing.label), edits.pushes_m.get(thing.label)):
                    if shift:
                        assert WORKSPACE_X_M[0] < thing.spot[0] + shift[0] < WORKSPACE_X_M[1]
                        assert WORKSPACE_Y_M[0] < thing.spot[1] + shift[1] < WORKSPACE_Y_M[1]


@pytest.mark.parametrize("task", VIMA_TASKS)
def test_the_moved_and_what_takes_them_up_go_apart(task):
    for instance, edits in vima(task, "layout.manipulated=8"):
        assert set(edits.shifts_m) == movers(instance)
        assert not edits.goals_follow
        assert max(lengths(edits.shifts_m)) <= 0.04 + 1e-9
    for instance, edits in vima(task, "layout.receiver=8"):
        standing_in = {thing.label for thing in instance.things if thing.z is not None and not thing.fixed}
        assert set(edits.shifts_m) <= receivers(instance) | standing_in
        assert set(edits.shifts_m) or not receivers(instance)


@pytest.mark.parametrize("task", VIMA_TASKS)
def test_goals_go_with_what_they_are_about_and_nothing_else_does(task):
    for axis in ("objects_far", "receiver"):
        for instance, edits in vima(task, f"layout.{axis}=8"):
            judge = followed(instance, edits.shifts_m).judge
            if not isinstance(judge, StagedJudge):
                continue
            things = {thing.label: thing for thing in instance.things}
            bases = {thing.spot: thing.label for thing in instance.things if thing.fixed}
            for old, new in zip(sum(instance.judge.stages, ()), sum(judge.stages, ()), strict=True):
                own = old.thing if things[old.thing].spot == old.spot else None
                shift = edits.shifts_m.get(bases.get(old.spot, own), (0.0, 0.0))
                assert new == replace(old, spot=(old.spot[0] + shift[0], old.spot[1] + shift[1]))


@pytest.mark.parametrize("task", ["manipulate_old_neighbor", "pick_in_order_then_restore"])
def test_things_whose_order_counts_go_far_together(task):
    for instance, edits in vima(task, "layout.objects_far=8"):
        assert set(edits.shifts_m) == {thing.label for thing in instance.things}
        assert len(set(edits.shifts_m.values())) == 1


@pytest.mark.parametrize("task", VIMA_TASKS)
def test_a_lookalike_shares_one_thing_with_what_is_to_be_moved_and_is_not_meant(task):
    found = 0
    for instance, edits in vima(task, "layout.lookalikes=4"):
        models = [thing.look for thing in instance.things if thing.label in movers(instance)]
        shown = {asset.look.kind for asset in instance.prompt.assets.values() if isinstance(asset, ObjectImage)}
        for thing in edits.distractors:
            found += 1
            assert thing.look.kind not in shown
            if instance.alike == "shape":
                assert thing.look.shape in {look.shape for look in models}
                assert thing.look.texture not in {other.look.texture for other in instance.things}
            else:
                assert thing.look.texture in {look.texture for look in models}
                assert thing.look.shape not in {other.look.shape for other in instance.things}
            if task == "same_shape":
                assert OBJECTS[thing.look.shape].profile != OBJECTS[models[0].shape].profile
    assert found


@pytest.mark.parametrize("task", VIMA_TASKS)
def test_one_thing_is_pushed_and_never_one_that_every_action_counts_for(task):
    for instance, edits in vima(task, "layout.disturbance=8"):
        (label,) = edits.pushes_m
        counted = isinstance(instance.judge, StagedJudge) and instance.judge.every_step
        assert label in (bystanders(instance) if counted else {first_goal(instance)[0].label})
        assert not edits.shifts_m
