"""The generalisation gap is a level's rate minus that of its suite's first level, and has one definition."""

import pytest

from pytest_vla.episode import Cell
from pytest_vla.run.gaps import gaps
from pytest_vla.run.intervals import unpaired_interval
from pytest_vla.run.tally import Tally


def cell(partition, task="push", suite="reach", perturbation=""):
    return Cell(suite, task, partition, perturbation)


def test_levels_are_pooled_over_tasks_and_compared_with_the_first():
    found = gaps(
        {
            cell("near", "push"): Tally(6, 10),
            cell("near", "pull"): Tally(9, 10),
            cell("far", "push"): Tally(3, 10),
            cell("far", "pull"): Tally(2, 10, errors=1),
        }
    )
    near, far = found["reach"]
    assert (near.partition, near.tally, near.gap, near.interval) == ("near", Tally(15, 20), None, None)
    assert (far.partition, far.tally) == ("far", Tally(5, 20, 1))
    assert far.gap == pytest.approx(-0.5)
    assert far.interval == unpaired_interval((15, 20), (5, 20))
    assert far.interval[0] < far.gap < far.interval[1] < 0


def test_the_first_level_is_the_first_that_was_measured():
    levels = {cell("near"): Tally(0, 0, 4), cell("middle"): Tally(4, 8), cell("far"): Tally(6, 8)}
    near, middle, far = gaps(levels)["reach"]
    assert (near.gap, middle.gap) == (None, None)
    assert far.gap == pytest.approx(0.25)


def test_a_level_without_measurements_has_no_gap():
    near, far = gaps({cell("near"): Tally(4, 8), cell("far"): Tally(0, 0, 2)})["reach"]
    assert (near.gap, far.gap, far.interval) == (None, None, None)


def test_suites_have_first_levels_of_their_own():
    found = gaps({cell("near"): Tally(8, 8), cell("a", suite="other"): Tally(1, 8), cell("far"): Tally(4, 8)})
    assert [gap.gap for gap in found["other"]] == [None]
    assert found["reach"][1].gap == pytest.approx(-0.5)


def test_perturbed_episodes_count_only_where_there_are_no_others():
    plain, perturbed = {cell("near"): Tally(8, 8)}, {cell("near", perturbation="light.dim=3"): Tally(0, 8)}
    assert gaps(plain | perturbed)["reach"][0].tally == Tally(8, 8)
    assert gaps(perturbed)["reach"][0].tally == Tally(0, 8)
    assert gaps({}) == {}


def test_every_level_is_compared_with_the_first():
    levels = {cell("near"): Tally(8, 8), cell("middle"): Tally(4, 8), cell("far"): Tally(2, 8)}
    assert [level.gap for level in gaps(levels)["reach"]] == [None, pytest.approx(-0.5), pytest.approx(-0.75)]
