"""A tree arrives as it was sent, and what cannot be sent is named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pytest_vla.tree import Layout, TreeError, flatten, plain, signature, size_of, unflatten, write

arrays = hnp.arrays(
    st.sampled_from(["<f4", "<f8", "|u1", "<i8", "?", "<c8", "<f2"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0),
)
leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text() | arrays
trees = st.recursive(
    leaves, lambda t: st.lists(t, max_size=3) | st.dictionaries(st.text(), t, max_size=3), max_leaves=8
)


def same(a, b):
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and a == b


@settings(max_examples=200, deadline=None)
@given(trees, st.integers(0, 100))
def test_a_tree_arrives_as_it_was_sent(tree, offset):
    skeleton, parts = flatten(tree)
    memory = np.full(size_of(parts, offset), 255, np.uint8)
    end = write(parts, memory, offset)
    received, position = unflatten(skeleton, memory, offset)
    assert same(tree, received)
    assert position == end == memory.size


@settings(max_examples=200, deadline=None)
@given(st.lists(trees, min_size=2, max_size=2))
def test_a_tree_is_copied_to_the_place_of_another_exactly_when_it_has_its_form(pair):
    first, second = pair
    skeleton, parts = flatten(first)
    memory = np.zeros(size_of(parts), np.uint8)
    form = Layout(skeleton).form(memory)
    assert form.fill(first)
    assert same(first, unflatten(skeleton, memory)[0])
    assert form.fill(second) == (flatten(second)[0] == skeleton)
    if form.fill(second):
        assert same(second, unflatten(skeleton, memory)[0])


@pytest.mark.parametrize(
    "other",
    [
        {"b": 2.0, "a": np.ones(3), "c": "go", "d": 1},
        {"a": np.ones(3, np.float32), "b": 2.0, "c": "go", "d": 1},
        {"a": np.ones(4), "b": 2.0, "c": "go", "d": 1},
        {"a": np.ones(3), "b": 2, "c": "go", "d": 1},
        {"a": np.ones(3), "b": 2.0, "c": "stop", "d": 1},
        {"a": np.ones(3), "b": 2.0, "c": "go", "d": 2**64},
        {"a": np.ones(3), "b": 2.0, "c": "go"},
        {"a": np.ones(3), "b": 2.0, "c": None, "d": 1},
        [np.ones(3)],
    ],
)
def test_a_tree_of_another_form_is_not_taken_for_the_last_one(other):
    skeleton, parts = flatten({"a": np.zeros(3), "b": 1.0, "c": "go", "d": 1})
    form = Layout(skeleton).form(np.zeros(size_of(parts), np.uint8))
    assert not form.fill(other)
    assert form.fill({"a": np.ones(3), "b": 2.0, "c": "go", "d": 3})


def test_arrays_are_views_of_the_memory_they_came_in():
    skeleton, parts = flatten({"image": np.zeros((4, 4), np.uint8)})
    memory = np.zeros(size_of(parts), np.uint8)
    received, _ = unflatten(skeleton, memory)
    memory[:] = 7
    assert (received["image"] == 7).all()


def test_arrays_in_any_memory_order_keep_their_meaning():
    array = np.arange(24).reshape(4, 6)[::2, ::-1].T
    assert (plain({"a": array})["a"] == array).all()


def test_objects_that_can_become_a_tree_do():
    class Prompt:
        def to_tree(self):
            return {"text": "put it there", "picture": np.ones(3)}

    assert plain({"prompt": Prompt()})["prompt"]["text"] == "put it there"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"state": {"x": object()}}, r"observation\['state'\]\['x'\] is a object"),
        ({"names": np.array(["a", "b"])}, r"observation\['names'\] is an array of <U1"),
        ({"mixed": np.array([1, "a", None], dtype=object)}, "array of object"),
        ({"map": {3: 1.0}}, "keys must be texts"),
        ({"big": 2**64}, "does not fit into 64 bits"),
    ],
)
def test_what_cannot_be_sent_is_named(value, words):
    with pytest.raises(TreeError, match=words):
        flatten(value)


def test_a_tree_that_contains_itself_is_an_error():
    tree: dict = {}
    tree["again"] = tree
    with pytest.raises(TreeError, match="nested more than"):
        flatten(tree)


@pytest.mark.parametrize(
    "skeleton",
    [
        ["a", "<f8", [1000]],
        ["a", "<f8", [-1]],
        ["a", "<f8", [2**40, 2**40]],
        ["a", "O", [1]],
        ["x"],
        ["d", ["a", ["l", ["a", "|u1", [65]]]]],
    ],
)
def test_a_skeleton_that_lies_about_its_memory_is_refused(skeleton):
    with pytest.raises(TreeError):
        unflatten(skeleton, np.zeros(64, np.uint8))


def test_the_signature_forgets_texts_and_keeps_shapes():
    def of(text, size):
        return signature(flatten({"instruction": text, "state": np.zeros(size)})[0])

    assert of("go", 3) == of("stop", 3) != of("go", 4)
