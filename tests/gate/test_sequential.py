"""Sequential tests: fair bets, whatever the truth on the bound, and answers that stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, multinomial

from pytest_vla.gate.evidence import Bounds, Verdict
from pytest_vla.gate.sequential import paired_evidence, paired_stake, rate_evidence, rate_stake

THRESHOLD = Bounds(0.6, 0.8)
MARGIN = Bounds(-0.1, 0.0)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.floats(0.05, 0.95), st.floats(0, 0.5))
def test_the_stake_on_a_rate_is_worth_one_where_the_rate_is_on_the_bound(n, bound, room):
    hits = np.arange(n + 1.0)
    stake = np.exp(rate_stake(hits, np.full(n + 1, float(n)), bound, min(1.0, bound + room)))
    assert binom.pmf(hits, n, bound) @ stake == pytest.approx(1.0)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 9), st.floats(-0.4, 0.3), st.floats(0, 0.4), st.floats(0, 1))
def test_the_stake_on_pairs_is_worth_one_however_often_pairs_differ(n, bound, room, share):
    differing = abs(bound) + share * (1 - abs(bound))
    rates = [(differing + bound) / 2, (differing - bound) / 2, 1 - differing]
    tables = np.array([(g, x) for g in range(n + 1) for x in range(n + 1 - g)], dtype=float)
    stake = np.exp(paired_stake(tables[:, 0], tables[:, 1], np.full(len(tables), float(n)), bound, bound + room))
    weight = [multinomial.pmf([int(g), int(x), n - int(g) - int(x)], n, rates) for g, x in tables]
    assert np.array(weight) @ stake == pytest.approx(1.0, abs=1e-6)


def test_a_good_policy_passes_and_a_bad_one_fails_early():
    good = rate_evidence([True] * 60, THRESHOLD, 0.05, 0.05)
    bad = rate_evidence([False] * 60, THRESHOLD, 0.05, 0.05)
    assert (good.stopped, good.used) == (Verdict.PASS, 11)  # (0.8 / 0.6) ** 11 is 23.7
    assert (bad.stopped, bad.used) == (Verdict.FAIL, 5)  # (0.4 / 0.2) ** 5 is 32


def test_a_stricter_level_for_failing_asks_for_more():
    one = rate_evidence([False] * 60, THRESHOLD, 0.05, 0.05)
    many = rate_evidence([False] * 60, THRESHOLD, 0.05, 0.05 / 68)
    assert many.used > one.used


@given(st.lists(st.booleans(), max_size=80), st.lists(st.booleans(), max_size=20))
def test_what_comes_after_the_answer_does_not_change_it(outcomes, later):
    evidence = rate_evidence(outcomes, THRESHOLD, 0.05, 0.05)
    if evidence.stopped:
        assert rate_evidence(outcomes[: evidence.used] + later, THRESHOLD, 0.05, 0.05) == evidence


@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=120))
def test_better_and_worse_mirror_each_other(steps):
    wide = Bounds(-0.1, 0.1)
    up, down = paired_evidence(steps, wide, 0.05, 0.05), paired_evidence([-s for s in steps], wide, 0.05, 0.05)
    assert (up.passing, up.failing) == pytest.approx((down.failing, down.passing))


def test_identical_policies_pass_and_a_lost_task_fails():
    assert paired_evidence([0] * 100, MARGIN, 0.05, 0.05).stopped is Verdict.PASS
    assert paired_evidence([-1] * 20, MARGIN, 0.05, 0.05).stopped is Verdict.FAIL


def test_a_rate_of_exactly_one_can_only_be_refuted():
    assert rate_evidence([True] * 500, Bounds(1.0, 1.0), 0.05, 0.05).stopped is None
    assert rate_evidence([True, False], Bounds(1.0, 1.0), 0.05, 0.05).stopped is Verdict.FAIL


def test_no_results_are_no_evidence():
    assert rate_evidence([], THRESHOLD, 0.05, 0.05).used == 0
    assert paired_evidence([], MARGIN, 0.05, 0.05).passing == 1.0
