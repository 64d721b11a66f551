"""The intervals of every table, against those of the libraries made for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from pytest_vla.run.intervals import paired_interval, rate_interval, unpaired_interval

counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.sampled_from([0.8, 0.95, 0.99]))
def test_the_interval_of_a_rate_is_wilsons(count, confidence):
    solved, measured = count
    wilson = binomtest(solved, measured).proportion_ci(confidence, method="wilson")
    assert rate_interval(solved, measured, confidence) == pytest.approx((wilson.low, wilson.high), abs=1e-12)


def test_nothing_measured_says_nothing():
    assert rate_interval(0, 0) == (0.0, 1.0)


@given(counts, counts)
def test_the_difference_of_two_rates_is_agresti_and_caffos(a, b):
    low, high = unpaired_interval(a, b)
    rates = [(solved + 1) / (n + 2) for solved, n in (a, b)]
    error = sum(rate * (1 - rate) / (n + 2) for rate, (_, n) in zip(rates, (a, b), strict=True)) ** 0.5
    half = norm.ppf(0.975) * error
    assert low == pytest.approx(max(-1, rates[1] - rates[0] - half))
    assert high == pytest.approx(min(1, rates[1] - rates[0] + half))


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 100))
def test_the_difference_of_pairs_is_agresti_and_mins(gained, lost, same):
    pairs = gained + lost + same
    low, high = paired_interval(gained, lost, pairs)
    up, down, n = gained + 0.5, lost + 0.5, pairs + 2
    centre = (up - down) / n
    half = norm.ppf(0.975) * ((up + down - (up - down) ** 2 / n) ** 0.5) / n
    assert low == pytest.approx(max(-1, centre - half))
    assert high == pytest.approx(min(1, centre + half))
