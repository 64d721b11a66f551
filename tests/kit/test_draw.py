"""Drawing: the key decides everything, and what cannot be used is drawn again from the next stream."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit.draw import DRAWS, Draw, Redraw, drawn
from pytest_vla.kit.task import Task, task_of
from pytest_vla.suite import SuiteError

KEY = EpisodeKey("toy", "task", "standard", 3)
seeds = st.integers(0, 2**32)


@given(seeds, st.lists(st.integers(), min_size=1, max_size=9, unique=True), st.integers(0, 9))
def test_choices_are_of_the_options_and_never_repeat(seed, options, count):
    draw = Draw(np.random.default_rng(seed))
    assert draw.one(options) in options
    some = draw.some(options, count)
    assert len(some) == len(set(some)) == min(count, len(options))
    assert set(some) <= set(options)


@given(seeds, st.floats(-5, 5), st.floats(0, 5))
def test_a_uniform_draw_stays_in_its_range(seed, low, width):
    assert low <= Draw(np.random.default_rng(seed)).uniform(low, low + width) <= low + width


@given(st.integers(0, 20))
def test_a_redraw_goes_on_with_the_next_stream(failures):
    seen = []

    def draw(rng):
        seen.append(int(rng.integers(2**62)))
        if len(seen) <= failures:
            raise Redraw
        return seen[-1]

    assert drawn(draw, KEY) == seen[-1]
    assert len(set(seen)) == failures + 1
    assert seen[-1] == int(KEY.rng(f"scene.{failures}" if failures else "scene").integers(2**62))


def test_a_task_that_never_finds_a_scene_says_so():
    def hopeless(rng):
        raise Redraw

    with pytest.raises(SuiteError, match=f"toy/task-standard-03 found no scene in {DRAWS} draws"):
        drawn(hopeless, KEY)


def test_a_function_is_a_task_of_its_name_and_first_line():
    @task_of(Task, 7)
    def open_box(draw):
        """Open the box.

        It has a lid.
        """

    assert (open_box.name, open_box.summary, open_box.step_limit) == ("open_box", "Open the box.", 7)
