"""Exact intervals of few and of many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from pytest_vla.run.intervals import MANY, exact_interval, mean_interval


@pytest.mark.parametrize("count", [0, 3, 20_000, 22_000])
def test_an_exact_interval_of_many_holds_its_rate(count):
    low, high = exact_interval(count, 22_000)
    assert 0 <= low <= count / 22_000 <= high <= 1
    assert high - low < 0.02


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_few_and_many_meet(share):
    few, many = (exact_interval(round(share * size), size) for size in (MANY, MANY + 10))
    assert few == pytest.approx(many, abs=0.003)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.8, 0.95]))
def test_an_exact_interval_is_clopper_and_pearsons(count, confidence):
    expected = binomtest(*count).proportion_ci(confidence, method="exact")
    assert exact_interval(*count, confidence) == pytest.approx((expected.low, expected.high), abs=1e-6)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_a_mean_has_the_interval_of_large_numbers(confidence):
    values = np.random.default_rng(1).normal(3, 2, 400)
    low, high = mean_interval(values, confidence)
    half = {0.8: 1.2816, 0.95: 1.96}[confidence] * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.03)
    assert mean_interval(values, confidence) == (low, high)
    assert mean_interval([2.0, 2.0]) == (2.0, 2.0)
