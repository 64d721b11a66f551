"""Fixed-n tests against sums over every table there is, and pooled ones against numbers worked out by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from scipy.stats import beta, binom, multinomial

from pytest_vla.gate.evidence import Bounds, Evidence
from pytest_vla.gate.exact import (
    difference_score,
    information,
    paired_evidence,
    paired_pvalue,
    paired_score,
    pooled_rate_evidence,
    pooled_unpaired_evidence,
    rate_evidence,
    unpaired_evidence,
    unpaired_pvalue,
)


def spread(low, high):
    """129 values of what is not known, denser towards the ends."""
    return low + (high - low) * np.sin(np.linspace(0, np.pi / 2, 129)) ** 2


def score_of(a, b, shift):
    return difference_score(np.array([float(a[0])]), a[1], np.array([float(b[0])]), b[1], shift)[0]


@pytest.mark.parametrize("shift", [-0.3, -0.1, 0.0, 0.15])
@pytest.mark.parametrize(("a", "b"), [((3, 6), (5, 7)), ((6, 6), (2, 5)), ((0, 5), (0, 6)), ((4, 8), (3, 3))])
def test_two_rates_are_tested_by_the_worst_sum_over_all_tables_as_extreme(a, b, shift):
    observed, n_a, n_b = score_of(a, b, shift), a[1], b[1]
    extreme = np.array([[score_of((i, n_a), (j, n_b), shift) >= observed - 1e-9 for j in range(n_b + 1)]
                        for i in range(n_a + 1)])  # fmt: skip
    sums = []
    for rate in spread(max(0, -shift), min(1, 1 - shift)):
        joint = np.outer(
            binom.pmf(range(n_a + 1), n_a, rate), binom.pmf(range(n_b + 1), n_b, min(1, max(0, rate + shift)))
        )
        sums.append(joint[extreme].sum())
    assert unpaired_pvalue(a, b, shift) == pytest.approx(min(1, max(sums)), abs=1e-9)


def pair_score(gained, lost, pairs, shift):
    return paired_score(np.array([float(gained)]), np.array([float(lost)]), pairs, shift)[0]


@pytest.mark.parametrize("shift", [-0.25, -0.1, 0.0, 0.2])
@pytest.mark.parametrize(("gained", "lost", "pairs"), [(2, 1, 7), (0, 3, 8), (4, 0, 9), (0, 0, 6), (3, 3, 6)])
def test_pairs_are_tested_by_the_worst_sum_over_all_tables_as_extreme(gained, lost, pairs, shift):
    observed = pair_score(gained, lost, pairs, shift)
    tables = [(g, x) for g in range(pairs + 1) for x in range(pairs + 1 - g)]
    extreme = [(g, x) for g, x in tables if pair_score(g, x, pairs, shift) >= observed - 1e-9]
    sums = []
    for flips in spread(abs(shift), 1.0):
        rates = [(flips + shift) / 2, (flips - shift) / 2, 1 - flips]
        sums.append(sum(multinomial.pmf([g, x, pairs - g - x], pairs, rates) for g, x in extreme))
    assert paired_pvalue(gained, lost, pairs, shift) == pytest.approx(min(1, max(sums)), abs=1e-9)


@pytest.mark.parametrize("shift", [-0.4, -0.1, 0.05, 0.3])
@pytest.mark.parametrize(
    ("gained", "lost", "pairs"), [(5, 2, 20), (0, 4, 15), (6, 0, 12), (1, 9, 30), (10, 10, 20), (3, 1, 4)]
)
def test_the_score_of_pairs_takes_its_variance_from_the_most_likely_rates_at_the_shift(gained, lost, pairs, shift):
    def misfit(down):
        same = 1 - 2 * down - shift
        return -(xlogy(gained, down + shift) + xlogy(lost, down) + xlogy(pairs - gained - lost, same))

    limits = (max(0, -shift), (1 - shift) / 2)
    down = minimize_scalar(misfit, bounds=limits, method="bounded", options={"xatol": 1e-12}).x
    variance = (2 * down + shift - shift**2) / pairs
    expected = ((gained - lost) / pairs - shift) / variance**0.5
    assert pair_score(gained, lost, pairs, shift) == pytest.approx(expected, abs=2e-3)


def test_where_nothing_can_vary_only_the_sign_is_left():
    assert score_of((0, 5), (5, 5), 1.0) == 0
    assert score_of((1, 5), (5, 5), 1.0) == -np.inf
    assert score_of((0, 5), (5, 5), -1.0) == np.inf
    assert score_of((4, 4), (6, 6), 0.0) == 0
    assert pair_score(0, 0, 5, 0.0) == 0
    assert pair_score(5, 0, 5, 1.0) == 0
    assert pair_score(4, 0, 5, 1.0) == -np.inf


def test_evidence_looks_both_ways_and_counts_what_went_in():
    bounds = Bounds(-0.1, 0.05)
    assert unpaired_evidence((8, 10), (9, 12), bounds) == Evidence(
        unpaired_pvalue((8, 10), (9, 12), -0.1), unpaired_pvalue((9, 12), (8, 10), -0.05), 12
    )
    assert paired_evidence(3, 1, 20, bounds) == Evidence(
        paired_pvalue(3, 1, 20, -0.1), paired_pvalue(1, 3, 20, -0.05), 20
    )
    assert rate_evidence(7, 10, Bounds(0.5, 0.8)) == Evidence(
        pytest.approx(binom.sf(6, 10, 0.5)), pytest.approx(binom.cdf(7, 10, 0.8)), 10
    )
    nothing = (rate_evidence(0, 0, bounds), paired_evidence(0, 0, 0, bounds), unpaired_evidence((0, 0), (3, 4), bounds))
    assert [(one.passing, one.failing, one.used) for one in nothing] == [(1, 1, 0), (1, 1, 0), (1, 1, 4)]
    assert unpaired_evidence((3, 4), (0, 0), bounds) == Evidence(1.0, 1.0, 0)


EASY_AND_HARD = [(10, 10), (0, 10)]
#: of either task (10.5 / 11) (0.5 / 11) 11 / 10, of both together 1 / 4, less what equal tasks show by chance
WORTH = 0.25 / (10.5 / 11 * 0.5 / 11 * 1.1) - 2 * 2**0.5 / 20


def test_tasks_of_different_difficulty_are_worth_more_episodes():
    assert information(EASY_AND_HARD) == pytest.approx(WORTH)
    assert pytest.approx(5.0966, abs=1e-4) == WORTH
    unequal = [(18, 20), (2, 10), (5, 10)]
    rates = [18.5 / 21, 2.5 / 11, 5.5 / 11]
    within = sum(rate * (1 - rate) * (size + 1) for rate, (_, size) in zip(rates, unequal, strict=True)) / 40
    pooled = 25.5 / 41
    assert information(unequal) == pytest.approx(pooled * (1 - pooled) / within - 2 * (2 * 2) ** 0.5 / 40)


@pytest.mark.parametrize("tasks", [[(7, 10)], [(5, 10), (5, 10)], [(5, 10), (6, 10), (5, 10)], [(1, 1), (0, 1)]])
def test_one_task_alike_ones_and_single_episodes_are_worth_what_they_are(tasks):
    assert information(tasks) == 1
    solved, measured = (sum(column) for column in zip(*tasks, strict=True))
    assert pooled_rate_evidence(tasks, Bounds(0.4, 0.8)) == rate_evidence(solved, measured, Bounds(0.4, 0.8))


def test_a_pooled_rate_is_tested_with_what_its_episodes_are_worth():
    evidence = pooled_rate_evidence(EASY_AND_HARD, Bounds(0.3, 0.7))
    total, above, below = 20 * WORTH, 9.5 * WORTH + 0.5, 10.5 * WORTH - 0.5
    assert evidence.passing == pytest.approx(beta.cdf(0.3, above, total - above + 1))
    assert evidence.failing == pytest.approx(beta.sf(0.7, below + 1, total - below))
    assert evidence.used == 20
    assert evidence.passing < rate_evidence(10, 20, Bounds(0.3, 0.7)).passing


@pytest.mark.parametrize("measured", [0, 10])
def test_nothing_solved_never_passes_and_all_solved_never_fails(measured):
    none = pooled_rate_evidence([(0, measured)] * 2, Bounds(0.3, 0.7))
    everything = pooled_rate_evidence([(measured, measured)] * 2, Bounds(0.3, 0.7))
    assert (none.passing, everything.failing) == (1.0, 1.0)


def test_pooled_rates_of_two_policies_are_compared_by_what_they_are_worth():
    old, new, bounds = EASY_AND_HARD, [(10, 10), (1, 10)], Bounds(-0.1, 0.0)
    sizes = [int(20 * information(tasks)) for tasks in (old, new)]
    hits = [round(solved * size / 20) for solved, size in zip((10, 11), sizes, strict=True)]
    expected = unpaired_evidence((hits[0], sizes[0]), (hits[1], sizes[1]), bounds)
    assert pooled_unpaired_evidence(old, new, bounds) == expected
    assert sizes[0] == 101
