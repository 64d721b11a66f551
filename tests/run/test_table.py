"""The table of a run: whatever order results came in, the same rows, the same counts."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.episode import Cell, EpisodeKey, Result
from pytest_vla.run import KeySet, Record, Table, Tally, sum_by

REASONS = {"solved": (None,), "unsolved": ("step_limit", "terminated"), "error": ("env_error", "timeout")}


@st.composite
def records(draw):
    """A rollout of a small suite: keys come again, so that repeats, retries and collisions happen."""
    outcome = draw(st.sampled_from(list(REASONS)))
    key = EpisodeKey(
        draw(st.sampled_from("xy")),
        draw(st.sampled_from("ab")),
        draw(st.sampled_from(("seen", "unseen"))),
        draw(st.integers(0, 4)),
        draw(st.sampled_from(("", "camera.yaw=3"))),
        draw(st.sampled_from("12")),
        draw(st.integers(0, 1)),
    )
    result = Result(
        key, outcome, draw(st.sampled_from(REASONS[outcome])), made_with={"renderer": draw(st.sampled_from("pq"))}
    )
    return Record(result, test=draw(st.sampled_from(("passed", "failed"))))


def last(found):
    """What a person would do by hand: of every key the last record."""
    return {record.key: record for record in found}


def by_hand(found):
    outcomes = Counter(record.outcome for record in found)
    return Tally(outcomes["solved"], outcomes["solved"] + outcomes["unsolved"], outcomes["error"])


@given(st.lists(records(), max_size=40))
def test_every_key_has_one_row_its_last(found):
    table, kept = Table.of(found), last(found)
    assert len(table) == len(kept)
    assert {table.key(row) for row in range(len(table))} == set(kept)
    assert table.tally() == by_hand(kept.values())
    assert [found[number] for number in table.place.tolist()] == [kept[table.key(row)] for row in range(len(table))]


@given(st.lists(records(), max_size=40, unique_by=lambda record: record.key), st.randoms())
def test_the_order_of_results_does_not_matter(found, random):
    shuffled = list(found)
    random.shuffle(shuffled)
    mine, theirs = Table.of(found), Table.of(shuffled)
    assert [mine.key(row) for row in range(len(mine))] == [theirs.key(row) for row in range(len(theirs))]
    assert mine.outcome.tolist() == theirs.outcome.tolist()


@given(st.lists(records(), max_size=40))
def test_tallies_add_up(found):
    table = Table.of(found).once()
    kept = [record for record in last(found).values() if not record.key.repeat]
    tallies = table.tallies()
    assert tallies == {cell: by_hand(r for r in kept if r.cell == cell) for cell in {r.cell for r in kept}}
    assert sum(sum_by(tallies, lambda cell: cell.suite).values(), Tally()) == table.tally()
    assert table.tally() == Tally.of(last(found).values())


@given(st.lists(records(), max_size=40))
def test_reasons_are_counted_by_outcome(found):
    table, kept = Table.of(found), last(found).values()
    for outcome in REASONS:
        counts = table.reason_counts(outcome)
        assert counts == Counter(record.result.reason or "" for record in kept if record.outcome == outcome)
        assert list(counts.values()) == sorted(counts.values(), reverse=True)


@given(st.lists(records(), max_size=40), st.permutations([Cell(s, t, "seen") for s in "xy" for t in "ab"]))
def test_cells_come_in_the_order_asked_for_then_by_name_and_indices_rise(found, order):
    table = Table.of(found).arranged(order[:2])
    keys = [table.key(row) for row in range(len(table))]
    places = [order[:2].index(key.cell) if key.cell in order[:2] else 2 for key in keys]
    wanted = sorted(zip(places, (tuple(key.cell) for key in keys), keys, strict=True), key=lambda each: each[:2])
    assert [key.cell for _, _, key in wanted] == [key.cell for key in keys]
    for cell in set(table.cells):
        inside = [(key.index, key.repeat) for key in keys if key.cell == cell]
        assert inside == sorted(inside)
    assert table.tallies() == Table.of(found).tallies()


@given(st.lists(records(), max_size=40))
def test_a_table_knows_its_keys_versions_and_objections(found):
    table, kept = Table.of(found), last(found)
    assert set(table.keys()) == set(kept)
    assert len(table.keys()) == len(kept)
    versions = {}
    for key in kept:
        versions.setdefault(key.suite, set()).add(next(r.key.version for r in [kept[key]]))
    assert {suite: set(found) for suite, found in table.versions().items()} == versions
    for version in "12":
        assert len(table.of_version(version)) == sum(record.key.version == version for record in kept.values())
    assert int(table.objected.sum()) == sum(record.objected for record in kept.values())


@given(st.lists(records(), max_size=40))
def test_rows_of_some_cells_are_those_rows(found):
    table = Table.of(found).of_cells(lambda cell: cell.suite == "x")
    assert {table.key(row) for row in range(len(table))} == {key for key in last(found) if key.suite == "x"}


def test_cells_that_get_one_name_are_one_cell():
    keys = [EpisodeKey("x", "a", "seen", 0), EpisodeKey("x", "b", "seen", 1)]
    table = Table.of(Record(Result(key, "solved")) for key in keys).renamed(lambda cell: cell._replace(task="c"))
    assert table.tallies() == {Cell("x", "c", "seen"): Tally(2, 2)}


def test_an_empty_table_answers_everything():
    table = Table.of([])
    assert (len(table), table.tally(), table.tallies(), table.versions()) == (0, Tally(), {}, {})
    assert (table.once().reason_counts("error"), table.keys()) == (Counter(), KeySet())
    assert len(table.arranged([Cell("x", "a", "seen")]).measured().renamed(lambda cell: cell)) == 0


@pytest.mark.parametrize(("solved", "measured", "text"), [(0, 0, "-"), (1, 2, "50.0%"), (2, 3, "66.7%")])
def test_a_rate_is_never_without_its_interval_and_number(solved, measured, text):
    rate, bounds, n, errors = Tally(solved, measured, 3).texts()
    assert (rate, n, errors) == (text, str(measured), "3")
    assert (bounds == "-") == (measured == 0)


def test_tallies_of_two_parts_are_that_of_both():
    assert Tally(1, 3, 2) + Tally(4, 9, 5) == Tally(5, 12, 7)


@pytest.mark.parametrize(
    ("first", "then", "faulted"),
    [
        (("error", "timeout"), ("solved", None), True),
        (("error", "policy_error"), ("solved", None), True),
        (("error", "env_error"), ("solved", None), False),
        (("solved", None), ("error", "timeout"), False),  # it is the error that counts then
    ],
)
def test_the_policy_s_own_error_is_remembered_when_the_episode_is_run_again(first, then, faulted):
    key = EpisodeKey("x", "a", "seen", 0)
    table = Table.of([Record(Result(key, *first)), Record(Result(key, *then))])
    assert table.faulted.tolist() == [faulted]


def told(index, outcome="solved", task="t", suite="s", repeat=0, version="1", **made_with):
    reason = {"solved": None, "unsolved": "step_limit", "error": "env_error"}[outcome]
    return Record(
        Result(EpisodeKey(suite, task, "p", index, "", version, repeat), outcome, reason, made_with=made_with)
    )


def test_an_episode_with_an_error_counts_once_whichever_repeat_had_it():
    records = [told(0, "error"), told(0, "error", repeat=1), told(0, task="u"), told(1, "error", "u"), told(2)]
    assert Table.of(records).error_count() == 2
    assert Table.of([told(0)]).error_count() == 0


def test_why_results_are_not_those_of_the_paper_is_known_by_suite():
    records = [
        told(0, **{"not comparable": "other data"}),
        told(1, **{"not comparable": "other data"}),
        told(2, task="u", **{"not comparable": "another robot"}),
        told(3, suite="r", renderer="egl"),
    ]
    assert Table.of(records).incomparable() == {"s": ["other data", "another robot"]}
    assert Table.of([told(0)]).incomparable() == {}


def test_versions_are_known_by_suite():
    records = [told(0), told(1, version="2"), told(0, suite="r", version="3"), told(1, suite="r", version="3")]
    found = Table.of(records).versions()
    assert {suite: sorted(versions) for suite, versions in found.items()} == {"s": ["1", "2"], "r": ["3"]}
