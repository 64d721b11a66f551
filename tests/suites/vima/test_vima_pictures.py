"""What cameras see: geometry, colours and masks as measured in the original."""

import numpy as np
import pytest
from pytest_vla.suites.vima.edits import CameraEdit, SceneEdits
from pytest_vla.suites.vima.kit.scene import Look, Thing
from pytest_vla.suites.vima.world import Tabletop

from pytest_vla.kit.edits import LightEdit


@pytest.fixture(scope="module")
def table():
    table = Tabletop()
    yield table
    table.close()


@pytest.mark.parametrize("x", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("y", [-0.45, 0.0, 0.4])
def test_a_small_cube_appears_where_the_original_shows_it(table, x, y):
    table.reset([Thing("cube", Look("small block", "red"), (x, y))], "suction")
    views = table.views({"cube": 9})
    for view, (row0, per_m) in {"top": (63, 250), "front": (76, 177.5)}.items():
        rows, columns = np.nonzero(views.segmentation[view] == 9)
        assert rows.mean() == pytest.approx(row0 + per_m * (x - 0.5), abs=1.5)
        assert columns.mean() == pytest.approx(128 + 251.25 * y, abs=1.5)


def test_table_and_floor_have_the_colours_and_numbers_of_the_original(table):
    table.reset([], "suction")
    views = table.views({})
    for view in ("top", "front"):
        rgb, mask = views.rgb[view], views.segmentation[view]
        assert set(np.unique(mask)) == {0, 1}
        assert (rgb[mask == 1] == 47).all()
        assert (rgb[mask == 0] == 239).all()


def test_drawing_over_a_kept_backdrop_is_the_same_as_drawing_everything(table):
    from pytest_vla.suites.vima.edits import NEUTRAL
    from pytest_vla.suites.vima.world import VIEWS, _furniture, _prop

    things = [Thing("a", Look("bowl", "tiger"), (0.4, 0.2)), Thing("b", Look("letter R", "rainbow"), (0.6, -0.2), 1.0)]
    table.reset(things, "suction")
    views, state = table.views({"a": 5, "b": 6}), table.state()
    everything = [*_furniture(NEUTRAL), *(_prop(thing.look, state[thing.label]) for thing in things)]
    for view, camera in VIEWS.items():
        assert views.rgb[view].shape == (128, 256, 3)
        table.stage.show(everything)
        picture = table.stage.picture(camera)
        different = (picture.rgb != views.rgb[view]).any(axis=2)
        assert different.mean() < 0.002  # a pixel or two where an edge meets the table
        assert (different <= np.isin(picture.props, (0, 1, 2, 3))).all()


def observe(env, key, edits=None):
    options = {"episode": key} | ({} if edits is None else {"edits": edits})
    observation, _ = env.reset(options=options)
    return observation["images"]["top"], env.digest()


def test_neutral_edits_change_no_bit_and_no_edit_outlives_its_episode(env, suite):
    key = suite.episode("visual_manipulation", "train", 2)
    image, digest = observe(env, key)
    assert np.array_equal(observe(env, key, SceneEdits())[0], image)
    observe(env, key, SceneEdits(camera=CameraEdit(yaw_deg=20), mass=3.0, light=LightEdit(brightness=0.2)))
    again, digest_again = observe(env, key)
    assert np.array_equal(again, image)
    assert digest_again == digest


@pytest.mark.parametrize(
    "edits",
    [
        SceneEdits(camera=CameraEdit(yaw_deg=6)),
        SceneEdits(camera=CameraEdit(pitch_deg=4)),
        SceneEdits(camera=CameraEdit(shift_m=(0.02, 0.0, 0.0))),
        SceneEdits(camera=CameraEdit(zoom=0.9)),
        SceneEdits(light=LightEdit(brightness=0.4)),
        SceneEdits(light=LightEdit(azimuth_deg=180)),
        SceneEdits(table_colour=(0.5, 0.3, 0.1)),
        SceneEdits(table_texture="wooden"),
        SceneEdits(object_textures={"dragged": "tiger"}),
    ],
    ids=["yaw", "pitch", "shift", "zoom", "dim", "light", "table colour", "table texture", "object texture"],
)
def test_a_visual_edit_changes_the_picture_and_not_the_physics(env, suite, edits):
    key = suite.episode("visual_manipulation", "train", 2)
    image, digest = observe(env, key)
    edited, same = observe(env, key, edits)
    assert not np.array_equal(edited, image)
    assert same == digest


@pytest.mark.parametrize(
    "edits",
    [
        SceneEdits(shifts_m={"dragged": (0.01, 0.02)}),
        SceneEdits(distractors=(Thing("extra", Look("star", "pink"), (0.3, -0.4)),)),
        SceneEdits(scale=1.1),
        SceneEdits(tool_start=(0.3, 0.2)),
    ],
    ids=["shift", "distractor", "scale", "tool"],
)
def test_a_physical_edit_changes_the_physics_and_the_episode_can_still_be_played(env, suite, edits):
    key = suite.episode("visual_manipulation", "train", 2)
    _, digest = observe(env, key)
    assert observe(env, key, edits)[1] != digest
    *_, info = env.step(suite.oracle(env).act([{}], [None])[0])
    assert info["success"]


def test_mass_and_friction_edits_change_how_things_move(env, suite):
    key = suite.episode("sweep_without_exceeding", "train", 0)
    ends = set()
    for edits in (SceneEdits(), SceneEdits(mass=3.0), SceneEdits(friction=0.2)):
        observe(env, key, edits)
        env.step(suite.oracle(env).act([{}], [None])[0])
        ends.add(env.digest())
    assert len(ends) == 3
