"""The protocol: which cells there are, what each may show, how long an episode may take."""

import subprocess
import sys
from collections import Counter

import pytest
from pytest_vla.suites.vima.kit.partitions import L1, L2, L3, L4, TRAIN
from pytest_vla.suites.vima.tasks import TASKS
from pytest_vla.suites.vima.textures import TEXTURE_SETS

from pytest_vla.testing import check_suite

STEP_LIMITS = {
    "visual_manipulation": 5, "scene_understanding": 5, "rotate": 5, "rearrange": 7, "rearrange_then_restore": 10,
    "novel_adj": 5, "novel_noun": 5, "novel_adj_and_noun": 5, "twist": 7, "follow_motion": 6, "follow_order": 6,
    "sweep_without_exceeding": 10, "sweep_without_touching": 16, "same_texture": 6, "same_shape": 6,
    "manipulate_old_neighbor": 6, "pick_in_order_then_restore": 6,
}  # fmt: skip
HELD_OUT_TASKS = {"sweep_without_touching", "novel_adj_and_noun", "follow_motion", "same_texture"}
SEEN = {
    "letter A", "letter E", "letter G", "letter M", "letter T", "letter V", "block", "cross", "triangle", "flower",
    "heart", "ring", "pentagon", "L-shaped block",
}  # fmt: skip
NOVEL = {"letter R", "diamond", "hexagon", "round", "star"}
TURNABLE = {name for name in SEEN if name.startswith("letter")} | {"heart", "L-shaped block"}


def test_the_suite_keeps_the_contract(suite):
    check_suite(suite, tasks=["rotate", "same_shape", "sweep_without_touching"])


def test_there_are_42_test_cells_and_13_train_cells(suite):
    assert Counter(partition for _, partition in suite.cells()) == {TRAIN: 13, L1: 13, L2: 13, L3: 12, L4: 4}
    assert len(suite.select()) == 42


def test_held_out_tasks_are_at_level_4_and_nowhere_else(suite):
    assert {task for task, partition in suite.cells() if partition == L4} == HELD_OUT_TASKS
    assert not HELD_OUT_TASKS & {task for task, partition in suite.cells() if partition != L4}
    assert ("sweep_without_exceeding", L3) not in suite.cells()


def test_step_limits_are_those_of_the_protocol(suite):
    assert {task: suite.step_limit(task) for task in suite.tasks()} == STEP_LIMITS


def test_only_sweeping_uses_the_spatula():
    assert {task.name for task in TASKS.values() if task.tool == "spatula"} == {
        "sweep_without_exceeding",
        "sweep_without_touching",
    }


@pytest.mark.parametrize("task", [task for task in TASKS.values() if TRAIN in task.partitions], ids=lambda t: t.name)
def test_level_1_is_the_training_distribution_and_level_2_swaps_the_textures(task):
    train, level2 = task.partitions[TRAIN], task.partitions[L2]
    assert task.partitions[L1] == train
    assert (level2.dragged, level2.bases) == (train.dragged, train.bases)
    dark = "_DARK" if task.name == "novel_adj" else ""
    assert set(train.dragged_textures) == set(TEXTURE_SETS[f"A{dark}"])
    assert set(level2.dragged_textures) == set(TEXTURE_SETS[f"B{dark}"])
    if train.bases:
        assert (set(train.base_textures), set(level2.base_textures)) == (set(TEXTURE_SETS["B"]), set(TEXTURE_SETS["A"]))


def test_the_shapes_of_each_partition_are_those_of_the_specification():
    swapped = SEEN - {"block"} | {"shorter block"}
    special = {
        "rotate": TURNABLE, "twist": TURNABLE, "same_shape": swapped, "novel_adj": SEEN - {"block"},
        "sweep_without_exceeding": {"small block"},
    }  # fmt: skip
    for task in TASKS.values():
        if TRAIN in task.partitions:
            assert set(task.partitions[TRAIN].dragged) == special.get(task.name, SEEN), task.name
        if L3 in task.partitions:
            novel = {"letter R"} if task.name in ("rotate", "twist") else NOVEL
            extra = {"shorter block"} if task.name == "same_shape" else set()
            assert set(task.partitions[L3].dragged) == novel | extra, task.name
    assert set(TASKS["same_texture"].partitions[L4].dragged) == SEEN - {"block"} | NOVEL | {"shorter block"}
    assert set(TASKS["follow_motion"].partitions[L4].dragged) == SEEN | NOVEL
    assert set(TASKS["novel_adj_and_noun"].partitions[L4].dragged) == SEEN - {"block"} | NOVEL


def test_collecting_imports_no_simulator():
    code = (
        "import sys; from pytest_vla.suites.vima import suite; suite().select(); "
        "sys.exit(any(name in sys.modules for name in ('pybullet', 'torch', 'mujoco')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
