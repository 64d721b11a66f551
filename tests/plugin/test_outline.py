"""Many items in little room: stretches of episodes name exactly the items that pytest would have made."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.episode import EpisodeKey
from pytest_vla.outline import Outline, Stretch, in_turn, joined, keys_of, regrouped, thinned, without
from pytest_vla.run import KeySet

indices = st.builds(range, st.integers(0, 9), st.integers(0, 40), st.integers(1, 4)).filter(len)
variants = st.sampled_from([(("", 0),), (("", 0), ("light.shadow=3", 0)), (("", 0), ("", 1))])
stretches = st.builds(
    Stretch,
    st.sampled_from(["test_a.py::test_a", "test_a.py::test_b"]),
    st.just("s"),
    st.just("1"),
    st.sampled_from(["pick", "place"]),
    st.just("all"),
    indices,
    variants,
)
some = st.lists(stretches, max_size=5)


def all_of(given: list[Stretch]) -> list[tuple[str, EpisodeKey]]:
    return [(each.function, key) for each in given for key in each.episodes()]


@given(some, st.lists(st.sampled_from(["test_a.py::test_x", "test_a.py::test_y[1]"]), unique=True))
def test_an_outline_has_every_item_at_its_place_and_comes_back_from_its_text(episodes, others):
    outline = Outline([*others, *episodes])
    nodeids = [*others, *(f"{function}[{key.id}]" for function, key in all_of(episodes))]
    assert len(outline) == len(nodeids)
    assert [outline.nodeid(place) for place in range(len(outline))] == nodeids
    assert Outline.from_ids(outline.to_ids()) == outline
    for nodeid in {*nodeids}:
        assert outline.place(nodeid) == nodeids.index(nodeid)


@given(some)
def test_episodes_one_by_one_are_the_same_episodes_in_the_same_order(given):
    assert all_of(regrouped(all_of(given))) == all_of(given)


@given(some, some)
def test_what_is_done_is_left_out_and_nothing_else(given, finished):
    done = keys_of(finished)
    left = [pair for pair in all_of(given) if pair[1] not in done]
    assert all_of(list(without(given, done))) == left
    assert keys_of(given) == KeySet.of(key for _, key in all_of(given))


@given(some, st.integers(1, 5))
def test_shards_share_every_episode_out_once(given, total):
    shares = [all_of(list(in_turn(given, number, total))) for number in range(total)]
    for number, share in enumerate(shares):
        assert [pair for pair in all_of(given) if pair[1].index % total == number] == share


@given(some, st.booleans())
def test_of_what_cannot_run_one_episode_stays_and_the_others_are_named(given, by_task):
    def reason(key: EpisodeKey) -> str | None:
        odd = key.task == "place" and (by_task or key.index % 3 == 0)
        return "no gripper" if odd else None

    kept, unrun = thinned(given, reason, lambda suite: by_task)
    able = [pair for pair in all_of(given) if reason(pair[1]) is None]
    unable = [pair for pair in all_of(given) if reason(pair[1]) is not None]
    assert [pair for pair in all_of(kept) if reason(pair[1]) is None] == able
    assert [pair for pair in all_of(kept) if reason(pair[1]) is not None] == unable[:1]
    assert KeySet.of(key for each in unrun for key in each.keys) == KeySet.of(key for _, key in unable[1:])


def test_a_million_episodes_are_one_stretch():
    keys = (EpisodeKey("s", "t", "p", index) for index in range(1000))
    (one,) = joined("f", keys)
    assert (len(one), one.indices) == (1000, range(1000))
