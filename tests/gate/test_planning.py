"""How many episodes a question needs."""

import pytest

from pytest_vla.gate import exact
from pytest_vla.gate.evidence import Bounds
from pytest_vla.gate.planning import more_paired, more_rate, more_unpaired, plan_pairs, plan_rate

ALPHAS = (0.05, 0.05)


def test_the_textbook_gate_needs_sixty_episodes():
    assert plan_rate(Bounds(0.6, 0.8)) == 60  # exact; the usual formula says 54


def test_no_number_decides_between_equal_bounds():
    assert plan_rate(Bounds(0.8, 0.8)) is None
    assert plan_pairs(Bounds(0.0, 0.0), 0.1) is None


def test_the_missing_episodes_of_one_rate_do_decide():
    more = more_rate(7, 10, Bounds(0.6, 0.9), ALPHAS)
    total = 10 + more
    evidence = exact.rate_evidence(round(0.7 * total), total, Bounds(0.6, 0.9))
    assert min(evidence.passing, evidence.failing) <= 0.05


def test_a_rate_on_its_threshold_is_never_decided():
    assert more_rate(8, 10, Bounds(0.8, 0.8), ALPHAS) is None


@pytest.mark.parametrize("early_stop", [False, True])
def test_a_stricter_level_and_a_smaller_margin_need_more_pairs(early_stop):
    plain = more_paired(0, 0, 10, Bounds(-0.2, 0.0), ALPHAS, early_stop)
    assert more_paired(0, 0, 10, Bounds(-0.1, 0.0), ALPHAS, early_stop) > plain
    assert more_paired(0, 0, 10, Bounds(-0.2, 0.0), (0.001, 0.001), early_stop) > plain


def test_pairs_need_fewer_episodes_than_independent_ones():
    bounds = Bounds(-0.1, 0.0)
    assert more_paired(1, 1, 20, bounds, ALPHAS) < more_unpaired((16, 20), (16, 20), bounds, ALPHAS)


def test_without_any_episode_there_is_still_an_estimate():
    assert more_rate(0, 0, Bounds(0.6, 0.8), ALPHAS) > 0
    assert more_paired(0, 0, 0, Bounds(-0.1, 0.0), ALPHAS) > 0
    assert more_unpaired((0, 0), (0, 0), Bounds(-0.1, 0.0), ALPHAS) > 0
