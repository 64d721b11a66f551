"""Verdicts: three values, one exit code, corrected for how many questions were asked."""

import random

import pytest
from gate_records import judge, records
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from pytest_vla.gate.comparisons import Scope
from pytest_vla.gate.evidence import Bounds, GateError, Verdict, combine, holm
from pytest_vla.gate.printing import headline, markdown, render
from pytest_vla.gate.rules import read_rules

GOOD, BAD, MIXED = "." * 60, "u" * 60, ".u" * 30
THRESHOLD = read_rules({"success": {"dice": 0.8}})
NO_WORSE = read_rules({"margin": 0.1})


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_statsmodels_holm(pvalues):
    assert holm(pvalues) == pytest.approx(list(multipletests(pvalues, method="holm")[1]))


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [("pp", "pass"), ("pf", "fail"), ("pu", "undecided"), ("uf", "fail"), ("", "undecided")],
)
def test_one_failure_fails_and_only_proof_everywhere_passes(verdicts, expected):
    words = {"p": Verdict.PASS, "f": Verdict.FAIL, "u": Verdict.UNDECIDED}
    assert combine([words[letter] for letter in verdicts]) == expected


@pytest.mark.parametrize(
    ("outcomes", "verdict", "code"), [(GOOD, "pass", 0), (BAD, "fail", 1), ("." * 8 + "u", "undecided", 6)]
)
def test_a_threshold_gives_all_three_answers(outcomes, verdict, code):
    judgement = judge(records(outcomes), THRESHOLD)
    assert (judgement.verdict, judgement.exit_code) == (verdict, code)


def test_a_worse_task_fails_by_name_and_the_others_pass():
    base = records(GOOD) + records(GOOD, task="stack")
    judgement = judge(records(GOOD) + records(MIXED, task="stack"), NO_WORSE, baseline=base)
    assert [row.verdict for row in judgement.rows] == ["pass", "fail"]
    assert headline(judgement) == "vla gate: FAIL (exit 1): dice/stack/L1"


def test_an_identical_run_passes():
    assert judge(records(MIXED), NO_WORSE, baseline=records(MIXED)).verdict == "pass"


def test_too_few_episodes_are_undecided_and_say_how_many_more():
    judgement = judge(records("." * 10), NO_WORSE, baseline=records("." * 10))
    assert judgement.verdict == "undecided"
    (row,) = judgement.rows
    assert 25 <= row.more <= 35, "by a test that allows to go on with this run"
    assert judge(records("." * (10 + row.more + 5)), NO_WORSE, baseline=records("." * 60)).verdict == "pass"


def test_superiority_asks_for_more_than_no_worse():
    better = read_rules({"superiority": True, "margin": 0.1})
    assert judge(records(GOOD), better, baseline=records(GOOD)).verdict != "pass"
    assert judge(records(GOOD), better, baseline=records(MIXED)).verdict == "pass"


def test_errors_fail_by_their_own_rule_and_change_no_rate():
    with_errors = records(GOOD + "EE")
    assert judge(with_errors, THRESHOLD, max_errors=2).verdict == "pass"
    strict = judge(with_errors, THRESHOLD, max_errors=1)
    assert strict.verdict == "fail"
    assert strict.rows[0].verdict == "pass"
    (row,), (without,) = strict.rows, judge(records(GOOD), THRESHOLD).rows
    assert row.comparison.sample.effect() == without.comparison.sample.effect()
    assert row.interval == without.interval
    assert row.pvalue > without.pvalue, "errors may hide failures"
    assert "2 errors, 1 allowed" in headline(strict)


def test_a_failure_among_many_comparisons_needs_stronger_proof():
    doubtful = records("." * 38 + "u" * 12)  # p = 0.76, alone below 0.86 at 5%
    rules = read_rules({"success": 0.86})
    assert judge(doubtful, rules).verdict == "fail"
    assert judge(doubtful, rules, Scope(comparisons=68)).verdict == "undecided"


def test_passing_is_not_made_harder_by_other_comparisons():
    alone = judge(records(GOOD), THRESHOLD)
    among_many = judge(records(GOOD), THRESHOLD, Scope(comparisons=68))
    assert alone.verdict == among_many.verdict == "pass"


def test_thresholds_and_a_baseline_can_be_asked_for_together():
    judgement = judge(records(GOOD), THRESHOLD, baseline=records(GOOD))
    assert [row.comparison.sample.test for row in judgement.rows] == ["threshold", "paired"]


def test_the_verdict_does_not_depend_on_the_order_of_arrival():
    run = records(MIXED) + records(GOOD, task="stack")
    shuffled = random.Random(3).sample(run, len(run))
    plan = Scope(early_stop=True)
    assert judge(shuffled, THRESHOLD, plan).rows == judge(run, THRESHOLD, plan).rows


def test_an_early_answer_is_kept_whatever_was_still_in_flight():
    run = records("u" * 10 + "." * 50)
    judgement = judge(run, read_rules({"success": {"dice": [0.6, 0.8]}}), Scope(early_stop=True))
    assert (judgement.verdict, judgement.rows[0].evidence.used) == ("fail", 5)


def test_nothing_compared_is_undecided_and_says_why():
    judgement = judge(records(GOOD), read_rules({"success": {"other": 0.8}}))
    assert judgement.exit_code == 6
    assert "nothing was compared" in headline(judgement)


def test_the_table_says_which_test_was_used_and_why():
    text = render(judge(records(GOOD, initial_digest="moved"), NO_WORSE, baseline=records(GOOD)))
    assert "unpaired" in text
    assert "dice/push/L1: unpaired, 60 of 60 scenes differ from the baseline's" in text


def test_the_table_shows_flips_interval_pvalue_and_what_is_missing():
    text = render(judge(records("." * 9 + "u"), NO_WORSE, baseline=records("." * 10)))
    for part in ("paired", "-10.0 (0 up, 1 down)", "95% CI", "[-", "above -10", "undecided, ~", "more episodes"):
        assert part in text, part


def test_markdown_has_one_row_per_comparison():
    lines = markdown(judge(records(GOOD) + records(GOOD, task="stack"), THRESHOLD)).splitlines()
    assert lines[0].startswith("### vla gate: PASS")
    assert sum(line.startswith("| dice/") for line in lines) == 2


def test_bounds_in_the_wrong_order_are_refused():
    with pytest.raises(GateError):
        Bounds(0.8, 0.6)
