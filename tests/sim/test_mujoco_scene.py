"""Scenes put together piece by piece: what is added is there, falls, collides and is seen."""

import numpy as np
import pytest

pytest.importorskip("mujoco")

from pytest_vla.sim.mujoco import Lights, MujocoError, MujocoStage, MujocoWorld, Scene
from pytest_vla.sim.view import looking_at

GREY = (0.5, 0.5, 0.5)
LIGHTS = Lights((0.0, 0.0, 1.0), GREY, GREY, GREY, GREY)
TEXTURE = np.full((8, 8, 3), 200, np.uint8)


def scene():
    made = Scene(LIGHTS)
    made.table(0.5, TEXTURE)
    made.material("paint")
    made.camera("front", looking_at((0.0, -0.3, 0.3), (0.0, 0.0, 0.0), 45.0))
    return made


def loaded(made):
    world = MujocoWorld()
    world.load(made.spec, made.textures)
    return world


def test_a_free_body_falls_onto_the_table_and_through_what_is_not_solid():
    made = scene()
    made.shape(made.ground, "box", (0.1, 0.1, 0.01), pos=(0.0, 0.0, 0.05), solid=False)
    body = made.body("ball", (0.0, 0.0, 0.1), free=True)
    made.shape(body, "box", (0.01, 0.01, 0.01), mass=0.1)
    world = loaded(made)
    world.step(400)
    world.kinematics()
    assert world.pose("ball").position == pytest.approx((0.0, 0.0, 0.01), abs=2e-3)


def test_names_come_in_the_order_of_adding_and_poses_keep_our_convention():
    made = scene()
    for label, yaw in (("b", 0.3), ("a", -1.0)):
        body = made.body(label, (0.1, 0.2, 0.3), yaw=yaw)
        made.slide(body, f"{label}_slide", (0.0, 0.0, 1.0))
        made.shape(body, "cylinder", (0.01, 0.02))
    world = loaded(made)
    assert world.names("body") == ["b", "a"]
    assert world.names("joint") == ["b_slide", "a_slide"]
    assert world.pose("b").yaw == pytest.approx(0.3)
    assert world.pose("a").position == pytest.approx((0.1, 0.2, 0.3))


def test_textures_and_colours_are_seen():
    plain, red = scene(), scene()
    red.shape(red.ground, "box", (0.05, 0.05, 0.01), rgb=(1.0, 0.0, 0.0))
    stage = MujocoStage(32, 32)
    without, seen = (stage.picture(loaded(made).snapshot(), "front") for made in (plain, red))
    stage.close()
    assert without[16, 16].std() < 1, "the texture is grey"
    assert seen[16, 16, 0] > seen[16, 16, 1] + 50


def test_a_scene_that_cannot_be_compiled_says_so():
    made = scene()
    made.shape(made.ground, "box", (0.1, 0.1, 0.1), material="nothing_like_it")
    with pytest.raises(MujocoError, match="does not compile"):
        loaded(made)


def test_looking_at_poses_leaves_no_trace():
    digests = set()
    for look in (True, False):
        made = scene()
        made.shape(made.body("ball", (0.0, 0.0, 0.1), free=True), "box", (0.01, 0.01, 0.01))
        world = loaded(made)
        for _ in range(50):
            world.step(4)
            if look:
                world.kinematics()
        digests.add(world.digest())
    assert len(digests) == 1
