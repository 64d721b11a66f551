"""The builders of scene axes: each row changes what it names and nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit import axes
from pytest_vla.kit.bench import SceneEdits
from pytest_vla.perturb import AXES, COLOURS, CONTRADICTION
from pytest_vla.sim.view import looking_at
from pytest_vla.suite import SuiteError

RNG = np.random.default_rng(0)
NEUTRAL = SceneEdits()
VIEW = looking_at((0.0, -0.3, 0.4), (0.0, 0.0, 0.0), 45.0)
KEY = EpisodeKey("toy", "task", "standard", 0)
magnitudes = st.floats(-10, 10)


@given(magnitudes, magnitudes)
def test_rows_that_add_make_up_a_sum(a, b):
    row = axes.adds("front", yaw_deg=float, shift_m=lambda m: (m, 0.0, 0.0))
    edits = row(row(NEUTRAL, a, None, RNG), b, None, RNG)
    assert edits.front.yaw_deg == a + b
    assert edits.front.shift_m == (a + b, 0.0, 0.0)
    assert replace(edits, front=NEUTRAL.front) == NEUTRAL


@given(magnitudes, magnitudes)
def test_a_row_that_sets_takes_the_last_value(a, b):
    row = axes.sets("light", brightness=float)
    edits = row(row(NEUTRAL, a, None, RNG), b, None, RNG)
    assert edits.light.brightness == b
    assert replace(edits, light=NEUTRAL.light) == NEUTRAL


@given(st.integers(1, 8))
def test_the_numbered_alternative_is_taken(number):
    row = axes.one_of(*({"table_texture": str(n)} for n in range(1, 9)))
    assert row(NEUTRAL, number, None, RNG) == replace(NEUTRAL, table_texture=str(number))


@given(st.floats(0, 0.1), st.integers(0, 1000))
def test_the_robot_starts_the_distance_away_at_its_height(distance_m, seed):
    row = axes.start("tip_start_m", (0.1, 0.2, 0.3))
    x, y, z = row(NEUTRAL, distance_m, None, np.random.default_rng(seed)).tip_start_m
    assert math.isclose(math.dist((x, y), (0.1, 0.2)), distance_m, abs_tol=1e-12)
    assert z == 0.3


def test_every_row_is_an_axis_with_a_scene_and_its_neutral_level_changes_nothing():
    table = {**axes.camera_axes("front", VIEW), **axes.LIGHT_AXES, **axes.OBJECT_AXES}
    for name, row in table.items():
        assert AXES[name].stage == "scene"
        assert row(NEUTRAL, AXES[name].magnitudes[0], None, RNG) == NEUTRAL, name
    colour = axes.table_axes()["appearance.table_colour"]
    assert colour(NEUTRAL, "red", None, RNG) == replace(NEUTRAL, table_colour=COLOURS["red"])


def test_supported_axes_are_the_rows_and_what_works_everywhere():
    names = axes.supported(axes.LIGHT_AXES, without=["robot.delay"])
    assert set(axes.LIGHT_AXES) < set(names)
    assert CONTRADICTION in names
    assert "sensor.noise" in names
    assert "robot.delay" not in names


def test_a_contradiction_is_the_first_thing_else_that_is_said():
    told = {f"perturbation.{CONTRADICTION}.2.{attempt}": text for attempt, text in enumerate(("go", "go", "stop"))}
    episode = replace(KEY, perturbation=f"{CONTRADICTION}=2")
    assert axes.contradicted("go", episode, told.__getitem__) == "stop"
    assert axes.contradicted("go", KEY, told.__getitem__) == "go"
    with pytest.raises(SuiteError, match="nothing else was said"):
        axes.contradicted("go", episode, lambda stream: "go")
