"""How much a hunt draws off neutral at once, and how long a limit on it lasts."""

import random

import pytest

from pytest_vla.hunt.draw import PATIENCE, WINDOW, Draw
from pytest_vla.hunt.space import Space, severity

AXES = ("camera.yaw", "robot.delay", "sensor.noise", "object.mass", "light.brightness", "camera.pitch")


@pytest.fixture
def draw():
    return Draw(Space.of(AXES), random.Random(0))


def quiet(draw, windows, chancy):
    for _ in range(windows * WINDOW):
        draw.learn(False, 0.01, chancy)


def heaviest(draw):
    return max(severity(draw.point(severity, ())) for _ in range(30))


def test_a_limit_holds_for_what_is_drawn(draw):
    quiet(draw, 8, chancy=False)
    assert heaviest(draw) > 20
    draw.stay_below(12)
    assert heaviest(draw) <= 12


@pytest.mark.parametrize(
    ("limits", "windows", "chancy", "lifted"),
    [
        ([12], PATIENCE, True, True),
        ([12], PATIENCE - 1, True, False),
        ([12], 2 * PATIENCE, False, False),
        ([20, 12], 2 * PATIENCE, True, False),
    ],
    ids=["one point, by chance", "too soon", "for certain", "two points"],
)
def test_a_limit_that_one_point_set_does_not_last_where_failing_is_chancy(draw, limits, windows, chancy, lifted):
    for limit in limits:
        draw.stay_below(limit)
    quiet(draw, windows, chancy)
    assert (heaviest(draw) > 20) is lifted


def test_failures_are_no_quiet(draw):
    draw.stay_below(12)
    for number in range(2 * PATIENCE * WINDOW):
        draw.learn(number % 2 == 0, 0.01, chancy=True)
    assert heaviest(draw) <= 12
