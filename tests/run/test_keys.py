"""A set of keys is a set, however little room it takes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.episode import Cell, EpisodeKey
from pytest_vla.run import KeySet

keys = st.builds(
    EpisodeKey,
    suite=st.just("s"),
    task=st.sampled_from("ab"),
    partition=st.just("p"),
    index=st.integers(0, 12),
    repeat=st.integers(0, 1),
)
many = st.lists(keys, max_size=40)


@given(many)
def test_it_holds_what_went_in_each_once(listed):
    found = KeySet.of(listed)
    assert set(found) == set(listed)
    assert len(found) == len(set(listed)) == len(list(found))
    assert all(key in found for key in listed)


@given(many, keys)
def test_it_does_not_hold_what_did_not_go_in(listed, key):
    assert (key in KeySet.of(listed)) == (key in set(listed))


@given(many, many)
def test_union_and_difference_are_those_of_sets(one, other):
    assert set(KeySet.of(one) | KeySet.of(other)) == set(one) | set(other)
    assert set(KeySet.of(one) - KeySet.of(other)) == set(one) - set(other)
    assert len(KeySet.of(one) - KeySet.of(other)) == len(set(one) - set(other))


@given(many)
def test_the_order_of_indices_does_not_matter_for_equality(listed):
    def by_cell(keys):
        return sorted(keys, key=lambda key: (key.task, key.repeat))

    one, other = KeySet.of(by_cell(listed)), KeySet.of(by_cell(reversed(listed)))
    assert one == other
    assert hash(one) == hash(other)


@given(many)
def test_it_reads_back_from_built_in_types(listed):
    found = KeySet.of(listed)
    assert KeySet.from_list(json.loads(json.dumps(found.to_list()))) == found


def test_cells_are_counted_once_however_often_they_are_repeated():
    listed = [EpisodeKey("s", "t", "p", index, repeat=repeat) for index in (0, 1, 5) for repeat in (0, 1)]
    assert KeySet.of(listed).counts() == {Cell("s", "t", "p"): 3}
    assert KeySet.of(listed).cells() == [Cell("s", "t", "p")]
    assert len(KeySet.of(listed)) == 6


def test_a_million_consecutive_keys_take_one_row():
    whole = KeySet({(Cell("s", "t", "p"), 0): ((0, 1_000_000),)})
    assert len(whole) == 1_000_000
    assert whole.to_list() == [["s", "t", "p", "", 0, [[0, 1_000_000]]]]
    assert EpisodeKey("s", "t", "p", 999_999) in whole
    assert EpisodeKey("s", "t", "p", 1_000_000) not in whole


@pytest.mark.parametrize(
    "rows",
    [
        5,
        "s",
        [["s", "t", "p", "", 0]],
        [["s", "t", "p", "", "0", []]],
        [["s", "t", "p", "", 0, [[3, 3]]]],
        [["s", "t", "p", "", 0, [[5, 3]]]],
        [["s", "t", "p", "", 0, [[-1, 3]]]],
        [["s", "t", "p", "", 0, [["0", 3]]]],
    ],
)
def test_anything_else_is_refused(rows):
    with pytest.raises(ValueError):
        KeySet.from_list(rows)


def test_of_repeated_episodes_the_first_time_counts():
    listed = [EpisodeKey("s", "t", "p", index) for index in range(3)] + [EpisodeKey("s", "t", "p", 0, repeat=1)]
    assert KeySet.of(listed).counts() == {listed[0].cell: 3}


def test_ranges_that_touch_are_one_and_empty_ones_none():
    cell, other = (EpisodeKey("s", task, "p", 0).cell for task in "ab")
    found = KeySet.of_ranges({(cell, 0): [(3, 5), (0, 3), (7, 8)], (other, 0): []})
    assert found.to_list() == [["s", "a", "p", "", 0, [[0, 5], [7, 8]]]]
    assert found.cells() == [cell]
    assert KeySet.of(EpisodeKey("s", "a", "p", index) for index in (0, 1, 2)).to_list()[0][-1] == [[0, 3]]


def test_a_difference_takes_no_more_than_it_must():
    def some(*ranges):
        return KeySet.of_ranges({(EpisodeKey("s", "a", "p", 0).cell, 0): ranges})

    assert (some((0, 10)) - some((0, 3), (5, 6))).to_list()[0][-1] == [[3, 5], [6, 10]]
    assert (some((0, 3), (5, 8)) - some((3, 5))).to_list()[0][-1] == [[0, 3], [5, 8]]
    assert (some((0, 3)) - some((0, 3))).to_list() == []
