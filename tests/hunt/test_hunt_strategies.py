"""Perturbations as Hypothesis strategies: what they draw is valid, and shrinks to the smallest."""

import pytest
from hypothesis import Phase, find, given, settings

from pytest_vla.hunt.strategies import levels_of, perturbations, profile
from pytest_vla.perturb import AXES, Perturbation, PerturbationError


@settings(deadline=None)
@given(perturbations())
def test_every_drawn_perturbation_prints_and_parses(perturbation):
    assert Perturbation.parse(str(perturbation)) == perturbation


@settings(deadline=None)
@given(perturbations(["camera", "light.colour"], min_axes=1, max_axes=3))
def test_only_the_named_axes_are_drawn(perturbation):
    assert 1 <= len(perturbation.levels) <= 3
    assert all(axis.group == "camera" or axis.name == "light.colour" for axis, _ in perturbation)


def test_an_example_shrinks_to_the_smallest_cause():
    cause = find(
        perturbations(["camera", "light"]),
        lambda p: p.level("camera.yaw") >= 3 and p.level("light.brightness") >= 5,
        settings=settings(database=None, max_examples=2000),
    )
    assert str(cause) == "camera.yaw=3,light.brightness=5"


def test_one_axis_alone_can_be_drawn():
    assert str(find(levels_of("camera.yaw"), lambda p: p.level("camera.yaw") > 4)) == "camera.yaw=5"


def test_an_unknown_axis_is_refused():
    with pytest.raises(PerturbationError, match="unknown axis 'camra'; did you mean 'camera'"):
        perturbations("camra")


def test_the_profile_has_a_database_and_no_explain_phase(tmp_path):
    made = profile(tmp_path / "finds")
    assert Phase.explain not in made.phases
    assert made.deadline is None
    made.database.save(b"key", b"value")
    assert list(made.database.fetch(b"key")) == [b"value"]
    assert settings.get_profile("vla").phases == made.phases


def test_all_axes_can_be_drawn():
    seen = set()

    @settings(max_examples=200, database=None, deadline=None)
    @given(perturbations(max_axes=len(AXES), min_axes=10))
    def draw(perturbation):
        seen.update(axis.name for axis, _ in perturbation)

    draw()
    assert seen == {name for name, axis in AXES.items() if not axis.control}
