"""Pushes and stacks end as they do in the original: measured there, checked here."""

import math

import numpy as np
import pytest
from pytest_vla.suites.vima import suite as vima
from pytest_vla.suites.vima.kit.moves import Move
from pytest_vla.suites.vima.kit.scene import Look, Thing
from pytest_vla.suites.vima.world import Tabletop

from benchmarks.vima_centre_push import CentrePush
from pytest_vla.registry import register
from pytest_vla.rollout import rollout

L1, L4 = "placement_generalization", "novel_task_generalization"


@pytest.fixture(scope="module")
def table():
    table = Tabletop()
    yield table
    table.close()


@pytest.mark.parametrize("offset_mm", [0, 5, -5])
def test_a_push_from_a_blocks_centre_takes_it_along_and_ends_where_it_does_there(table, offset_mm):
    rng = np.random.default_rng(offset_mm + 10)
    for _ in range(12):
        spot, angle = (0.62, rng.uniform(-0.2, 0.2)), rng.uniform(-0.6, 0.6)
        ahead = np.array([-math.cos(angle), math.sin(angle)])
        start, end = np.asarray(spot) + offset_mm / 1000 * ahead, np.asarray(spot) + 0.15 * ahead
        table.reset([Thing("block", Look("small block", "red"), spot, rng.uniform(0, 6))], "spatula")
        table.act(Move(tuple(start), tuple(end)).action(), None)
        short_m = float((end - np.asarray(table.state()["block"].xy)) @ ahead)
        assert 0.028 < short_m < 0.040


@pytest.mark.parametrize(
    ("task", "partition", "least"), [("sweep_without_exceeding", L1, 15), ("sweep_without_touching", L4, 18)]
)
def test_the_push_strategy_of_the_originals_expert_does_as_well_as_there(task, partition, least):
    suite = register(vima())
    env = suite.make_env(task)
    keys = [suite.episode(task, partition, 9000 + index) for index in range(20)]
    assert sum(bool(rollout(CentrePush(env), env, key)) for key in keys) >= least
    env.close()


@pytest.mark.parametrize("shape", ["ring", "letter G", "heart", "letter V"])
def test_a_thing_put_down_beside_the_middle_of_another_stays_with_it(table, shape):
    low = Thing("low", Look(shape, "red"), (0.5, 0.0))
    for angle in np.linspace(0, 6, 8):
        spot = 0.5 + 0.055 * math.cos(angle), 0.055 * math.sin(angle)
        table.reset([low, Thing("high", low.look, (0.5, 0.3))], "suction")
        x, y = 0.5, 0.3
        grasp = 0.03 if shape == "ring" else 0.0
        table.act(Move((x + grasp, y), (spot[0] + grasp, spot[1])).action(), None)
        assert math.dist(table.state()["high"].xy, (0.5, 0.0)) < 0.1


def test_a_reading_of_the_table_is_renewed_by_all_that_moves_things(table):
    table.reset([Thing("block", Look("block", "red"), (0.5, 0.1))], "suction")
    first = table.state()
    assert table.state() is first
    table.push("block", (0.05, 0.0))
    pushed = table.state()["block"]
    assert pushed.xy == pytest.approx((0.55, 0.1), abs=1e-3)
    table.act(Move(pushed.xy, (0.4, -0.2)).action(), None)
    assert table.state()["block"].xy == pytest.approx((0.4, -0.2), abs=5e-3)
    table.reset([Thing("block", Look("block", "red"), (0.5, 0.1))], "suction")
    assert table.state() == first
