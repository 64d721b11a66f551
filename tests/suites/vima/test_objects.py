"""The catalogue agrees with the benchmark's published tables."""

import math
from collections import Counter

import pytest
from pytest_vla.suites.vima.objects import OBJECTS

SEEN_DRAGGED = {
    *(f"letter {letter}" for letter in "AEGMTV"),
    *("block", "shorter block", "cross", "triangle", "flower", "heart", "ring", "pentagon", "L-shaped block"),
}
NOVEL_DRAGGED = {"letter R", "diamond", "hexagon", "round", "star"}


def test_there_are_31_objects_in_the_original_order() -> None:
    names = list(OBJECTS)
    assert len(names) == 31
    assert names[:4] == ["bowl", "block", "shorter block", "pallet"]
    assert names[-3:] == ["pan", "stand", "disk"]
    assert all(spec.name == name for name, spec in OBJECTS.items())


def test_roles_and_novelty_follow_the_partitions() -> None:
    by_role = Counter(spec.role for spec in OBJECTS.values())
    assert by_role == {"dragged": 20, "base": 6, "sweep": 3, "unused": 2}
    dragged = {name: spec.novel for name, spec in OBJECTS.items() if spec.role == "dragged"}
    assert {name for name, novel in dragged.items() if novel} == NOVEL_DRAGGED
    assert {name for name, novel in dragged.items() if not novel} == SEEN_DRAGGED
    assert {name for name, spec in OBJECTS.items() if spec.role == "base" and spec.novel} == {"pallet", "pan"}


@pytest.mark.parametrize(
    ("name", "symmetry_rad"),
    [
        ("block", math.pi / 2),
        ("shorter block", math.pi / 2),
        ("cross", math.pi / 2),
        ("triangle", 2 * math.pi / 3),
        ("pentagon", 2 * math.pi / 5),
        ("hexagon", math.pi / 3),
        ("letter A", 2 * math.pi),
        ("ring", 0),
        ("pallet", None),
    ],
)
def test_symmetry_is_the_geometric_one(name: str, symmetry_rad: float | None) -> None:
    assert OBJECTS[name].symmetry_rad == (None if symmetry_rad is None else pytest.approx(symmetry_rad))


def test_only_frame_and_square_are_hollow() -> None:
    assert [name for name, spec in OBJECTS.items() if spec.hollow] == ["frame", "square"]


@pytest.mark.parametrize("name", OBJECTS)
def test_numbers_are_physical(name: str) -> None:
    spec = OBJECTS[name]
    assert all(0 <= low <= high < 0.6 for low, high in zip(spec.size_low, spec.size_high, strict=True))
    assert all(0.02 < side < 0.6 for side in spec.footprint)
    assert 0.001 < spec.height_m < 0.2
    assert 0 < spec.mass_kg <= 0.1
    assert 0 < spec.friction <= 1


def test_specs_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        OBJECTS["bowl"].mass_kg = 5.0  # type: ignore[misc]
