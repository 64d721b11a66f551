"""Words and phrases are found in any sentence, and hidden where they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.explain.interventions import MASK, Span, with_words
from pytest_vla.explain.spans import spans_of

SENTENCES = st.text("ab c(3,4).,{}THE the on in to", max_size=60)


@pytest.mark.parametrize(
    ("sentence", "phrases"),
    [
        ("place the black stone at position (3,4)", ["the black stone", "black", "at position (3,4)", "(3,4)", "3"]),
        ("Put the {dragged} into the {base}.", ["the {dragged}", "into the {base}", "{base}"]),
        ("put it on row 0, column 2 of the board", ["row 0", "column 2", "of the board", "2"]),
    ],
)
def test_words_and_nested_phrases_are_spans(sentence, phrases):
    found = [span.text for span in spans_of(sentence)]
    assert set(phrases) <= set(found)


@given(SENTENCES)
def test_a_span_is_where_its_text_stands_and_none_comes_twice(sentence):
    spans = spans_of(sentence)
    assert all(sentence[span.start : span.stop] == span.text for span in spans)
    assert len({(span.start, span.stop) for span in spans}) == len(spans)


@given(SENTENCES)
def test_a_span_that_is_left_out_leaves_all_other_words(sentence):
    for span in spans_of(sentence):
        left = span.apply({"instruction": sentence})["instruction"]
        assert "".join(left.split()) == "".join((sentence[: span.start] + sentence[span.stop :]).split())


def test_a_masked_span_leaves_the_words_and_names_their_characters():
    seen = {"instruction": "go left", "prompt": {"text": "go left"}}
    masked = Span(3, 7, "left", masked=True).apply(seen)
    assert masked["instruction"] == "go left"
    assert masked[MASK] == [[3, 7]]


def test_other_words_reach_the_prompt_that_has_the_same_ones():
    seen = {"instruction": "go left", "prompt": {"text": "go left", "assets": {}}}
    assert with_words(seen, "go")["prompt"] == {"text": "go", "assets": {}}
    assert with_words({**seen, "prompt": {"text": "else"}}, "go")["prompt"] == {"text": "else"}
