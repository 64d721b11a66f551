"""A table of things: who reaches into what, and that what stands on it stands still."""

import math

import numpy as np
import pytest

pytest.importorskip("mujoco")

from pytest_vla.kit.edits import SceneEdits
from pytest_vla.kit.hand import Floating
from pytest_vla.kit.hand_table import HandTable
from pytest_vla.kit.mujoco_table import lights
from pytest_vla.kit.solids import box, cylinder
from pytest_vla.kit.things import Joint, Part, Thing, Zone
from pytest_vla.sim.mujoco import Scene
from pytest_vla.sim.pose import Pose, at, turn


def table_of(*parts: Part) -> HandTable:
    scene = Scene(lights(SceneEdits().light))
    scene.table(3.0, np.full((16, 16, 3), 150, np.uint8))
    table = HandTable(Floating(), 32)
    table.load(scene, parts)
    return table


def test_boxes_overlap_where_they_do_and_nowhere_else():
    size, half = (0.06, 0.042, 0.05), 0.025
    table = table_of(
        Thing("box", at(z=0.5), (box(size),), free=True), Zone("zone", (half, half, half), at(0.2, 0.0, 0.3))
    )
    rng = np.random.default_rng(0)
    wrong = []
    for _ in range(2000):
        away = rng.uniform(-0.08, 0.08, 3) * rng.integers(0, 2, 3)  # often straight above or beside each other
        x, y, z = away + (0.2, 0.0, 0.3)
        table.put("box", Pose((x, y, z), turn((0, 0, 1), rng.choice([0.0, 1e-9, 1e-6]))))
        gap = max(abs(away[axis]) - size[axis] / 2 - half for axis in range(3))
        if abs(gap) > 1e-5 and table.overlap("box", "zone") != (gap < 0):
            wrong.append((away.tolist(), gap))
    assert not wrong


def test_cylinders_stand_still_from_the_start():
    spots = [(0.1 * column, 0.1 * row) for column in range(-7, 8) for row in range(-7, 8)]
    rng = np.random.default_rng(0)
    cans = [
        Thing(f"can_{n}", at(x, y, 0.0, rng.uniform(0, 6)), (cylinder(0.018, 0.045, (0, 0, 0.0225)),), free=True)
        for n, (x, y) in enumerate(np.array(spots) + rng.uniform(-0.02, 0.02, (len(spots), 2)))
    ]
    table = table_of(*cans).look()
    assert all(math.dist(table.pose(can.label).position, can.pose.position) < 0.002 for can in cans)


def test_a_joint_is_set_at_rest():
    lid = Thing("lid", at(z=0.3), (box((0.2, 0.2, 0.01)),), joint=Joint("hinge", (0, 1, 0), (0, 2)), weightless=True)
    table = table_of(lid)
    table.set_joint("lid", 1.5)
    table.world.step(100)
    assert table.look().moved("lid") == pytest.approx(1.5, abs=1e-3)
