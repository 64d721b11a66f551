"""Fixed-n tests against scipy, statsmodels and exact enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from scipy.stats import barnard_exact, binom, binomtest, multinomial

from pytest_vla.gate.evidence import Bounds
from pytest_vla.gate.exact import (
    difference_score,
    paired_evidence,
    paired_pvalue,
    paired_score,
    rate_evidence,
    unpaired_evidence,
    unpaired_pvalue,
)

ALPHA = 0.05


@pytest.mark.parametrize(("solved", "measured"), [(0, 10), (7, 10), (10, 10), (43, 60)])
def test_one_rate_is_the_exact_binomial_test(solved, measured):
    evidence = rate_evidence(solved, measured, Bounds(0.6, 0.8))
    assert evidence.passing == pytest.approx(binomtest(solved, measured, 0.6, alternative="greater").pvalue)
    assert evidence.failing == pytest.approx(binomtest(solved, measured, 0.8, alternative="less").pvalue)


@pytest.mark.parametrize(
    ("a", "b"), [((40, 50), (30, 50)), ((10, 20), (3, 20)), ((25, 30), (20, 40)), ((9, 9), (0, 9))]
)
def test_without_a_margin_two_rates_are_barnards_test(a, b):
    table = [[b[0], a[0]], [b[1] - b[0], a[1] - a[0]]]
    assert unpaired_pvalue(b, a, 0.0) == pytest.approx(barnard_exact(table, alternative="less").pvalue, rel=0.02)


@pytest.mark.parametrize(
    ("a", "b", "shift"), [((40, 50), (38, 50), -0.1), ((3, 30), (1, 20), -0.2), ((9, 10), (5, 8), 0.1)]
)
def test_the_score_takes_its_variance_from_the_most_likely_rates_at_the_shift(a, b, shift):
    def misfit(rate):
        return -sum(xlogy(k, p) + xlogy(n - k, 1 - p) for (k, n), p in ((a, rate), (b, rate + shift)))

    limits = (max(0, -shift), min(1, 1 - shift))
    rate = minimize_scalar(misfit, bounds=limits, method="bounded", options={"xatol": 1e-10}).x
    variance = rate * (1 - rate) / a[1] + (rate + shift) * (1 - rate - shift) / b[1]
    expected = (b[0] / b[1] - a[0] / a[1] - shift) / variance**0.5
    score = difference_score(np.array([float(a[0])]), a[1], np.array([float(b[0])]), b[1], shift)
    assert score[0] == pytest.approx(expected, abs=1e-4)


def test_pairs_that_never_differ_pass_once_the_margin_would_have_shown():
    assert paired_pvalue(0, 0, 28, -0.1) > ALPHA  # 0.9 ** 28 is 5.2%
    assert paired_pvalue(0, 0, 29, -0.1) <= ALPHA


@pytest.mark.parametrize(("gained", "lost", "pairs"), [(1, 10, 50), (2, 9, 30), (0, 6, 20), (5, 15, 60)])
def test_without_a_margin_pairs_are_at_least_as_sharp_as_mcnemars_test(gained, lost, pairs):
    conditional = binom.cdf(gained, gained + lost, 0.5)
    pvalue = paired_evidence(gained, lost, pairs, Bounds(-0.1, 0.0)).failing
    assert conditional / 4 < pvalue <= conditional


@pytest.mark.parametrize("shift", [-0.2, -0.1, 0.0])
@pytest.mark.parametrize("old_rate", [0.213, 0.5, 0.777, 0.95])
def test_unpaired_error_rate_is_at_most_alpha_by_enumeration(shift, old_rate):
    n_a, n_b, new_rate = 12, 9, old_rate + shift
    pvalues = np.array([[unpaired_pvalue((i, n_a), (j, n_b), shift) for j in range(n_b + 1)] for i in range(n_a + 1)])
    weight = np.outer(binom.pmf(np.arange(n_a + 1), n_a, old_rate), binom.pmf(np.arange(n_b + 1), n_b, new_rate))
    for alpha in (0.2, ALPHA, ALPHA / 17):
        assert weight[pvalues <= alpha].sum() <= alpha * 1.001


@pytest.mark.parametrize("shift", [-0.2, -0.1, 0.0])
@pytest.mark.parametrize("flips", [0.21, 0.333, 0.62, 0.9])
def test_paired_error_rate_is_at_most_alpha_by_enumeration(shift, flips):
    n = 14
    tables = [(g, x) for g in range(n + 1) for x in range(n + 1 - g)]
    pvalues = np.array([paired_pvalue(g, x, n, shift) for g, x in tables])
    rates = [(flips + shift) / 2, (flips - shift) / 2, 1 - flips]
    weight = np.array([multinomial.pmf([g, x, n - g - x], n, rates) for g, x in tables])
    for alpha in (0.2, ALPHA, ALPHA / 17):
        assert weight[pvalues <= alpha].sum() <= alpha * 1.001


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(-0.5, 0.3))
def test_scores_only_rise_with_the_new_policys_successes(n_a, n_b, shift):
    solved_b = np.arange(n_b + 1.0)
    for solved_a in range(0, n_a + 1, max(1, n_a // 5)):
        scores = difference_score(np.full(n_b + 1, float(solved_a)), n_a, solved_b, n_b, shift)
        assert not np.any(scores[1:] < scores[:-1] - 1e-9)
    for differing in range(n_b + 1):
        gained = np.arange(differing + 1.0)
        scores = paired_score(gained, differing - gained, n_b, shift)
        assert not np.any(scores[1:] < scores[:-1] - 1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_one_more_success_never_makes_passing_harder(n_a, n_b, data):
    solved_a, solved_b = data.draw(st.integers(0, n_a)), data.draw(st.integers(0, n_b - 1))
    bounds = Bounds(-0.1, 0.0)
    before = unpaired_evidence((solved_a, n_a), (solved_b, n_b), bounds)
    after = unpaired_evidence((solved_a, n_a), (solved_b + 1, n_b), bounds)
    assert after.passing <= before.passing + 1e-9
    assert after.failing >= before.failing - 1e-9


def test_no_episodes_prove_nothing():
    for evidence in (
        rate_evidence(0, 0, Bounds(0.5, 0.5)),
        unpaired_evidence((0, 0), (5, 5), Bounds(-0.1, 0.0)),
        unpaired_evidence((5, 5), (0, 0), Bounds(-0.1, 0.0)),
        paired_evidence(0, 0, 0, Bounds(-0.1, 0.0)),
    ):
        assert (evidence.passing, evidence.failing) == (1.0, 1.0)
