"""Observations between a client and a server of ours arrive as they were, and a broken message is refused."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pytest_vla.policies.trees import LARGEST_NEWS, MOST_PARTS, TooMuchNews, TreeReader, TreeWriter, is_tree
from pytest_vla.policies.wire import Limits, TooLarge, WireError
from pytest_vla.tree import TreeError, plain

arrays = hnp.arrays(st.sampled_from(["<f4", "|u1", "<i8"]), st.sampled_from([(), (2,), (2, 2, 3)]))
observations = st.fixed_dictionaries(
    {"images": st.dictionaries(st.sampled_from("ab"), arrays), "instruction": st.sampled_from(["go", "stop"])},
    optional={"prompt": st.sampled_from([{"text": "put"}, {"picture": np.ones((2, 2))}]), "score": st.floats(-1, 1)},
)
HEAD = struct.Struct("<BxxxIQ")
SEEN = {"images": {"front": np.arange(12, dtype=np.uint8).reshape(2, 2, 3)}, "state": {"x": np.ones(3)}}


def sent(writer, reader, observation, number=1):
    return reader.read(bytes(writer.packed(observation, number)), Limits())


def news_of(message):
    return HEAD.unpack_from(message)[2]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(observations, st.booleans()), max_size=8))
def test_every_observation_arrives_as_it_was_sent_whatever_came_before(steps):
    writer, reader = TreeWriter(), TreeReader()
    for number, (observation, begins) in enumerate(steps):
        if begins:
            writer.begin(), reader.begin()
        if "prompt" not in observation:  # one that was told stays for the episode, so it is not dropped on the way
            writer.begin(), reader.begin()
        received, answered = sent(writer, reader, observation, number)
        assert answered == number
        np.testing.assert_equal(received, plain(observation))


def test_a_step_like_the_last_one_tells_nothing_but_its_numbers():
    writer, reader = TreeWriter(), TreeReader()
    sent(writer, reader, SEEN)
    assert reader.is_new
    for step in range(3):
        observation = {**SEEN, "state": {"x": np.full(3, float(step))}}
        message = bytes(writer.packed(observation, step))
        assert is_tree(message)
        assert news_of(message) == 0
        np.testing.assert_equal(reader.read(message, Limits())[0], observation)
        assert not reader.is_new


def test_a_prompt_is_sent_once_an_episode():
    writer, reader = TreeWriter(), TreeReader()
    prompt = {"text": "put it there", "pictures": [np.arange(5)]}
    for _ in range(2):
        writer.begin(), reader.begin()
        told = []
        for _ in range(3):
            message = bytes(writer.packed({**SEEN, "prompt": prompt}, 1))
            told.append(news_of(message) > 0)
            np.testing.assert_equal(reader.read(message, Limits())[0]["prompt"], prompt)
        assert told[1:] == [False, False]


def test_a_prompt_does_not_outlive_its_episode():
    writer, reader = TreeWriter(), TreeReader()
    sent(writer, reader, {**SEEN, "prompt": "put it there"})
    writer.begin(), reader.begin()
    assert "prompt" not in sent(writer, reader, SEEN)[0]


def test_what_cannot_be_sent_is_named():
    with pytest.raises(TreeError, match=r"observation\['state'\]"):
        TreeWriter().packed({"state": {"x": object()}}, 1)


def message(news, rest=b"", size=None):
    text = json.dumps(news).encode() if not isinstance(news, bytes) else news
    return HEAD.pack(0xC1, 1, len(text) if size is None else size) + text + rest


LIES = {
    "before its form": message({}),
    "no map": message({"tree": ["l"]}),
    "no tree": message({"tree": 7}),
    "no news": message([1, 2]),
    "no JSON": message(b"{{"),
    "deep JSON": message(b"[" * 20_000),
    "a tree of unknown nodes": message({"tree": ["d", ["x", ["?"]]]}),
    "an array of objects": message({"tree": ["d", ["x", ["a", "|O", [1]]]]}, bytes(64)),
    "more than there is": message({"tree": ["d", ["x", ["a", "<f8", [1000]]]]}),
    "less than nothing": message({"tree": ["d", ["x", ["a", "<f8", [-1]]]]}, bytes(64)),
    "a size beyond all numbers": message({"tree": ["d", ["x", ["a", "<f8", [2**62, 2**62]]]]}, bytes(64)),
    "news that end behind it": message({}, size=10_000),
    "a key that is a list": message({"tree": ["d", [["x"], ["n"]]]}),
    "half a head": HEAD.pack(0xC1, 1, 0)[:9],
}


@pytest.mark.parametrize("data", LIES.values(), ids=LIES)
def test_a_message_that_lies_is_refused(data):
    with pytest.raises(WireError):
        TreeReader().read(data, Limits())


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_changed_message_is_read_or_refused(data):
    """Whatever its bytes are, nothing else is raised."""
    writer = TreeWriter()
    changed = bytearray(writer.packed({**SEEN, "prompt": {"text": "go"}}, 1))
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(1, len(changed) - 1))] = data.draw(st.integers(0, 255))
    try:
        received, _ = TreeReader().read(bytes(changed), Limits())
    except WireError:
        return
    assert isinstance(received, dict)


@pytest.mark.parametrize("news", [b" " * (LARGEST_NEWS + 1), b"[" * (MOST_PARTS + 1)])
def test_news_are_no_larger_than_a_person_would_need(news):
    with pytest.raises(TooLarge):
        TreeReader().read(message(news), Limits())


@pytest.mark.parametrize(
    "large", [{"instruction": "go " * LARGEST_NEWS}, {"state": dict.fromkeys(map(str, range(4096)), 1)}]
)
def test_after_an_observation_that_is_too_large_the_next_is_told_whole(large):
    writer, reader = TreeWriter(), TreeReader()
    prompt = {"text": "put it there"}
    sent(writer, reader, {**SEEN, "prompt": prompt})
    with pytest.raises(TooMuchNews):
        writer.packed({**large, "prompt": prompt}, 1)
    np.testing.assert_equal(sent(writer, reader, {**SEEN, "prompt": prompt})[0], {**SEEN, "prompt": prompt})


def test_a_message_larger_than_allowed_is_refused_unread():
    with pytest.raises(TooLarge):
        TreeReader().read(bytes(TreeWriter().packed(SEEN, 1)), Limits(16))
