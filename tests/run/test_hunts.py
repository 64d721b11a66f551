"""A hunt's lines and the values behind them are the same thing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_runs import names

from pytest_vla.episode import EpisodeKey
from pytest_vla.run import Cause, HuntRecord, Reach
from pytest_vla.run.hunts import Condition, Count, HuntStart, Lower
from pytest_vla.run.hunts import Tested as Seen

counts = st.integers(0, 500)
rates = st.builds(Count, counts, counts)
values = st.one_of(names, st.floats(-9, 9))
conditions = st.builds(Condition, names, st.sampled_from("=<>"), values, rates, rates)
others = st.lists(names, max_size=2).map(tuple)
causes = st.builds(
    *(Cause, names, counts, counts, counts, counts, names, rates),
    st.none() | st.builds(Lower, names, rates),
    st.none() | conditions,
    others,
)
reaches = st.one_of(
    st.builds(Reach, st.integers(-8, 8), others),
    st.builds(
        *(Reach, st.none(), st.just(()), st.integers(0, 8), st.integers(0, 16), counts, counts), st.none() | rates
    ),
)
hunts = st.builds(
    HuntRecord,
    names,
    names,
    names,
    st.lists(names, max_size=3).map(tuple),
    counts,
    counts,
    counts,
    st.tuples(counts, counts),
    st.builds(Seen, counts, counts, counts, st.floats(0, 1)),
    st.lists(causes, max_size=3).map(tuple),
    st.dictionaries(names, reaches, max_size=3),
    counts,
    st.tuples(counts, counts),
)


@given(hunts)
def test_a_hunt_reads_back_as_it_was(hunt):
    line = json.loads(json.dumps(hunt.to_record()))
    assert line["type"] == "hunt"
    assert HuntRecord.from_record(line) == hunt


@given(st.builds(HuntStart, names, names, names, st.integers(1, 9), others, counts))
def test_the_start_of_a_hunt_reads_back_as_it_was(start):
    line = json.loads(json.dumps(start.to_record()))
    assert line["type"] == "hunt_start"
    assert HuntStart.from_record(line) == start
    assert start.name == (start.suite, start.task, start.partition)


def test_what_an_older_line_does_not_say_is_nothing():
    old = {"suite": "s", "task": "t", "partition": "p", "axes": ["a"], "episodes": 9, "control": [3, 4]}
    old |= {"causes": [{"perturbation": "a=1", "failed": 2, "asked": 3, "index": 5}], "map": {"a": {}}}
    hunt = HuntRecord.from_record(old)
    assert (hunt.errors, hunt.overloads, hunt.tested) == (0, 0, Seen(0, 0, 0, 0.0))
    assert hunt.causes == (Cause("a=1", 2, 3, 5, 0, ""),)
    assert hunt.map == {"a": Reach(None, (), 0, 0, 0)}
    assert (hunt.episodes, hunt.control, hunt.unconfirmed, hunt.known) == (9, (3, 4), 0, (0, 0))
    assert (hunt.base, hunt.causes[0].rate) == (Count(1, 4), Count(2, 3))


def test_a_hunt_names_its_place_and_the_episode_that_shows_a_cause():
    hunt = HuntRecord("s", "t", "p", causes=(Cause("a=1", 2, 3, 5),))
    assert (hunt.where, hunt.name) == ("s/t-p", ("s", "t", "p"))
    assert hunt.episode(hunt.causes[0]) == EpisodeKey("s", "t", "p", 5, "a=1")


@pytest.mark.parametrize("lacking", ["suite", "task", "partition", "episodes", "control", "causes", "map"])
def test_a_line_without_its_parts_is_refused(lacking):
    line = HuntRecord("s", "t", "p").to_record()
    del line[lacking]
    with pytest.raises((KeyError, ValueError, TypeError)):
        HuntRecord.from_record(line)


def test_a_count_grows_by_one_episode_and_has_a_rate():
    count = Count().add(True).add(False).add(False).add(True)
    assert (count, count.rate) == (Count(2, 4), 0.5)
    assert Count().rate == 0.0


@pytest.mark.parametrize(
    ("relation", "value", "there", "holds"),
    [
        ("=", 2.0, 2.0, True),
        ("=", 2.0, 3.0, False),
        ("=", "red", "red", True),
        ("=", "red", "blue", False),
        ("<", 2.0, 1.0, True),
        ("<", 2.0, 2.0, False),
        ("<", 2.0, 3.0, False),
        (">", 2.0, 3.0, True),
        (">", 2.0, 2.0, False),
        (">", 2.0, 1.0, False),
        ("<", "red", "red", True),  # texts have no order
        ("<", "red", "blue", False),
        ("<", 2.0, "red", False),
        (">", 2.0, None, False),
        ("=", 2.0, None, False),
    ],
)
def test_a_condition_holds_in_scenes_that_have_the_feature_so(relation, value, there, holds):
    scene = {} if there is None else {"colour": there}
    condition = Condition("colour", relation, value)
    assert condition.holds({**scene, "other": 1.0}) is holds
    assert str(condition) == f"colour {relation} {value}"


def test_a_line_with_nothing_but_what_it_must_have():
    line = {
        "suite": "s",
        "task": "t",
        "partition": "p",
        "control": [3, 5],
        "causes": [],
        "map": {"a.b": {}},
        "episodes": 9,
    }
    hunt = HuntRecord.from_record(line)
    assert hunt == HuntRecord("s", "t", "p", episodes=9, control=(3, 5), map={"a.b": Reach()})
    assert (hunt.base, hunt.where, hunt.name) == (Count(2, 5), "s/t-p", ("s", "t", "p"))
    cause = {"perturbation": "a.b=1", "failed": 2, "asked": 4, "index": 7}
    (read,) = HuntRecord.from_record({**line, "causes": [cause]}).causes
    assert (read, read.rate) == (Cause("a.b=1", 2, 4, 7), Count(2, 4))
    start = {"suite": "s", "task": "t", "partition": "p", "batch": 4, "known": ["a.b=1"]}
    assert HuntStart.from_record(start) == HuntStart("s", "t", "p", 4, ("a.b=1",), 0)
    assert HuntStart("s", "t", "p") == HuntStart("s", "t", "p", batch=1, known=(), seed=0)
    assert HuntStart("s", "t", "p").name == ("s", "t", "p")
