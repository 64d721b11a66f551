"""Two runs of the same episodes: who pairs, who does not and why, counted without loss."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.run import Partners, Record, Table, Why, control_pairs, pair
from pytest_vla.run.table import SCENE_LETTERS, TableBuilder, scene_letter

REASON = {"solved": None, "unsolved": "step_limit", "error": "env_error"}


def record(index=0, outcome="solved", perturbation="", version="1", scene="a", renderer="egl", repeat=0, task="t"):
    key = EpisodeKey("s", task, "seen", index, perturbation, version, repeat)
    result = Result(key, outcome, REASON[outcome], initial_digest=scene, made_with={"renderer": renderer})
    return Record(result)


sides = st.lists(
    st.builds(
        record,
        st.integers(0, 5),
        st.sampled_from(list(REASON)),
        st.just(""),
        st.sampled_from("12"),
        st.sampled_from(("a", "b", "")),
        st.sampled_from(("egl", "osmesa")),
        st.integers(0, 1),
        st.sampled_from("tu"),
    ),
    unique_by=lambda each: each.key,
    max_size=24,
)


def by_hand(new, old):
    """The definition, one pair at a time: the first reason that holds, or the two outcomes."""
    theirs = {each.key: each for each in old if not each.key.repeat}
    for mine in new:
        if mine.key.repeat:
            continue
        other = theirs.pop(mine.key, None)
        if other is None:
            yield Why.ONLY_NEW
        elif "error" in (mine.outcome, other.outcome):
            yield Why.ERROR
        elif mine.key.version != other.key.version:
            yield Why.VERSION
        elif mine.result.made_with != other.result.made_with:
            yield Why.MADE_WITH
        elif mine.result.initial_digest != other.result.initial_digest:
            yield Why.SCENE
        else:
            yield (other.outcome, mine.outcome)
    yield from (Why.ONLY_OLD for _ in theirs)


@given(sides, sides)
def test_pairs_and_reasons_are_those_of_the_definition(new, old):
    pairs = pair(Table.of(new), Table.of(old))
    expected = list(by_hand(new, old))
    found = [each for each in expected if isinstance(each, tuple)]
    assert len(pairs) == len(found)
    assert pairs.gained == found.count(("unsolved", "solved"))
    assert pairs.lost == found.count(("solved", "unsolved"))
    assert pairs.why() == Counter(each for each in expected if isinstance(each, Why))


@given(sides, sides)
def test_both_rows_of_a_pair_are_one_episode(new, old):
    pairs = pair(Table.of(new), Table.of(old))
    for mine, theirs in zip(pairs.new_rows, pairs.old_rows, strict=True):
        assert pairs.new.key(mine) == pairs.old.key(theirs)
        assert pairs.new.key(mine).version == pairs.old.key(theirs).version
    assert sorted(pairs.new_rows.tolist()) == pairs.new_rows.tolist()


@given(sides, sides)
def test_turned_around_what_was_gained_is_lost(new, old):
    there, back = pair(Table.of(new), Table.of(old)), pair(Table.of(old), Table.of(new))
    assert (there.gained, there.lost, len(there)) == (back.lost, back.gained, len(back))
    assert there.why()[Why.ONLY_NEW] == back.why()[Why.ONLY_OLD]


@given(sides, sides)
def test_every_row_says_its_flip_or_why_it_has_none(new, old):
    pairs = pair(Table.of(new), Table.of(old))
    flips = pairs.flips().tolist()
    assert (flips.count(1), flips.count(-1)) == (pairs.gained, pairs.lost)
    whys = [pairs.why_new(row) for row in range(len(pairs.new))]
    assert whys.count(None) == len(pairs)
    assert Counter(filter(None, whys)) + Counter({Why.ONLY_OLD: pairs.why()[Why.ONLY_OLD]}) == pairs.why()
    assert all(why is None for why, flip in zip(whys, flips, strict=True) if flip)


def test_a_run_pairs_with_itself_wholly():
    table = Table.of([record(index, outcome) for index, outcome in enumerate(("solved", "unsolved", "solved"))])
    pairs = pair(table, table)
    assert (len(pairs), pairs.gained, pairs.lost, pairs.why()) == (3, 0, 0, Counter())


def test_what_was_drawn_by_another_renderer_does_not_pair():
    pairs = pair(Table.of([record(renderer="egl")]), Table.of([record(renderer="osmesa")]))
    assert (len(pairs), pairs.why()) == (0, Counter({Why.MADE_WITH: 1}))


def test_perturbed_episodes_pair_with_the_same_ones_unperturbed():
    table = Table.of(
        [
            *(record(index) for index in range(4)),
            record(0, "unsolved", "camera.yaw=3", scene="b"),  # another scene is what a perturbation is for
            record(1, "solved", "camera.yaw=3"),
            record(2, "error", "camera.yaw=3"),
            record(3, "unsolved", "camera.yaw=5"),
            record(9, "unsolved", "camera.yaw=3"),
        ]
    )
    pairs = control_pairs(table, "camera.yaw=3")
    assert (len(pairs), pairs.lost, pairs.gained) == (2, 1, 0)
    assert pairs.why() == {Why.ERROR: 1, Why.ONLY_NEW: 1, Why.ONLY_OLD: 1}


def snapshot(records, letters):
    """A table that knows of each scene one letter only, as a snapshot's does."""
    builder = TableBuilder()
    for place, (each, letter) in enumerate(zip(records, letters, strict=True)):
        builder.add(each, place, letter)
    return builder.table()


@pytest.mark.parametrize(
    ("scene", "letter", "why"),
    [
        ("a", scene_letter("a"), None),
        ("a", "v" if scene_letter("a") != "v" else "0", Why.SCENE),
        ("", scene_letter("a"), Why.SCENE),
        ("a", "", Why.SCENE),
        ("", "", None),
    ],
)
def test_where_only_a_letter_is_known_of_a_scene_it_decides(scene, letter, why):
    mine, old = record(scene=scene), snapshot([record(scene="")], [letter])
    pairs = pair(Table.of([mine]), old)
    assert pairs.why_new(0) == why
    assert Partners(old).why(mine, 0) == why
    assert pair(old, Table.of([mine])).why_new(0) == why


def test_a_scene_s_letter_is_one_of_its_digest():
    assert scene_letter("") == ""
    found = {scene_letter(str(number)) for number in range(2000)}
    assert found == set(SCENE_LETTERS)
    assert scene_letter("a") == scene_letter("a")


@pytest.mark.parametrize(
    ("mine", "theirs", "differ"),
    [
        (
            {"renderer": "egl", "simulator": "mujoco-4.0.0"},
            {"renderer": "egl", "simulator": "mujoco-3.8.1"},
            {"simulator"},
        ),
        ({"renderer": "egl", "simulator": "4.0.0"}, {"renderer": "egl"}, set()),
        ({"renderer": "egl"}, {"renderer": "osmesa", "simulator": "mujoco-4.0.0"}, {"renderer"}),
        ({}, {"renderer": "egl"}, {"renderer"}),
        ({}, {}, set()),
    ],
)
def test_what_was_made_with_another_simulator_does_not_pair(mine, theirs, differ):
    from pytest_vla.run.pair import made_differently

    assert set(made_differently(tuple(mine.items()), tuple(theirs.items()))) == differ


def test_scenes_with_one_letter_are_still_two_scenes():
    twin = next(str(n) for n in range(1000) if scene_letter(str(n)) == scene_letter("a"))
    mine, theirs = record(scene="a"), record(scene=twin)
    old = snapshot([theirs], [scene_letter(twin)])
    for table in (Table.of([theirs]), old):
        assert pair(Table.of([mine]), table).why_new(0) == Why.SCENE
        assert pair(table, Table.of([mine])).why_new(0) == Why.SCENE
        assert Partners(table).why(mine, 0) == Why.SCENE


def test_a_suite_that_takes_no_seed_never_pairs():
    key = EpisodeKey("s", "t", "seen", 0)
    drawn, fixed = (Record(Result(key, "solved", made_with=made)) for made in ({"seed": "none"}, {}))
    for mine, theirs in ((drawn, fixed), (fixed, drawn), (drawn, drawn)):
        old = Table.of([theirs])
        assert pair(Table.of([mine]), old).why() == {Why.UNSEEDED: 1}
        assert Partners(old).why(mine, 0) == Why.UNSEEDED


def test_flips_have_the_sign_of_what_happened():
    new = [record(0, "solved"), record(1, "unsolved"), record(2, "solved"), record(3, "unsolved")]
    old = [record(0, "unsolved"), record(1, "solved"), record(2, "solved"), record(3, "unsolved")]
    assert pair(Table.of(new), Table.of(old)).flips().tolist() == [1, -1, 0, 0]
