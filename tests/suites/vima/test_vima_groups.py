"""The paper's six groups of tasks, and what others have published of the 42 cells."""

import pytest

from pytest_vla.episode import Cell
from pytest_vla.registry import get_suite
from pytest_vla.report.groups import grouped
from pytest_vla.run import Tally

LEVELS = ("placement_generalization", "combinatorial_generalization", "novel_object_generalization")


@pytest.fixture
def suite():
    return get_suite("vima")


def test_every_task_is_in_one_group(suite):
    members = [task for tasks in suite.groups().values() for task in tasks]
    assert len(suite.groups()) == 6
    assert sorted(members) == sorted(suite.tasks())


def test_a_group_is_the_sum_of_its_tasks_level_by_level():
    tallies = {
        Cell("vima", "rotate", LEVELS[0]): Tally(3, 5),
        Cell("vima", "rearrange", LEVELS[0]): Tally(1, 5),
        Cell("vima", "scene_understanding", LEVELS[0]): Tally(2, 5),
        Cell("vima", "rotate", LEVELS[1]): Tally(4, 5),
        Cell("vima", "rotate", LEVELS[1], "camera.yaw=3"): Tally(0, 5),
    }
    assert grouped(tallies) == {
        Cell("vima", "simple object manipulation", LEVELS[0]): Tally(5, 10),
        Cell("vima", "simple object manipulation", LEVELS[1]): Tally(4, 5),
        Cell("vima", "visual goal reaching", LEVELS[0]): Tally(1, 5),
    }


def test_a_suite_without_groups_and_one_that_is_not_here_have_none():
    assert grouped({Cell("bomb", "place_stone", "clean"): Tally(1, 2), Cell("gone", "a", "b"): Tally(1, 2)}) == {}


def test_published_rates_are_of_cells_that_exist(suite):
    published = suite.published()
    for rates in published.rates.values():
        assert set(rates) <= set(suite.cells())
        assert all(0 <= rate <= 1 for rate in rates.values())
    assert sum(len(rates) == 42 for rates in published.rates.values()) == 2


@pytest.mark.parametrize(("level", "percent"), [*zip(LEVELS, (81.6, 81.5, 77.6), strict=True)])
def test_the_level_means_are_those_of_the_paper(suite, level, percent):
    rates = [rate for (_, partition), rate in suite.published().rates["VIMA 200M"].items() if partition == level]
    assert 100 * sum(rates) / len(rates) == pytest.approx(percent, abs=0.06)
