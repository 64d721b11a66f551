"""The stakes of the sequential tests against the bets spelled out, one by one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_vla.gate.evidence import Bounds, Evidence, Verdict
from pytest_vla.gate.sequential import paired_bets, paired_evidence, paired_stake, rate_evidence, rate_stake

outcomes = st.lists(st.booleans(), min_size=1, max_size=25)
steps = st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=25)


def rate_bets(solved, bound, rates):
    """The mean over alternatives of the likelihood ratio, episode by episode; its log after each."""
    stakes = []
    for end in range(1, len(solved) + 1):
        products = [
            math.prod((rate / bound) if hit else (1 - rate) / (1 - bound) for hit in solved[:end]) for rate in rates
        ]
        stakes.append(math.log(sum(products) / len(products)) if sum(products) else -math.inf)
    return stakes


def running(solved):
    hits = np.cumsum(solved).astype(float)
    return hits, np.arange(1.0, len(solved) + 1)


@settings(max_examples=60)
@given(outcomes, st.floats(0.1, 0.8), st.floats(0.02, 0.15))
def test_with_room_the_stake_on_a_rate_is_one_likelihood_ratio(solved, bound, room):
    expected = rate_bets(solved, bound, [bound + room])
    assert rate_stake(*running(solved), bound, bound + room) == pytest.approx(expected)


@settings(max_examples=60)
@given(outcomes, st.floats(0.1, 0.9))
def test_without_room_it_is_spread_over_four_alternatives(solved, bound):
    rates = [bound + (1 - bound) * share for share in (0.1, 0.25, 0.5, 0.8)]
    assert rate_stake(*running(solved), bound, bound) == pytest.approx(rate_bets(solved, bound, rates))


def test_a_rate_on_the_edge_is_certain_or_cannot_be_beaten():
    hits, count = running([True, False])
    assert rate_stake(hits, count, 1.0, 1.0).tolist() == [0.0, 0.0]
    assert rate_stake(hits, count, 0.0, 0.5)[0] == math.inf
    assert rate_stake(np.zeros(1), np.ones(1), 0.0, 0.5)[0] == pytest.approx(math.log(0.5))
    assert rate_stake(hits, count, 0.5, 1.0).tolist() == pytest.approx([math.log(2), -math.inf])
    assert rate_stake(hits, count, 0.0, 1.0)[1] == -math.inf, "a miss refutes certainty, whatever was won before"


@pytest.mark.parametrize(("bound", "alternative"), [(-0.1, 0.0), (-0.2, 0.1), (0.0, 0.1), (0.3, 0.5)])
def test_the_bets_on_pairs_grow_fastest_at_their_flip_rates(bound, alternative):
    bets = paired_bets(bound, alternative)
    assert len(bets) == 3
    for bet, flips in zip(bets, (0.02, 0.1, 0.3), strict=True):
        differing = min(1.0, flips + abs(alternative))
        up, down = (differing + alternative) / 2, (differing - alternative) / 2

        def growth(x, up=up, down=down):
            parts = ((up, 1 - bound), (down, -1 - bound), (1 - up - down, -bound))
            return sum(weight * math.log(1 + x * gain) for weight, gain in parts if weight)

        largest = 0.999 / max(1 + bound, bound)
        assert 0 < bet <= largest
        assert growth(bet) >= max(growth(x) for x in np.linspace(0, largest * 0.9999, 2001)) - 1e-6


@settings(max_examples=60)
@given(steps, st.sampled_from([(-0.1, 0.0), (-0.1, -0.1), (0.0, 0.2), (0.2, 0.2)]))
def test_the_stake_on_pairs_is_the_mean_of_its_bets(differences, bounds):
    bound, alternative = bounds
    bets = paired_bets(bound, alternative if alternative > bound else bound + 0.1)
    expected = []
    for end in range(1, len(differences) + 1):
        products = [math.prod(1 + bet * (step - bound) for step in differences[:end]) for bet in bets]
        expected.append(math.log(sum(products) / len(products)))
    up, down = (np.cumsum(np.sign(differences) == sign).astype(float) for sign in (1, -1))
    count = np.arange(1.0, len(differences) + 1)
    assert paired_stake(up, down, count, bound, alternative) == pytest.approx(expected)


def test_more_than_all_cannot_be_gained():
    ones = np.ones(3)
    assert paired_stake(ones, ones, 2 * ones, 1.0, 1.0).tolist() == [0.0] * 3
    assert paired_evidence([1] * 500, Bounds(1.0, 1.0), 0.05, 0.05).stopped is None


def by_hand(passing, failing, alphas):
    """The answer of a person who looks after every episode."""
    best = [0.0, 0.0]
    for used, (good, bad) in enumerate(zip(passing, failing, strict=True), start=1):
        best = [max(best[0], good), max(best[1], bad)]
        if good >= -math.log(alphas[0]):
            return Evidence(math.exp(-best[0]), math.exp(-best[1]), used, Verdict.PASS)
        if bad >= -math.log(alphas[1]):
            return Evidence(math.exp(-best[0]), math.exp(-best[1]), used, Verdict.FAIL)
    return Evidence(math.exp(-best[0]), math.exp(-best[1]), len(passing), None)


def same(one, other):
    assert (one.used, one.stopped) == (other.used, other.stopped)
    assert (one.passing, one.failing) == pytest.approx((other.passing, other.failing))


@settings(max_examples=100)
@given(
    st.lists(st.booleans(), min_size=1, max_size=60),
    st.sampled_from([(0.6, 0.8), (0.5, 0.5), (0.3, 0.35)]),
    st.sampled_from([(0.05, 0.05), (0.05, 0.001), (0.2, 0.01)]),
)
def test_a_rate_is_decided_when_its_first_stake_is_high_enough(solved, bounds, alphas):
    low, high = bounds
    hits, count = running(solved)
    passing, failing = rate_stake(hits, count, low, high), rate_stake(count - hits, count, 1 - high, 1 - low)
    same(rate_evidence(solved, Bounds(low, high), *alphas), by_hand(passing, failing, alphas))


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=60),
    st.sampled_from([(-0.1, 0.0), (0.0, 0.1), (-0.05, 0.05)]),
    st.sampled_from([(0.05, 0.05), (0.05, 0.001), (0.2, 0.01)]),
)
def test_pairs_are_decided_when_their_first_stake_is_high_enough(differences, bounds, alphas):
    low, high = bounds
    up, down = (np.cumsum(np.sign(differences) == sign).astype(float) for sign in (1, -1))
    count = np.arange(1.0, len(differences) + 1)
    passing, failing = paired_stake(up, down, count, low, high), paired_stake(down, up, count, -high, -low)
    same(paired_evidence(differences, Bounds(low, high), *alphas), by_hand(passing, failing, alphas))


def test_where_both_stakes_are_high_enough_at_once_the_policy_passes():
    evidence = rate_evidence([True], Bounds(0.2, 0.9), 0.5, 1.0)
    assert (evidence.stopped, evidence.used) == (Verdict.PASS, 1)
