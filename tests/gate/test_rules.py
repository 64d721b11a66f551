"""The gate's table in pyproject.toml: what it means, and one clear message for whatever is wrong with it."""

import pytest

from pytest_vla.gate.evidence import Bounds, GateError
from pytest_vla.gate.rules import Rules, check_rules, read_rules

CELLS = [("vima", task, level) for task in ("rotate", "twist") for level in ("L1", "L2")]


def test_the_pattern_that_names_most_wins():
    rules = read_rules({"success": {"vima": 0.5, "vima/rotate": 0.7, "vima/*/L2": 0.4, "vima/rotate/L2": 0.6}})
    asked = {cell: rules.success_bounds((*cell, "")).high for cell in CELLS}
    assert list(asked.values()) == [0.7, 0.6, 0.5, 0.4]


def test_one_number_asks_the_same_of_everything():
    assert read_rules({"success": 0.8}).success_bounds(("any", "task", "level", "")) == Bounds(0.8, 0.8)


def test_a_pair_of_rates_leaves_room_between_too_low_and_high_enough():
    assert read_rules({"success": {"vima": [0.6, 0.8]}}).success_bounds(("vima", "a", "b", "")) == Bounds(0.6, 0.8)


def test_nothing_is_asked_of_what_no_pattern_names():
    assert read_rules({"success": {"vima/rotate": 0.8}}).success_bounds(("vima", "twist", "L1", "")) is None


def test_a_baseline_asks_for_no_worse_or_for_better():
    assert read_rules({"margin": 0.2}).baseline_bounds() == Bounds(-0.2, 0.0)
    assert read_rules({"margin": 0.2, "superiority": True}).baseline_bounds() == Bounds(0.0, 0.2)


def test_rules_read_back_from_the_run_file_as_they_were():
    table = {"success": {"vima": [0.6, 0.8]}, "margin": 0.2, "confidence": 0.9, "superiority": True, "by": "partition"}
    assert read_rules(read_rules(table).to_dict()) == read_rules(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"success": 1.5}, "between 0 and 1, got 1.5"),
        ({"success": {"vima/rotate": -0.1}}, "success.'vima/rotate' must be a number between 0 and 1, got -0.1"),
        ({"success": {"vima": "high"}}, "between 0 and 1, got 'high'"),
        ({"success": {"vima": [0.8, 0.6]}}, "must not be above"),
        ({"success": {"vima": [0.8]}}, "a pair"),
        ({"success": {"a/b/c/d": 0.8}}, "write suite, suite/task or suite/task/partition"),
        ({"success": "0.8"}, "success must be a rate or a table"),
        ({"margin": 2}, "margin must be a number between 0 and 1, got 2"),
        ({"confidence": 95}, "confidence must be a number between 0 and 1, got 95"),
        ({"confidence": 0.05}, "at least 0.5"),
        ({"superiority": "yes"}, "superiority must be true or false"),
        ({"by": "policy"}, "by must be one of task, partition, suite"),
        ({"sucess": 0.8}, "did you mean 'success'"),
    ],
)
def test_a_bad_table_is_one_clear_message(table, message):
    with pytest.raises(GateError) as error:
        read_rules(table)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("vina", "unknown suite 'vina'"),
        ("vima/rotat", "unknown task 'rotat' in [tool.pytest_vla.gate.success] 'vima/rotat'; did you mean 'rotate'?"),
        ("vima/*/L3", "unknown partition 'L3'"),
    ],
)
def test_a_threshold_for_something_unknown_is_refused(pattern, message):
    with pytest.raises(GateError) as error:
        check_rules(read_rules({"success": {pattern: 0.8}}), CELLS)
    assert message in str(error.value)


def test_a_threshold_finer_than_the_comparisons_is_refused():
    with pytest.raises(GateError, match="finer than by"):
        check_rules(read_rules({"success": {"vima/rotate": 0.8}, "by": "partition"}), CELLS)


def test_the_default_rules_name_nothing():
    check_rules(Rules(), [])
