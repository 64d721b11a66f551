"""What is drawn: unambiguous scenes with room for the gripper, the same in every partition and simulator."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from pytest_vla.suites.bomb.board import CLEARANCE_M, PITCH_M, POSITIONS, spot_of
from pytest_vla.suites.bomb.layout import blocks, extra_stones, shift_stones, still_nearest
from pytest_vla.suites.bomb.partitions import GROUPS, PARTITIONS, draw_edits
from pytest_vla.suites.bomb.scene import Put, Remove
from pytest_vla.suites.bomb.tasks import TASKS

from pytest_vla.kit.layout import distance
from pytest_vla.registry import get_suite

EPISODES = range(60)
FORMS = {
    "place_stone": r"place the (black|white) stone at position \([0-4],[0-4]\)",
    "place_nearest": r"place the (black|white) stone nearest to (position \([0-4],[0-4]\)) at \2",
    "place_sequence": r"place a \w+ stone at position \(.,.\)(, then a \w+ stone at position \(.,.\)){2}",
    "capture": r"remove the (black|white) stone at position \([0-4],[0-4]\)",
    "copy_position": "make the board match the picture",
}


def instances(task: str):
    suite = get_suite("bomb")
    return [TASKS[task].instance(suite.episode(task, "unperturbed", index)) for index in EPISODES]


@pytest.mark.parametrize("task", TASKS)
def test_stones_leave_room_for_the_gripper(task):
    for instance in instances(task):
        spots = [stone.spot for stone in instance.stones]
        gaps = [distance(a, b) for i, a in enumerate(spots) for b in spots[:i]]
        assert min(gaps, default=1.0) >= PITCH_M - 1e-9
        beside = [stone.spot for stone in instance.stones if stone.beside]
        assert min((distance(a, b) for i, a in enumerate(beside) for b in beside[:i]), default=1) >= CLEARANCE_M


@pytest.mark.parametrize("task", TASKS)
def test_instructions_have_their_form_and_name_the_goals(task):
    for instance in instances(task):
        assert re.fullmatch(FORMS[task], instance.instruction), instance.instruction
        named = [(int(r), int(c)) for r, c in re.findall(r"\((\d),(\d)\)", instance.instruction)]
        goals = [goal.position for goal in instance.goals if isinstance(goal, Put)]
        if task in ("place_stone", "place_sequence"):
            assert named == goals


@pytest.mark.parametrize("task", TASKS)
def test_no_goal_is_met_at_the_start(task):
    for instance in instances(task):
        occupied = {p for p in POSITIONS if any(distance(spot_of(p), s.spot) < 0.01 for s in instance.stones)}
        assert occupied.isdisjoint({goal.position for goal in instance.goals if isinstance(goal, Put)})


def test_the_named_stone_is_the_only_one_of_its_colour():
    for instance in instances("place_stone"):
        (goal,) = instance.goals
        assert [stone.label for stone in instance.stones if stone.colour == goal.colour] == [goal.label]


def test_the_nearest_stone_is_nearest_by_two_centimetres():
    for instance in instances("place_nearest"):
        (goal,) = instance.goals
        away = {s.label: distance(s.spot, spot_of(goal.position)) for s in instance.stones if s.colour == goal.colour}
        mine = away.pop(goal.label)
        assert min(away.values()) - mine >= 0.02


def test_a_captured_stone_has_no_liberties():
    for instance in instances("capture"):
        (goal,) = instance.goals
        assert isinstance(goal, Remove)
        captured = next(stone for stone in instance.stones if stone.label == goal.label)
        around = [s for s in instance.stones if abs(distance(s.spot, captured.spot) - PITCH_M) < 1e-9]
        assert len(around) >= 2
        assert all(stone.colour != captured.colour for stone in around)


def test_the_picture_shows_what_lies_there_and_what_is_missing():
    for instance in instances("copy_position"):
        lying = [stone for stone in instance.stones if not stone.beside]
        assert len(instance.picture) == len(lying) + len(instance.goals)
        assert all(instance.picture[goal.position] == goal.colour for goal in instance.goals)


@pytest.mark.parametrize("task", TASKS)
def test_partitions_and_simulators_share_their_scenes(task):
    for index in range(5):
        scenes = [
            TASKS[task].instance(get_suite(name).episode(task, partition, index))
            for name in ("bomb", "bomb_bullet")
            for partition in PARTITIONS
        ]
        assert all(scene == scenes[0] for scene in scenes)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("group", GROUPS)
def test_a_group_alone_is_the_same_change_as_among_all(task, group):
    suite = get_suite("bomb")
    for index in range(3):
        key = suite.episode(task, "unperturbed", index)
        instance = TASKS[task].instance(key)
        alone = draw_edits(replace(key, partition=group), instance)
        among = draw_edits(replace(key, partition="perturbed"), instance)
        fields = {
            "table": ("table_colour", "table_texture"),
            "reflectivity": ("board_gloss", "stone_gloss"),
            "start": ("shifts_m",),
            "stones": (),
            "colour": ("image",),
            "camera": ("front", "wrist"),
        }[group]
        assert alone != draw_edits(key, instance) or (task, group) == ("capture", "start")
        assert all(getattr(alone, name) == getattr(among, name) for name in fields)


@pytest.mark.parametrize("task", TASKS)
def test_other_layouts_keep_the_instruction_true(task):
    rng = np.random.default_rng(0)
    for instance in instances(task)[:20]:
        shifts = shift_stones(instance, rng)
        spots = {stone.label: tuple(np.add(stone.spot, shifts.get(stone.label, (0, 0)))) for stone in instance.stones}
        assert still_nearest(instance, spots)
        assert not any(stone.label in shifts for stone in instance.stones if not stone.beside)
        extra = extra_stones(instance, rng, 4, shifts)
        others = blocks(instance, rng, 2, shifts)
        everything = [*spots.values(), *(stone.spot for stone in extra)]
        assert min((distance(a, b) for i, a in enumerate(everything) for b in everything[:i]), default=1) >= 0.03
        assert all(min(distance(block.spot, spot) for spot in spots.values()) >= CLEARANCE_M for block in others)
        for stone in extra:
            allowed = instance.spares.beside if stone.beside else instance.spares.on_board
            assert stone.colour in allowed
            assert all(distance(stone.spot, spot_of(g.position)) > 0.03 for g in instance.goals if isinstance(g, Put))
