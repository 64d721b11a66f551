"""The statistics of a hunt by numbers: exact tests, what a search may spend on them, and what all probes suggest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_vla.hunt.effects import ALPHA, LOOKS, Confirmation, Seen, fisher, propose
from pytest_vla.hunt.space import Space
from pytest_vla.run.hunts import Count
from pytest_vla.run.intervals import binomial_tail, exact_interval

counts = st.integers(1, 40).flatmap(lambda n: st.integers(0, n).map(lambda failed: Count(failed, n)))
SPACE = Space(("a", "b", "c"), ordered=(True, True, False), signed=(True, False, False))


@given(counts, counts)
def test_fishers_test_is_scipys(test, control):
    table = [[test.failed, test.asked - test.failed], [control.failed, control.asked - control.failed]]
    assert fisher(test, control) == pytest.approx(stats.fisher_exact(table, "greater").pvalue, rel=1e-6)


@given(counts)
def test_the_exact_interval_is_scipys(count):
    theirs = stats.binomtest(count.failed, count.asked).proportion_ci(0.95, "exact")
    assert exact_interval(count.failed, count.asked) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_without_a_scene_any_rate_is_possible():
    assert exact_interval(0, 0) == (0.0, 1.0)
    assert binomial_tail(0, 0, 0.3) == 1.0


def test_all_looks_of_all_confirmations_spend_no_more_than_a_search_may():
    spent = sum(len(LOOKS) * Confirmation(number).alpha for number in range(1, 10_000))
    assert spent == pytest.approx(ALPHA, rel=1e-3)
    assert Confirmation(1).alpha == pytest.approx(0.025 / 5)
    assert Confirmation(2).alpha == pytest.approx(0.05 / 6 / 5)


@pytest.mark.parametrize(
    ("look", "test", "control", "verdict"),
    [
        (0, Count(4, 4), Count(0, 10), True),  # 1 of 1001 by chance
        (0, Count(3, 4), Count(0, 10), None),
        (0, Count(0, 4), Count(0, 10), None),  # nothing is given up at the first look
        (1, Count(0, 8), Count(0, 10), False),
        (1, Count(4, 8), Count(5, 10), False),  # no more than the policy's own failures
        (1, Count(5, 8), Count(5, 10), None),
        (2, Count(1, 16), Count(0, 10), False),
        (2, Count(2, 16), Count(0, 10), None),
        (3, Count(9, 32), Count(0, 40), True),
        (4, Count(6, 64), Count(3, 64), False),  # the last look decides
    ],
)
def test_a_confirmation_goes_on_until_it_can_tell(look, test, control, verdict):
    assert Confirmation(1).verdict(look, test, control) is verdict


def seen(rows, failed):
    return Seen(np.array(rows, dtype=np.int64), np.array(failed, dtype=bool))


def drawn(fails, count=200, seed=0):
    random = np.random.default_rng(seed)
    levels = np.stack(
        [random.integers(-8, 9, count), random.integers(0, 9, count), random.integers(0, 9, count)], axis=1
    )
    return seen(levels, [bool(fails(*row)) for row in levels])


@pytest.mark.parametrize(
    ("fails", "axes"),
    [
        (lambda a, b, c: a >= 5, {0: 1}),
        (lambda a, b, c: a <= -5, {0: -1}),
        (lambda a, b, c: c == 3, {2: 3}),
        (lambda a, b, c: b >= 4 and c == 3, {1: 1, 2: 3}),
    ],
)
def test_what_goes_with_failure_is_proposed_at_a_level_that_fails(fails, axes):
    point = propose(SPACE, drawn(fails, 600))
    assert {axis for axis, level in enumerate(point) if level} == set(axes)
    assert fails(*point)
    assert all(point[axis] * sign > 0 for axis, sign in axes.items())


def test_what_fails_in_both_directions_is_proposed_before_either_shows_alone():
    rows = [[level, 0, 0] for level in (-6, 6)] * 8 + [[0, level, 0] for level in (5, 6)] * 40
    failed = [number % 16 < 9 for number in range(16)] + [number % 8 == 0 for number in range(80)]
    half = [number for number, (level, *_) in enumerate(rows) if level >= 0]
    assert propose(SPACE, seen([rows[n] for n in half], [failed[n] for n in half])) is None
    point = propose(SPACE, seen(rows, failed))
    assert point is not None
    assert abs(point[0]) >= 6
    assert not any(point[1:])


@pytest.mark.parametrize("seed", range(5))
def test_chance_is_not_proposed(seed):
    coin = np.random.default_rng(seed)
    assert propose(SPACE, drawn(lambda a, b, c: coin.random() < 0.3, seed=seed)) is None


def test_solving_more_often_is_no_reason():
    assert propose(SPACE, drawn(lambda a, b, c: a < 3)) != (8, 0, 0)
    assert propose(SPACE, seen(np.zeros((0, 3)), [])) is None
