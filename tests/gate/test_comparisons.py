"""Which episodes answer which question: pairing, order, and what is left out."""

import random

import pytest
from gate_records import compare, record, records, table

from pytest_vla.episode import Cell
from pytest_vla.gate.comparisons import (
    DOUBT,
    LEFT_OUT,
    Scope,
    count_comparisons,
    error_code,
    outcome_codes,
    planned_share,
    versions_of,
)
from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.rules import read_rules
from pytest_vla.gate.samples import PairedSample, RateSample, UnpairedSample

THRESHOLD = read_rules({"success": 0.8})
BASELINE = read_rules({})
EARLY = Scope(early_stop=True)


def only(comparisons):
    (comparison,) = comparisons
    return comparison


def test_errors_are_no_measurements_but_a_gate_asks_what_they_might_have_been():
    sample = only(compare(records("..uE."), THRESHOLD, Scope())).sample
    assert sample == RateSample((True, True, False, None, True))
    assert (sample.size, sample.effect(), sample.worst()) == (4, 0.75, 0.6)


def test_a_repeated_episode_is_not_a_second_one():
    twice = records("..u") + records("...", repeat=1)
    assert only(compare(twice, THRESHOLD, Scope())).sample == RateSample((True, True, False))


def test_the_order_of_arrival_does_not_matter():
    run = records("..u.u..u") + records("uu..", task="stack")
    shuffled = random.Random(7).sample(run, len(run))
    assert compare(shuffled, THRESHOLD, EARLY) == compare(run, THRESHOLD, EARLY)


def test_early_stopping_sees_results_only_up_to_the_first_missing_episode():
    run = [one for one in records("..u.u") if one.key.index != 3]
    assert only(compare(run, THRESHOLD, EARLY)).sample == RateSample((True, True, False))
    assert only(compare(run, THRESHOLD, Scope())).sample.size == 4


def test_early_stopping_begins_at_the_first_episode_of_the_run():
    run = [record(5), record(6, "unsolved")]
    assert only(compare(run, THRESHOLD, EARLY)).sample.size == 0
    assert only(compare(run, THRESHOLD, Scope(first=5, early_stop=True))).sample.size == 2


def test_an_error_does_not_hold_up_the_order():
    assert only(compare(records(".E.u"), THRESHOLD, EARLY)).sample == RateSample((True, None, True, False))


def test_pooled_tasks_are_taken_in_complete_rounds():
    pooled = read_rules({"success": 0.8, "by": "partition"})
    run = records("..u") + records("uu", task="stack")
    assert only(compare(run, pooled, EARLY)).sample == RateSample((True, True, False, False), (2, 2))


def test_shared_episodes_pair():
    comparison = only(compare(records("..u"), BASELINE, Scope(), records(".u.")))
    assert comparison.sample == PairedSample(((True, True), (False, True), (True, False)))
    assert comparison.note == ""


def test_a_pair_with_an_error_on_either_side_may_be_either():
    comparison = only(compare(records("E.."), BASELINE, Scope(), records(".E.")))
    assert comparison.sample == PairedSample(((True, None), (None, True), (True, True)))
    assert (comparison.sample.size, comparison.sample.worst()) == (1, -1 / 3)


def test_an_error_of_the_simulator_that_both_policies_met_is_left_out():
    comparison = only(compare(records("E.."), BASELINE, Scope(), records("E..")))
    assert comparison.sample == PairedSample(((True, True), (True, True)))


def test_a_time_out_counts_against_the_policy_even_where_a_second_try_was_solved():
    run = [record(0, "error", reason="timeout"), *records("..")]
    assert only(compare(run, THRESHOLD, Scope())).sample == RateSample((None, True))
    lost = [record(0, "error", reason="worker_lost"), *records("..")]
    assert only(compare(lost, THRESHOLD, Scope())).sample == RateSample((True, True))


def test_other_scenes_are_compared_unpaired_and_it_says_so():
    comparison = only(compare(records("..u", initial_digest="moved"), BASELINE, Scope(), records("...")))
    assert comparison.sample == UnpairedSample((True,) * 3, (True, True, False))
    assert "3 of 3 scenes differ" in comparison.note


def test_an_episode_lost_with_its_worker_does_not_unpair_the_others():
    lost = record(0, "error", initial_digest="", reason="worker_lost")
    comparison = only(compare([lost, *records("..u")[1:]], BASELINE, Scope(), records("...")))
    assert comparison.sample == PairedSample(((True, True), (True, False)))


def test_runs_with_different_renderers_are_compared_unpaired_and_it_says_so():
    rays, egl = ({"made_with": {"renderer": name}} for name in ("rays", "egl"))
    comparison = only(compare(records("..u", **rays), BASELINE, Scope(), records("...", **egl)))
    assert isinstance(comparison.sample, UnpairedSample)
    assert comparison.note == "the baseline was made with renderer egl, this run with rays"
    assert isinstance(
        only(compare(records("..u", **egl), BASELINE, Scope(), records("...", **egl))).sample, PairedSample
    )


def test_another_episode_set_is_compared_unpaired_and_it_says_so():
    later = [record(index) for index in range(2, 12)]
    comparison = only(compare(later, BASELINE, Scope(), records("...")))
    assert isinstance(comparison.sample, UnpairedSample)
    assert "only 1 of 10 episodes are in the baseline" in comparison.note


def test_most_episodes_shared_still_pair_and_the_rest_is_mentioned():
    comparison = only(compare(records("....."), BASELINE, Scope(), records("....")))
    assert comparison.sample.size == 4
    assert "1 episodes are not in the baseline" in comparison.note


def test_another_suite_version_is_refused():
    with pytest.raises(GateError, match=r"version 1 of suite 'dice', this run with 2"):
        compare(records("..", version="2"), BASELINE, Scope(), records(".."))


def test_a_task_the_baseline_does_not_have_is_said_to_be_missing():
    comparison = only(compare(records("..", task="new"), BASELINE, Scope(), records("..")))
    assert (comparison.sample.size, comparison.note) == (0, "not in the baseline")


def test_a_planned_cell_without_results_is_compared_all_the_same():
    plan = Scope({Cell("dice", "push", "L1"): 5, Cell("dice", "stack", "L1"): 5})
    assert [c.sample.size for c in compare(records("."), THRESHOLD, plan)] == [1, 0]


def test_comparisons_are_counted_as_they_are_made():
    both = read_rules({"success": {"dice/push": 0.8}})
    cells = [Cell("dice", "push", "L1"), Cell("dice", "stack", "L1")]
    run = records("..") + records("..", task="stack")
    assert count_comparisons(cells, both, has_baseline=True) == len(compare(run, both, Scope(), run)) == 3


def test_the_share_of_a_baseline_is_counted_over_what_was_planned():
    push, stack = Cell("dice", "push", "L1"), Cell("dice", "stack", "L1")
    scope = Scope({push: 4, stack: 3}, first=2)
    assert planned_share([push, stack], scope, {push: [0, 1, 2, 3, 5, 6], stack: [2, 4, 5]}) == (3 + 2, 7)
    assert planned_share([push], scope, {}) == (0, 4)
    assert planned_share([push, Cell("dice", "roll", "L1")], scope, {}) is None


def test_the_version_of_each_suite_is_known():
    run = table([*records("..", version="3"), *records(".", suite="cards", version="1")])
    assert versions_of(run) == {"dice": "3", "cards": "1"}


def test_what_a_lost_worker_spoiled_is_left_out_and_other_errors_are_in_doubt():
    run = table([record(0), record(1, "unsolved"), record(2, "error", reason="worker_lost"), record(3, "error")])
    assert outcome_codes(run).tolist() == [1, 0, LEFT_OUT, DOUBT]
    assert (error_code("worker_lost"), error_code("timeout"), error_code("env_error")) == (LEFT_OUT, DOUBT, DOUBT)
