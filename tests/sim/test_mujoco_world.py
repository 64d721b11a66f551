"""The MuJoCo world: what it refuses, and that its digests and snapshots mean what they say."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_vla.sim.mujoco import MujocoError, MujocoWorld

pytest.importorskip("mujoco")

BALL = """
<mujoco>
  <asset><texture name="skin" type="2d" builtin="flat" width="8" height="4"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body pos="0 0 {height}"><freejoint name="ball"/><geom size="0.1"/></body>
  </worldbody>
</mujoco>
"""


def ball(height: float = 0.5, **textures: np.ndarray) -> MujocoWorld:
    world = MujocoWorld()
    world.load(BALL.format(height=height), textures)
    return world


def test_the_same_text_gives_the_same_states():
    one, two = ball(), ball()
    for world in (one, two):
        world.step(300)
    assert one.digest() == two.digest()


def test_the_digest_tells_states_apart():
    world = ball()
    seen = {world.digest()}
    for _ in range(50):
        world.step()
        seen.add(world.digest())
    assert len(seen) == 51


def test_loading_again_forgets_everything():
    world = ball()
    first = world.digest()
    world.step(100)
    world.load(BALL.format(height=0.5))
    assert world.digest() == first


def test_a_snapshot_does_not_move_with_the_world():
    world = ball()
    snapshot = world.snapshot()
    before = snapshot.state.copy()
    world.step(100)
    assert np.array_equal(snapshot.state, before)
    assert not np.array_equal(world.snapshot().state, before)


def test_joints_are_found_by_name():
    world = ball()
    assert world.data.qpos[world.joint("ball") + 2] == 0.5
    with pytest.raises(MujocoError, match="no joint 'cube'"):
        world.joint("cube")


def test_a_scene_that_does_not_compile_is_one_clear_error():
    with pytest.raises(MujocoError, match="does not compile"):
        MujocoWorld().load("<mujoco><worldbody><geom/></worldbody></mujoco>")


def test_textures_must_be_declared_in_their_size():
    with pytest.raises(MujocoError, match=r"declared as \(4, 8, 3\) and painted as \(8, 8, 3\)"):
        ball(skin=np.zeros((8, 8, 3), np.uint8))
    with pytest.raises(MujocoError, match="no texture 'fur'"):
        ball(fur=np.zeros((4, 8, 3), np.uint8))
