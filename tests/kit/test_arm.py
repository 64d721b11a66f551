"""The arm: where it reaches, how it goes there, and what it says where it cannot."""

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("mink")
pytest.importorskip("ompl")

from pytest_vla.kit.arm import LINKS, READY, Arm, solver
from pytest_vla.kit.edits import SceneEdits
from pytest_vla.kit.hand import HOME, Unreachable, aim, down
from pytest_vla.kit.hand_table import HandTable
from pytest_vla.kit.mujoco_table import lights
from pytest_vla.kit.solids import box
from pytest_vla.kit.things import Thing
from pytest_vla.sim.mujoco import Scene
from pytest_vla.sim.pose import Pose, at

LOW, HIGH = np.array([link.limits_rad for link in LINKS]).T


def table_with(*parts):
    scene = Scene(lights(SceneEdits().light))
    scene.table(3.0, np.full((16, 16, 3), 150, np.uint8))
    table = HandTable(Arm(), 32)
    table.load(scene, parts)
    return table


def apart(one: Pose, other: Pose) -> tuple[float, float]:
    inner = min(abs(float(np.dot(one.rotation, other.rotation))), 1.0)
    return float(np.linalg.norm(np.subtract(one.position, other.position))), 2 * float(np.arccos(inner))


def test_the_published_joints_bring_the_tip_to_the_published_place():
    assert apart(solver().pose(READY), HOME)[0] < 0.01


def test_poses_over_the_table_are_solved_within_the_joints_limits():
    rng = np.random.default_rng(0)
    for x, y, z, yaw in rng.uniform((0.1, -0.25, 0.02, -1.5), (0.4, 0.25, 0.3, 1.5), (50, 4)):
        target = down(x, y, z, yaw)
        joints = solver().solve(target, READY, 60)
        assert joints is not None, (x, y, z, yaw)
        assert (joints >= LOW - 1e-6).all()
        assert (joints <= HIGH + 1e-6).all()
        metres, radians = apart(solver().pose(joints), target)
        assert metres < 1e-3
        assert radians < 1e-2


def test_the_hand_arrives_where_it_was_sent():
    table = table_with()
    for target in (down(0.3, 0.1, 0.1), down(0.2, -0.2, 0.25, 0.8), Pose((0.35, 0.0, 0.3), aim(0, 0.8))):
        table.go(target, lambda: False)
        assert apart(table.look().hand, target)[0] < 3e-3


@pytest.mark.parametrize("target", [down(0.75, 0.6, 0.9), Pose((0.3, 0.0, 0.1), aim(3.14, -1.4))])
def test_what_it_cannot_reach_is_said_and_moves_nothing(target):
    table = table_with()
    before = table.digest()
    with pytest.raises(Unreachable, match="the arm cannot bring the hand to"):
        table.go(target, lambda: False)
    assert table.digest() == before


def test_it_goes_around_what_stands_in_the_way_and_through_where_it_may():
    wall = Thing("wall", at(0.3, 0.0), (box((0.05, 0.05, 0.30), (0, 0, 0.15)),), 0.2, free=True)

    def pushed(free):
        table = table_with(wall)
        table.go(down(0.3, 0.22, 0.12), lambda: False)
        table.go(down(0.3, -0.22, 0.12), lambda: False, ignore_collisions=free)
        assert apart(table.look().hand, down(0.3, -0.22, 0.12))[0] < 5e-3
        return float(np.linalg.norm(np.subtract(table.pose("wall").position, wall.pose.position)))

    assert pushed(free=False) < 0.01
    assert pushed(free=True) > 0.03


def test_the_same_way_is_planned_again():
    wall = Thing("wall", at(0.3, 0.0), (box((0.05, 0.05, 0.30), (0, 0, 0.15)),), 0.2, free=True)
    digests = []
    for _ in range(2):
        table = table_with(wall)
        table.go(down(0.3, 0.22, 0.12), lambda: False)
        table.go(down(0.3, -0.22, 0.12), lambda: False, ignore_collisions=False)
        digests.append(table.digest())
    assert digests[0] == digests[1]
