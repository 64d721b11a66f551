"""The judge without a simulator: what counts as done, disturbed, out of order, and near."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from pytest_vla.suites.bomb.board import BOARD_M, POSITIONS, STONE_HEIGHT_M, STONE_RADIUS_M, spot_of
from pytest_vla.suites.bomb.judge import LYING_M, OPEN_M, STILL_M_S, TOLERANCE_M, Judge
from pytest_vla.suites.bomb.scene import Instance, Put, Remove, Spares, Stone, StoneState, TableState

LYING = STONE_HEIGHT_M / 2
STONES = (
    Stone("black_0", "black", (-0.15, 0.0)),
    Stone("black_1", "black", (-0.15, 0.07)),
    Stone("white_0", "white", (0.15, 0.0)),
    Stone("white_1", "white", spot_of((0, 0))),
)
positions = st.sampled_from([p for p in POSITIONS if p != (0, 0)])
angles = st.floats(0, 2 * math.pi)


def table(opening_m: float = 0.036, **spots) -> TableState:
    """The stones where they start, but for those that are named."""
    places = {stone.label: stone.spot for stone in STONES} | spots
    stones = {label: StoneState((*spot, LYING), 0.0) for label, spot in places.items()}
    return TableState(stones, (0.0, 0.1, 0.1), opening_m)


def judge(*goals, in_order: bool = False) -> Judge:
    instance = Instance(STONES, "", goals, Spares((), ()), in_order)
    return Judge(instance, STONES, table())


def beside(position, radius_m: float, angle: float):
    x, y = spot_of(position)
    return x + radius_m * math.cos(angle), y + radius_m * math.sin(angle)


@given(positions, st.floats(0, 0.02), angles)
def test_a_stone_counts_within_eight_millimetres(position, off_m, angle):
    goal = Put(position, "black", "black_0")
    spot = beside(position, off_m, angle)
    there = math.dist(spot, spot_of(position)) <= TOLERANCE_M
    assert judge(goal).update(table(black_0=spot)).success == there


@given(positions, st.floats(0, 0.036))
def test_the_gripper_must_be_open(position, opening_m):
    goal = Put(position, "black", "black_0")
    verdict = judge(goal).update(table(opening_m, black_0=spot_of(position)))
    assert verdict.success == (opening_m >= OPEN_M)


@given(positions, st.floats(0, 0.02))
def test_the_stone_must_be_at_rest(position, speed):
    state = table(black_0=spot_of(position))
    moving = replace(state.stones["black_0"], speed_m_s=speed)
    state = replace(state, stones={**state.stones, "black_0": moving})
    assert judge(Put(position, "black", "black_0")).update(state).success == (speed < STILL_M_S)


@given(positions, st.floats(0.001, 0.05))
def test_the_stone_must_lie_flat_on_the_board(position, height):
    state = table(black_0=spot_of(position))
    lifted = StoneState((*spot_of(position), height), 0.0)
    state = replace(state, stones={**state.stones, "black_0": lifted})
    assert judge(Put(position, "black", "black_0")).update(state).success == (height <= LYING_M)


@given(positions, st.sampled_from(["black_1", "white_0", "white_1"]), st.floats(0, 0.02), angles)
def test_no_other_stone_may_be_displaced(position, other, moved_m, angle):
    x, y = next(stone.spot for stone in STONES if stone.label == other)
    spot = x + moved_m * math.cos(angle), y + moved_m * math.sin(angle)
    state = table(**{"black_0": spot_of(position), other: spot})
    stayed = math.dist(spot, (x, y)) <= TOLERANCE_M
    verdict = judge(Put(position, "black", "black_0")).update(state)
    assert verdict.success == stayed
    assert not verdict.failure


@given(positions, st.sampled_from(["black_0", "black_1", "white_0", "white_1"]))
def test_without_a_label_any_stone_of_the_colour_from_beside_the_board_will_do(position, label):
    goal = Put(position, "white")
    assert judge(goal).update(table(**{label: spot_of(position)})).success == (label == "white_0")


def test_a_named_stone_cannot_be_replaced_by_its_twin():
    goal = Put((2, 2), "black", "black_0")
    assert not judge(goal).update(table(black_1=spot_of((2, 2)))).success


@given(st.floats(-0.25, 0.25), st.floats(-0.25, 0.25))
def test_a_removed_stone_lies_beside_the_board(x, y):
    outside = max(abs(x), abs(y)) - BOARD_M / 2 >= STONE_RADIUS_M
    assert judge(Remove("white_1")).update(table(white_1=(x, y))).success == outside


@given(st.permutations(range(3)))
def test_moves_must_come_in_their_order(order):
    places = [(1, 1), (2, 3), (4, 4)]
    goals = (Put(places[0], "black"), Put(places[1], "white"), Put(places[2], "black"))
    labels = ("black_0", "white_0", "black_1")
    follower, spots, failure = judge(*goals, in_order=True), {}, ""
    for number in order:
        spots[labels[number]] = spot_of(places[number])
        verdict = follower.update(table(**spots))
        failure = failure or verdict.failure
    assert bool(failure) == (list(order) != [0, 1, 2])
    assert verdict.success == (not failure)


def test_a_stone_in_the_closed_gripper_is_no_move_yet():
    goals = (Put((1, 1), "black"), Put((2, 3), "white"))
    follower = judge(*goals, in_order=True)
    passing = follower.update(table(0.02, white_0=spot_of((2, 3))))
    assert not passing.failure
    assert not follower.update(table(black_0=spot_of((1, 1)))).failure
    assert follower.update(table(black_0=spot_of((1, 1)), white_0=spot_of((2, 3)))).success


@given(positions, st.floats(-0.2, 0.2), st.floats(-0.15, 0.15))
def test_progress_is_one_exactly_when_done(position, x, y):
    follower = judge(Put(position, "black", "black_0"))
    state = table(black_0=(x, y))
    progress = follower.progress(state)
    assert 0 <= progress <= 1
    assert (progress == 1) == follower.update(state).success


@given(positions, st.floats(0, 1), st.floats(0, 1))
def test_progress_grows_on_the_way(position, early, late):
    early, late = sorted((early, late))
    (x0, y0), (x1, y1) = STONES[0].spot, spot_of(position)
    follower = judge(Put(position, "black", "black_0"))
    before, after = (follower.progress(table(black_0=(x0 + t * (x1 - x0), y0 + t * (y1 - y0)))) for t in (early, late))
    assert before <= after + 1e-12


def test_progress_starts_at_nothing():
    assert judge(Put((2, 2), "black"), Put((3, 3), "white")).progress(table()) == 0
    assert judge(Remove("white_1")).progress(table()) == 0
