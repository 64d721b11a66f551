"""Shards and interleaving: every episode once, and every task early."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.episode import EpisodeKey
from pytest_vla.gate.comparisons import Scope
from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.rules import Rules, read_rules
from pytest_vla.gate.schedule import BLOCK, in_shard, interleaved, make_scope, read_shard
from pytest_vla.run import KeySet

TASKS = [f"t{number}" for number in range(5)]


def keys(episodes, tasks=TASKS):
    return [
        EpisodeKey("s", task, level, index) for task in tasks for level in ("L1", "L2") for index in range(episodes)
    ]


@given(st.integers(1, 7), st.integers(1, 9), st.booleans(), st.sampled_from(["task", "partition", "suite"]))
def test_every_episode_is_in_exactly_one_shard(total, episodes, early_stop, by):
    everything = keys(episodes)
    chosen = [in_shard(everything, (number, total), early_stop, by) for number in range(1, total + 1)]
    assert all(sum(column) == 1 for column in zip(*chosen, strict=True))


def test_under_early_stopping_a_shard_takes_whole_comparisons():
    everything = keys(6)
    mine = {key.cell for key, keep in zip(everything, in_shard(everything, (1, 2), True, "task"), strict=True) if keep}
    rest = {key.cell for key, keep in zip(everything, in_shard(everything, (2, 2), True, "task"), strict=True) if keep}
    assert mine.isdisjoint(rest)
    assert len(mine) == len(rest) == 5


def test_a_plain_shard_has_episodes_of_every_task():
    everything = keys(6)
    mine = [key for key, keep in zip(everything, in_shard(everything, (2, 3), False, "task"), strict=True) if keep]
    assert {key.task for key in mine} == set(TASKS)
    assert {key.index for key in mine} == {1, 4}


def test_no_cell_gets_a_second_block_before_every_cell_had_its_first():
    everything = keys(3 * BLOCK)
    order = [everything[place] for place in interleaved(everything)]
    first_round = order[: BLOCK * 2 * len(TASKS)]
    assert {key.cell for key in first_round} == {key.cell for key in everything}
    assert all(key.index < BLOCK for key in first_round)


def test_a_cells_episodes_stay_in_order():
    everything = keys(25)
    order = [everything[place] for place in interleaved(everything)]
    assert [key.index for key in order if key.cell == ("s", "t3", "L2", "")] == list(range(25))
    assert sorted(order, key=str) == sorted(everything, key=str)


def test_a_shards_plan_counts_the_comparisons_of_the_whole():
    everything = keys(4)
    part, whole = KeySet.of(everything[:8]), KeySet.of(everything)
    scope = make_scope(part, whole, Rules(by="task"), has_baseline=True, first=0, early_stop=True)
    assert (len(scope.cells), scope.comparisons) == (2, 10)
    assert Scope.from_dict(scope.to_dict()) == scope


def test_a_plan_counts_only_comparisons_that_are_asked_for():
    rules = read_rules({"success": {"s/t1": 0.8}})
    whole = KeySet.of(keys(4))
    assert make_scope(whole, whole, rules, has_baseline=False, first=0, early_stop=False).comparisons == 2


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4", ""])
def test_a_bad_shard_is_one_clear_message(text):
    with pytest.raises(GateError, match="--vla-shard must be I/N"):
        read_shard(text)


def test_without_a_shard_everything_is_run():
    assert read_shard(None) == (1, 1)
    assert read_shard("2/4") == (2, 4)
