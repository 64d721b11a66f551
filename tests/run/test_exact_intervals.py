"""Exact intervals of few and of many."""

import pytest

from pytest_vla.run.intervals import MANY, exact_interval


@pytest.mark.parametrize("count", [0, 3, 20_000, 22_000])
def test_an_exact_interval_of_many_holds_its_rate(count):
    low, high = exact_interval(count, 22_000)
    assert 0 <= low <= count / 22_000 <= high <= 1
    assert high - low < 0.02


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_few_and_many_meet(share):
    few, many = (exact_interval(round(share * size), size) for size in (MANY, MANY + 10))
    assert few == pytest.approx(many, abs=0.003)
