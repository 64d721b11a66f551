"""MuJoCo parts, each in a scene of its own."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco")

from pytest_vla.kit.bench import Bench, BenchTable, SceneEdits
from pytest_vla.kit.gantry import Gantry, action_of
from pytest_vla.kit.parts import Block, Button, Drawer, Pad

GANTRY = Gantry((-0.2, -0.2, 0.002), (0.2, 0.2, 0.12), (0.0, 0.15, 0.10))
BENCH = Bench(GANTRY, (-0.15, -0.1), (0.15, 0.1))
NEUTRAL = SceneEdits()


@pytest.fixture(scope="module")
def table():
    table = BenchTable(GANTRY, 64)
    yield table
    table.close()


def go(table, *tip, opening=0.0, actions=10):
    for _ in range(actions):
        table.act(action_of(tip, opening))
    return table.state()


def test_a_button_is_pressed_and_springs_back(table):
    button = Button("button", (0.05, 0.02))
    table.reset(BENCH, [button], NEUTRAL)
    assert abs(table.state().joints["button"]) < 1e-4
    go(table, 0.05, 0.02, 0.06)
    pressed = go(table, 0.05, 0.02, button.top_m - button.travel_m)
    assert pressed.joints["button"] == pytest.approx(button.travel_m, abs=0.001)
    assert abs(go(table, 0.05, 0.02, 0.06).joints["button"]) < 1e-3


@pytest.mark.parametrize("yaw", [0.0, 0.3])
def test_a_drawer_opens_by_its_post_and_stays_open(table, yaw):
    drawer = Drawer("drawer", (0.0, 0.03), yaw)
    table.reset(BENCH, [drawer], NEUTRAL)
    assert table.state().joints["drawer"] == pytest.approx(0, abs=1e-4)

    def post(opened):
        reach = drawer.half_m[1] + drawer.post_m + opened
        return reach * np.sin(yaw), 0.03 - reach * np.cos(yaw)

    go(table, *post(0.0), 0.06, opening=1.0)
    go(table, *post(0.0), 0.008, opening=1.0)
    go(table, *post(0.0), 0.008, actions=4)
    assert go(table, *post(0.05), 0.008).joints["drawer"] > 0.035
    go(table, *post(0.05), 0.008, opening=1.0, actions=4)
    assert go(table, *post(0.05), 0.06, opening=1.0).joints["drawer"] > 0.035


def test_a_block_lies_where_it_is_put_and_a_pad_is_in_nobodys_way(table):
    table.reset(BENCH, [Block("block", (0.04, -0.03)), Pad("pad", (0.04, -0.03))], NEUTRAL)
    assert table.state()["block"].position == pytest.approx((0.04, -0.03, 0.012), abs=1e-3)


def test_edits_of_a_block_are_those_of_its_numbers():
    block = Block("block", (0.1, 0.0))
    edits = SceneEdits(shifts_m={"block": (0.01, 0.02)}, scale=2.0, mass=3.0, friction=0.5)
    assert block.edited(NEUTRAL) == block
    assert block.edited(edits) == replace(
        block, spot=(0.11, 0.02), half_m=(0.024, 0.024, 0.024), kg=0.06, friction=pytest.approx(0.4)
    )


def test_where_something_stands_for_good_is_part_of_the_digest(table):
    digests = set()
    for x in (0.0, 0.05, 0.0):
        table.reset(BENCH, [Button("button", (x, 0.0))], NEUTRAL)
        digests.add(table.digest())
    assert len(digests) == 2


def test_looking_at_the_state_leaves_no_trace(table):
    digests = set()
    for look in (True, False):
        table.reset(BENCH, [Block("block", (0.04, -0.03)), Drawer("drawer", (-0.05, 0.05))], NEUTRAL)
        for _ in range(5):
            table.act(action_of((0.04, -0.03, 0.01), 1.0))
            if look:
                table.state()
        digests.add(table.digest())
    assert len(digests) == 1
