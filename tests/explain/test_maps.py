"""Refinement finds what matters, covers the picture once, and keeps the effect of what it looked into."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_vla.explain.chance import ASKED_AGAIN, LEVEL, correlation, judged, larger
from pytest_vla.explain.maps import grid, heat, plain, refined

SIZE = (96, 128)


def linear(weights):
    """Patches of a picture in which every pixel has its own effect."""

    def ask(places):
        return np.array([weights[box[1] : box[3], box[0] : box[2]].sum() for _, box in places])

    return ask


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 100), st.integers(0, 70), st.integers(4, 24), st.integers(40, 900))
def test_cells_cover_the_picture_once_and_keep_the_effect_of_the_coarse_ones(x, y, side, rows):
    weights = np.zeros(SIZE)
    weights[y : y + side, x : x + side] = 1.0
    coarse, cells = refined({"front": SIZE}, linear(weights), rows)
    covered = np.zeros(SIZE, int)
    for cell in cells:
        covered[cell.box[1] : cell.box[3], cell.box[0] : cell.box[2]] += 1
    assert (covered == 1).all()
    assert np.isclose(sum(cell.share for cell in cells), sum(max(cell.effect, 0.0) for cell in coarse))
    assert np.isclose(heat(cells, "front", SIZE).sum(), weights.sum())


@pytest.mark.parametrize("corner", [(10, 20), (63, 31), (97, 65)])
def test_with_rows_enough_a_square_is_found_to_the_pixel(corner):
    x, y = corner
    weights = np.zeros(SIZE)
    weights[y : y + 24, x : x + 24] = np.random.default_rng(0).uniform(0.5, 1, weights[y : y + 24, x : x + 24].shape)
    _, cells = refined({"front": SIZE}, linear(weights), 2000)
    found = heat(cells, "front", SIZE)
    assert found[weights > 0].sum() > 0.95 * found.sum()


def test_a_patch_whose_parts_do_nothing_by_themselves_stays_whole():
    def ask(places):  # only a patch of at least 12 pixels hides enough
        return np.array(
            [float(box[2] - box[0] >= 12 and box[0] <= 40 < box[2] and box[1] <= 40 < box[3]) for _, box in places]
        )

    _, cells = refined({"front": SIZE}, ask, 400)
    (top,) = [cell for cell in cells if cell.effect > 0]
    assert top.box[2] - top.box[0] >= 12
    assert top.share == 1.0


def test_a_plain_grid_is_asked_in_one_go_over_all_cameras():
    asked = []

    def ask(places):
        asked.append(len(places))
        return np.zeros(len(places))

    cells = plain({"front": (256, 256), "wrist": (256, 256)}, ask, 16, None)
    assert asked == [512]
    assert len(cells) == 512
    assert len(grid((20, 20), 8, 4)) == 25


def test_nothing_is_called_an_effect_no_more_often_than_stated():
    rng = np.random.default_rng(0)
    called = sum(larger(rng.standard_normal(8), rng.standard_normal(8)) <= LEVEL for _ in range(1000))
    assert called <= 25


def test_ties_are_no_effect_and_a_clear_one_is():
    nothing, much = np.zeros(ASKED_AGAIN), np.full(ASKED_AGAIN, 0.3)
    assert "no effect above chance" in str(judged("x", nothing, nothing))
    assert judged("x", much, nothing).above
    assert not judged("x", nothing, much).above


def test_ranks_are_correlated_whatever_the_scale():
    values = np.random.default_rng(1).standard_normal(50)
    assert correlation(values, np.exp(values)) == pytest.approx(1.0)
    assert correlation(values, np.zeros(50)) is None
