"""Lazy pictures and patterns."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.kit.images import LazyImages
from pytest_vla.kit.patterns import PATTERNS, painted, smooth

IMAGE = np.zeros((4, 4, 3), np.uint8)


def lazy():
    asked = []

    def draw(camera):
        asked.append(camera)
        return IMAGE

    return LazyImages(("front", "wrist"), draw), asked


def test_a_picture_is_drawn_once_and_only_when_looked_at():
    images, asked = lazy()
    assert list(images) == ["front", "wrist"]
    assert len(images) == 2
    assert not asked
    assert images["wrist"] is images["wrist"]
    assert asked == ["wrist"]


def test_a_camera_that_is_not_there_is_a_key_error():
    images, _ = lazy()
    with pytest.raises(KeyError):
        images["top"]


def test_pictures_that_leave_the_process_are_drawn_first():
    images, asked = lazy()
    assert {name: image.shape for name, image in pickle.loads(pickle.dumps(images)).items()} == dict.fromkeys(
        asked, IMAGE.shape
    )


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_shades_of_any_colour(name):
    pattern = PATTERNS[name](64)
    assert pattern.shape == (64, 64)
    assert pattern.min() > 0.3
    image = painted(pattern, (0.5, 0.4, 0.3))
    assert image.dtype == np.uint8
    assert np.all(image[..., 0] >= image[..., 2])


@given(st.integers(2, 6), st.integers(0, 1000))
def test_noise_goes_through_its_knots_and_never_beyond_them(cells, seed):
    knots = np.random.default_rng(seed).uniform(-1, 1, (cells, cells))
    assert np.array_equal(smooth(knots, np.arange(cells).astype(float)), knots)
    between = smooth(knots, np.arange(cells * 5) / 5)
    assert between.min() >= knots.min() - 1e-12
    assert between.max() <= knots.max() + 1e-12
