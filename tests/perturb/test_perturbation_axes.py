"""The registry: nine stated levels an axis, and every published perturbation has a name in it."""

import re
from pathlib import Path

import pytest

from pytest_vla.perturb import AXES, GROUPS, MAX_LEVEL, Axis, PerturbationError, everywhere, resolve, steps

DOCS = Path(__file__).parents[2] / "docs" / "perturb.md"

#: what the issue of each group asks for
EXPECTED = {
    "camera": {"shift", "lift", "distance", "yaw", "pitch", "roll", "fov"},
    "light": {"direction", "brightness", "colour", "shadow"},
    "appearance": {"table_colour", "table_texture", "object_colour", "object_texture", "reflectivity"},
    "layout": {"objects", "distractors", "distractor_place"},
    "object": {"scale", "mass", "friction"},
    "robot": {"start", "action_noise", "delay", "dropped_actions"},
    "sensor": {"brightness", "contrast", "colour_balance", "noise", "blur", "jpeg", "patch", "dropped_frames"},
    "language": {"paraphrase", "typos", "case", "clause", "omit", "contradict"},
}


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_has_its_axes(group):
    names = {axis.name.partition(".")[2] for axis in AXES.values() if axis.group == group}
    assert EXPECTED[group] <= names


@pytest.mark.parametrize("axis", AXES.values(), ids=lambda axis: axis.name)
def test_every_level_has_a_magnitude_of_its_own(axis):
    assert len({str(value) for value in axis.magnitudes}) == MAX_LEVEL + 1
    assert all(axis.magnitude(level) for level in range(MAX_LEVEL + 1))
    assert axis.about


@pytest.mark.parametrize("axis", [axis for axis in AXES.values() if axis.ordered], ids=lambda axis: axis.name)
def test_the_levels_of_an_ordered_axis_go_ever_further_from_neutral(axis):
    distances = [abs(value - axis.magnitudes[0]) for value in axis.magnitudes]
    assert distances == sorted(distances)


def test_a_yaw_of_three_is_six_degrees():
    assert AXES["camera.yaw"].magnitude(3) == "6 deg"
    assert AXES["camera.yaw"].magnitude(-3) == "-6 deg"


SIGNED = [axis for axis in AXES.values() if axis.signed]


@pytest.mark.parametrize("axis", SIGNED, ids=lambda axis: axis.name)
def test_the_other_direction_is_on_the_other_side_of_neutral_and_goes_ever_further(axis):
    neutral, side = axis.value(0), axis.value(8) - axis.value(0)
    others = [axis.value(-level) for level in range(1, MAX_LEVEL + 1)]
    assert all((value - neutral) * side < 0 for value in others)
    distances = [abs(value - neutral) for value in others]
    assert distances == sorted(set(distances))
    assert neutral == 0 or min(others) > 0, "a factor stays one"


def test_both_directions_of_what_has_two():
    assert {
        *("camera.shift", "camera.lift", "camera.yaw", "camera.orbit", "camera.pitch", "camera.roll"),
        *("light.direction", "light.brightness", "sensor.brightness", "object.scale", "object.mass"),
    } <= {axis.name for axis in SIGNED}
    assert AXES["camera.yaw"].levels == (*range(-8, 0), *range(1, 9))
    assert AXES["light.shadow"].levels == tuple(range(1, 9))
    assert AXES["light.brightness"].magnitude(-8) == "1.64 times as bright"


def test_axes_that_need_no_suite_are_known_without_one():
    assert {"sensor.blur", "robot.delay", "language.typos"} <= set(everywhere())
    assert not [name for name in everywhere(cameras=False) if name.startswith("sensor")]
    assert "camera.yaw" not in everywhere()
    assert "language.contradict" not in everywhere()


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["light"], [name for name in AXES if name.startswith("light.")]),
        (["robot.delay", "camera.yaw"], ["camera.yaw", "robot.delay"]),
        (["all"], [axis.name for axis in AXES.values() if not axis.control]),
        (["language.contradict", "light"], [*(n for n in AXES if n.startswith("light.")), "language.contradict"]),
        (["light", "light.colour"], [name for name in AXES if name.startswith("light.")]),
    ],
)
def test_axes_are_named_one_by_one_or_by_group(wanted, found):
    assert resolve(wanted) == found


def test_a_group_stands_for_those_of_its_axes_that_are_supported():
    assert resolve(["robot"], ["robot.delay", "sensor.blur"]) == ["robot.delay"]
    with pytest.raises(PerturbationError, match=r"'camera' is not supported here; supported: robot\.delay"):
        resolve(["camera"], ["robot.delay"])
    with pytest.raises(PerturbationError, match="unknown axis 'lihgt'; did you mean 'light'"):
        resolve(["lihgt"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"magnitudes": (0, 1)}, "needs 9 magnitudes, got 2"),
        ({"name": "weather.rain"}, "must be named GROUP.WHAT"),
        ({"stage": "image"}, "every stage but 'scene' needs a `start`"),
        ({"signed": True, "ordered": False}, "only ordered numbers have another direction"),
        ({"below": steps(1)}, "`below` has 9 magnitudes, of a signed axis"),
        ({"signed": True, "below": (0, 1)}, "`below` has 9 magnitudes, of a signed axis"),
    ],
)
def test_a_malformed_axis_is_refused(fields, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Axis(**{"name": "camera.x", "about": "moved", "unit": "m", "magnitudes": steps(1), **fields})


def published() -> list[tuple[str, str, str]]:
    """(benchmark, dimension, axes) of the rows of the tables in the docs."""
    rows = []
    for section in re.split(r"\n### ", DOCS.read_text(encoding="utf-8"))[1:]:
        title = section.splitlines()[0]
        for line in section.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("|") and len(cells) >= 2 and "`" in cells[1]:
                rows.append((title, cells[0], cells[1]))
    return rows


def test_the_groups_of_bomb_libero_plus_and_libero_pro_are_all_in_the_docs():
    counts = {title: [t for t, _, _ in published()].count(title) for title in dict(r[:2] for r in published())}
    assert counts == {"BOMB's six groups": 6, "LIBERO-Plus's seven dimensions": 7, "LIBERO-PRO's five dimensions": 5}


@pytest.mark.parametrize("row", published(), ids=lambda row: f"{row[0]}: {row[1]}")
def test_every_published_dimension_is_made_of_registered_axes(row):
    names = re.findall(r"`([\w.]+)`", row[2])
    assert names
    assert set(names) <= set(AXES)


def test_the_docs_list_every_axis_with_its_two_ends():
    text = DOCS.read_text(encoding="utf-8")
    for axis in AXES.values():
        row = next((line for line in text.splitlines() if line.startswith(f"| `{axis.name}`")), None)
        assert row is not None, f"docs/perturb.md has no row for {axis.name}"
        assert f" {axis.magnitude(1)} | {axis.magnitude(MAX_LEVEL)} |" in row, f"docs/perturb.md: {row}"
        assert not axis.signed or f" {axis.magnitude(-MAX_LEVEL)} |" in row, f"docs/perturb.md: {row}"
