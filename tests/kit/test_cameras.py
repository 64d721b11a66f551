"""Cameras and lamps under edits."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.kit.cameras import edited, lamp
from pytest_vla.kit.edits import IN_PLACE, CameraEdit, LightEdit
from pytest_vla.kit.mujoco_table import lights
from pytest_vla.sim.view import looking_at

CENTRE = (0.0, 0.0, 0.0)
VIEW = looking_at((0.1, -0.3, 0.4), CENTRE, 45.0)
angles = st.floats(-80, 80)


def axes_of(view):
    return np.array([view.right, view.up, view.forward])


def test_a_camera_has_what_it_looks_at_in_the_middle():
    towards = np.subtract(CENTRE, VIEW.position)
    assert np.allclose(VIEW.forward, towards / np.linalg.norm(towards))
    assert VIEW.right[2] == 0, "it is level"


def test_a_neutral_edit_leaves_the_very_same_view():
    assert edited(VIEW, IN_PLACE, CENTRE) is VIEW


@given(angles, angles, angles)
def test_a_turned_camera_still_looks_at_its_centre(yaw, pitch, roll):
    view = edited(VIEW, CameraEdit(yaw, pitch, roll), CENTRE)
    assert math.isclose(math.dist(view.position, CENTRE), math.dist(VIEW.position, CENTRE))
    assert np.allclose(np.cross(view.forward, np.subtract(CENTRE, view.position)), 0, atol=1e-9)
    assert np.allclose(axes_of(view) @ axes_of(view).T, np.eye(3), atol=1e-9), "its axes stay right angled"


@given(angles, angles)
def test_a_carried_camera_turns_about_itself(yaw, pitch):
    assert edited(VIEW, CameraEdit(yaw, pitch)).position == VIEW.position


@given(st.floats(-180, 180), st.floats(-30, 25))
def test_the_lamp_is_one_away(azimuth, elevation):
    assert math.isclose(math.hypot(*lamp(LightEdit(azimuth, elevation))), 1)


@given(st.floats(0.01, 2), st.floats(0, 1))
def test_shadow_moves_ambient_light_to_the_lamp_and_loses_none(brightness, shadow):
    before, after = lights(LightEdit()), lights(LightEdit(brightness=brightness, shadow=shadow))
    total = brightness * (before.ambient[0] + before.lamp[0])
    assert math.isclose(after.ambient[0] + after.lamp[0], total, rel_tol=1e-9)
    assert after.shadows == (shadow > 0)
