"""The PyBullet toolkit: bodies, contacts, grips, digests and pictures, without any task."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pybullet")

from pytest_vla.sim.bullet import BulletError, BulletStage, BulletWorld, Camera, Prop, Watch
from pytest_vla.sim.pose import Pose, inverse, multiply, yaw_rotation

CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
TOP = Camera((0.0, 0.0, 10.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0), 640.0, 1.0, 20.0, 64, 64)


@pytest.fixture
def world():
    world = BulletWorld()
    yield world
    world.close()


def cube(world, label, position, half_m=0.02, mass_kg=0.1):
    world.add_solid(label, f"cube {half_m}", lambda: [CORNERS * half_m], Pose(position), mass_kg=mass_kg)


def fall(world, steps=200):
    world.reset()
    world.add_floor("floor", 0.0)
    for i in range(6):
        cube(world, f"cube {i}", (0.011 * i, 0.007 * i, 0.05 + 0.05 * i))
    for _ in range(steps):
        world.step()
    return world.digest()


def test_a_used_world_falls_exactly_like_a_fresh_one(world):
    reference = fall(world)
    fall(world, 50)
    cube(world, "stray", (0.0, 0.0, 1.0))
    assert fall(world) == reference
    other = BulletWorld()
    assert fall(other) == reference
    other.close()


def test_a_solid_has_its_true_size(world):
    world.add_floor("floor", 0.0)
    cube(world, "cube", (0.0, 0.0, 0.0205))
    assert world.settle(["cube"], 1e-3, 500)
    assert world.pose("cube").position[2] == pytest.approx(0.02, abs=5e-4)
    assert world.top_below("cube") == -np.inf or world.top_below("cube") < 0.01


def test_settling_stops_at_its_budget(world):
    cube(world, "cube", (0.0, 0.0, 1.0))
    assert not world.settle(["cube"], 1e-3, 20)
    assert world.steps == 20


def test_a_driven_body_keeps_its_speed_and_carries_what_it_grips(world):
    cube(world, "hand", (0.0, 0.0, 0.5), mass_kg=10.0)
    cube(world, "held", (0.0, 0.0, 0.455))
    grip = world.grip("hand", "held")
    world.drive("hand", (0.24, 0.0, 0.0))
    for _ in range(100):
        world.step()
    assert world.pose("hand").position == pytest.approx((0.1, 0.0, 0.5), abs=1e-3)
    assert world.pose("held").position == pytest.approx((0.1, 0.0, 0.455), abs=2e-3)
    world.release(grip)
    world.drive("hand", (0.0, 0.0, 0.0))
    for _ in range(50):
        world.step()
    assert world.pose("hand").position[2] == pytest.approx(0.5, abs=1e-3)
    assert world.pose("held").position[2] < 0.4


def test_a_watch_looks_after_every_so_many_steps_whatever_pieces_they_come_in(world):
    seen = []
    watch = Watch(lambda: seen.append(world.steps), every=10)
    for steps in (1, 8, 1, 4, 25, 0, 2):
        world.run(steps, watch)
    assert seen == [10, 20, 30, 40]
    assert world.steps == 41


def test_contacts_name_the_other_body(world):
    world.add_floor("floor", 0.0)
    cube(world, "cube", (0.0, 0.0, 0.021))
    world.settle(["cube"], 1e-3, 500)
    assert {contact.other for contact in world.contacts("cube", 1e-3)} == {"floor"}
    assert world.contacts("cube", 1e-3)[0].normal[2] == pytest.approx(1.0, abs=1e-3)


def test_a_touch_is_a_contact_with_something_that_counts(world):
    world.add_floor("floor", 0.0)
    cube(world, "cube", (0.0, 0.0, 0.021))
    assert not world.touches("cube", 1e-3)
    world.settle(["cube"], 1e-3, 500)
    assert world.touches("cube", 1e-3)
    assert not world.touches("cube", 1e-3, ignore="floor")
    assert not world.touches("cube", -1.0)


def test_the_digest_depends_on_every_body_and_not_on_the_order_of_making_them(world):
    def digest(labels, x=0.0):
        world.reset()
        for label in labels:
            cube(world, label, ({"a": 0.0, "b": 0.5}[label] + x, 0.0, 0.0))
        return world.digest()

    assert digest("ab") == digest("ba")
    assert digest("ab") != digest("ab", 1e-7)


def test_labels_are_unique(world):
    cube(world, "cube", (0.0, 0.0, 0.0))
    with pytest.raises(BulletError, match="already a body 'cube'"):
        cube(world, "cube", (0.0, 0.0, 1.0))


def test_closing_twice_is_harmless():
    world = BulletWorld()
    world.close()
    world.close()


def test_rotations_compose():
    quarter = yaw_rotation(np.pi / 2)
    assert multiply(quarter, inverse(quarter)) == pytest.approx((0, 0, 0, 1))
    assert Pose((1.0, 0.0, 0.0), quarter).apply((1.0, 0.0, 0.0)) == pytest.approx((1.0, 1.0, 0.0))
    assert Pose((0.0, 0.0, 0.0), multiply(quarter, quarter)).yaw == pytest.approx(np.pi, abs=1e-6)


# --- pictures ---------------------------------------------------------------------------------------------------------


def sheet(name):
    half = 0.2 if name == "small" else 0.4
    return SimpleNamespace(
        vertices=np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]) * half,
        indices=np.array([0, 1, 2, 0, 2, 3]),
        uvs=np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=float),
        normals=np.array([(0, 0, 1)] * 4, dtype=float),
    )


@pytest.fixture
def stage():
    images = {"red": (250, 0, 0), "green": (0, 250, 0)}
    stage = BulletStage(sheet, lambda name: np.full((8, 8, 3), images[name], dtype=np.uint8))
    yield stage
    stage.close()


def test_a_picture_shows_textures_and_which_prop_is_where(stage):
    stage.show([Prop("large", Pose((0, 0, 0)), "green"), Prop("small", Pose((0.1, 0, 0.1)), "red")])
    picture = stage.picture(TOP)
    assert picture.rgb.shape == (64, 64, 3)
    assert set(np.unique(picture.props)) == {-1, 0, 1}
    assert picture.rgb[picture.props == 1][:, 0].min() > 200
    assert picture.rgb[picture.props == 1][:, 1].max() == 0
    assert (picture.rgb[picture.props == -1] == 255).all()
    _, columns = np.nonzero(picture.props == 1)
    assert columns.mean() == pytest.approx(32 + 0.1 * 64, abs=1)


def test_pictures_are_the_same_whatever_was_shown_before(stage):
    props = [Prop("large", Pose((0, 0, 0)), "green"), Prop("small", Pose((0, 0, 0.1), yaw_rotation(0.4)), "red")]
    stage.show(props)
    first = stage.picture(TOP)
    stage.show([Prop("small", Pose((0, 0, 0)), "red")] * 5)
    stage.show([Prop("small", Pose((0, 0.1, 0.2)), "green")])
    stage.show(props)
    assert np.array_equal(stage.picture(TOP).rgb, first.rgb)


def test_moving_props_is_the_same_as_showing_them_anew(stage):
    stage.show([Prop("small", Pose((0.1, 0, 0)), "red")])
    stage.show([Prop("small", Pose((-0.1, 0, 0)), "red")])
    moved = stage.picture(TOP)
    stage.show([])
    stage.show([Prop("small", Pose((-0.1, 0, 0)), "red")])
    assert np.array_equal(stage.picture(TOP).rgb, moved.rgb)


def test_the_toolkit_is_imported_without_pybullet():
    code = "import sys, pytest_vla.sim.bullet; sys.exit('pybullet' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
