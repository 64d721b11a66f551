"""A perturbation prints as one line and parses back; what cannot be read is said in one clear sentence."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_vla.perturb import AXES, MAX_LEVEL, Perturbation, PerturbationError

levels = st.fixed_dictionaries({}, optional={axis.name: st.integers(axis.lowest, MAX_LEVEL) for axis in AXES.values()})


@settings(deadline=None)
@given(levels)
def test_a_perturbation_parses_back_from_its_own_line(chosen):
    perturbation = Perturbation.of(chosen)
    assert Perturbation.parse(str(perturbation)) == perturbation
    assert "\n" not in str(perturbation)


@settings(deadline=None)
@given(levels, st.randoms())
def test_the_order_in_which_axes_are_written_does_not_matter(chosen, random):
    pairs = list(chosen.items())
    random.shuffle(pairs)
    text = " , ".join(f"{name} = {level}" for name, level in pairs)
    assert str(Perturbation.parse(text)) == str(Perturbation.of(chosen))


@settings(deadline=None)
@given(levels)
def test_neutral_levels_leave_no_trace(chosen):
    perturbation = Perturbation.of(chosen)
    assert dict(perturbation.levels) == {name: level for name, level in chosen.items() if level}
    assert bool(perturbation) == any(chosen.values())


def test_a_perturbation_says_how_far_off_it_is():
    text = Perturbation.parse("camera.yaw=3,language.case=2").describe()
    assert text == "camera.yaw=3 (6 deg), language.case=2 (UPPER)"
    assert Perturbation().describe() == "none"
    assert Perturbation.parse("camera.yaw=-3").describe() == "camera.yaw=-3 (-6 deg)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("camera.yow=3", "unknown axis 'camera.yow'; did you mean 'camera.yaw'"),
        ("camera=3", "unknown axis 'camera'"),
        (
            "camera.yaw=9",
            "camera.yaw=9 is out of range: levels are whole numbers from -8 (-16 deg) over 0 (neutral) to 8 (16 deg)",
        ),
        ("camera.yaw=99", "camera.yaw=99 is out of range"),
        ("camera.yaw=-9", "camera.yaw=-9 is out of range"),
        ("light.shadow=9", "light.shadow=9 is out of range: levels are whole numbers from 0 (neutral) to 8 (0.8 of"),
        ("light.shadow=-1", "light.shadow=-1 is out of range"),
        ("camera.yaw=--1", "cannot read 'camera.yaw=--1' in 'camera.yaw=--1': write AXIS=LEVEL"),
        ("camera.yaw=2.5", "cannot read 'camera.yaw=2.5'"),
        ("camera.yaw", "cannot read 'camera.yaw'"),
        ("camera.yaw=1,,", "cannot read ''"),
        ("=3", "cannot read '=3'"),
        ("camera.yaw=1,camera.yaw=2", "axis 'camera.yaw' is given twice"),
    ],
)
def test_what_cannot_be_read_is_one_clear_message(text, message):
    with pytest.raises(PerturbationError) as error:
        Perturbation.parse(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("level", [True, 1.0, "1", None])
def test_a_level_is_a_whole_number(level):
    with pytest.raises(PerturbationError, match="out of range"):
        Perturbation.of({"camera.yaw": level})


def test_an_axis_that_a_suite_does_not_support_is_refused_with_those_it_does():
    suite = SimpleNamespace(name="reach", axes=lambda: ["robot.delay"])
    assert Perturbation.parse("robot.delay=1").check(suite)
    with pytest.raises(
        PerturbationError, match=r"'reach' does not support axis 'camera\.yaw'; it supports robot\.delay"
    ):
        Perturbation.parse("camera.yaw=3,robot.delay=1").check(suite)
