"""One parser for all: what it reads strictly and leniently, and that nothing an answer says can hurt it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_vla.suites.multinet.parse import LONGEST, Ask, call_of, canonical, lenient, strict

from pytest_vla.answers.forms import CALL, CONTINUOUS, DISCRETE, OPTION, OUTPUTS, TEXT, form_of, misaligned

ASKS = {
    OPTION: Ask(OPTION, 5),
    CONTINUOUS: Ask(CONTINUOUS, 3),
    DISCRETE: Ask(DISCRETE, 36),
    TEXT: Ask(TEXT),
    CALL: Ask(CALL),
}
UNIFORM = [1 / 36] * 36


@pytest.mark.parametrize(
    ("asked", "answer", "value", "reason", "found"),
    [
        (OPTION, "3", 3, "", 3),
        (OPTION, " 3 \n", 3, "", 3),
        (OPTION, 4, 4, "", 4),
        (OPTION, "Solution 1: mix", None, "extra_text", 1),
        (OPTION, "7", None, "out_of_range", None),
        (OPTION, "-1", None, "out_of_range", None),
        (OPTION, "", None, "empty", None),
        (OPTION, "Coordinate: (0.35, 0.35). Mark: 4", None, "wrong_type", None),
        (OPTION, "I am sorry, I can't", None, "refusal", None),
        (OPTION, "nan", None, "not_finite", None),
        (OPTION, "<think>maybe 2</think>3", 3, "", 3),
        (OPTION, True, None, "wrong_type", None),
        (CONTINUOUS, "[1, 2.5, -3e-1]", [1, 2.5, -0.3], "", [1, 2.5, -0.3]),
        (CONTINUOUS, "[1, 2]", None, "wrong_length", None),
        (CONTINUOUS, "[1, nan, 2]", None, "not_finite", None),
        (CONTINUOUS, "[1, 2, 3", None, "truncated", None),
        (CONTINUOUS, "Sure: [1, 2, 3].", None, "extra_text", [1, 2, 3]),
        (CONTINUOUS, "['a', 1, 2]", None, "wrong_type", None),
        (CONTINUOUS, np.array([1.0, 2.0, 3.0]), [1, 2, 3], "", [1, 2, 3]),
        (DISCRETE, "28", 28, "", 28),
        (DISCRETE, "36", None, "out_of_range", None),
        (DISCRETE, str(UNIFORM), UNIFORM, "", UNIFORM),
        (DISCRETE, str([0.5] * 36), None, "not_normalised", None),
        (DISCRETE, "[2, -1" + ", 0" * 34 + "]", None, "out_of_range", None),
        (TEXT, "The Piano.", "the piano", "", "the piano"),
        (TEXT, "2", "2", "", "two"),
        (CALL, "ls(a=True)", ["ls(a=True)"], "", ["ls(a=True)"]),
        (CALL, "[cd('x'), ls()]", ["cd('x')", "ls()"], "", ["cd('x')", "ls()"]),
        (CALL, "[\"cd(folder='x')\"]", ["cd(folder='x')"], "", ["cd(folder='x')"]),
        (CALL, "cd('x')\nls()", ["cd('x')", "ls()"], "", ["cd('x')", "ls()"]),
        (CALL, "First I call ls().", None, "extra_text", ["ls()"]),
        (CALL, "__import__('os').system('true')", None, "wrong_type", ["__import__('os')", "system('true')"]),
        (CALL, "f(g(1))", None, "wrong_type", ["f(g(1)"]),
        (CALL, "[]", [], "", []),
    ],
)
def test_answers_are_read(asked, answer, value, reason, found):
    reading, loose = strict(answer, ASKS[asked]), lenient(answer, ASKS[asked])
    assert reading.reason == reason
    if value is not None:
        assert np.asarray(reading.value).tolist() == pytest.approx(value) if asked != TEXT else reading.value == value
    if found is None:
        assert loose.reason
    else:
        assert not loose.reason
        assert np.asarray(loose.value).tolist() == (
            found if isinstance(found, (str, int)) or asked == CALL else pytest.approx(found)
        )


def test_functions_that_are_not_there_cannot_be_called():
    ask = Ask(CALL, functions=("ls",))
    assert strict("delete_everything()", ask).reason == "unknown_function"
    assert not strict("ls()", ask).reason


def test_ways_to_write_a_call_are_one_call():
    known = {"mv": ("source", "destination")}
    one = canonical("mv(source='a',destination='b')", known)
    assert one == canonical("mv( destination = 'b', source = 'a' )", known) == canonical("mv('a', 'b')", known)
    assert one != canonical("mv('b', 'a')", known)


@given(st.text(max_size=200), st.sampled_from(OUTPUTS))
def test_what_is_read_strictly_is_read_leniently(text, asked):
    first, second = strict(text, ASKS[asked]), lenient(text, ASKS[asked])
    if not first.reason:
        assert not second.reason
        if asked in (OPTION, CONTINUOUS, DISCRETE):
            assert np.array_equal(first.value, second.value)


@given(
    st.one_of(
        st.none(), st.binary(), st.floats(), st.integers(), st.lists(st.text()), st.dictionaries(st.text(), st.floats())
    )
)
def test_values_of_any_kind_have_a_reading(value):
    for ask in ASKS.values():
        reading = strict(value, ask)
        assert bool(reading.reason) != (reading.value is not None)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 3_000_000,
        "[" * 200_000,
        "(" * 5_000 + ")" * 5_000,
        "<think>" * 20_000,
        "9" * 100_000,
        "\x00\x1b[2J" * 100,
        "\ud800",
        "f(" * 1_000 + ")" * 1_000,
        "1," * (LONGEST // 2),
    ],
    ids=("long", "open", "nested", "thinking", "digits", "control", "surrogate", "calls", "numbers"),
)
@pytest.mark.parametrize("asked", OUTPUTS)
def test_hostile_texts_are_refused_quickly(text, asked):
    assert strict(text, ASKS[asked]).reason or asked == TEXT
    lenient(text, ASKS[asked])
    assert form_of(text)


def test_a_call_of_anything_but_a_bare_name_is_none():
    for text in ("os.system('x')", "f(x)", "f(*[1])", "f(**{})", "lambda: 1", "f() or g()", "(f)()()"):
        assert call_of(text) is None


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("", "empty"),
        ("3", "integer"),
        ("[0.1, 0.2]", "vector"),
        ("[0.1, 0.2", "vector"),
        ("(0.1, 0.2)", "coordinate"),
        ("Coordinate: (0.50, 0.15)", "coordinate"),
        ("ls(a=True)", "call"),
        ("Yes.", "yes_no"),
        ("a red cup", "short_text"),
        ("opio increa increa increa increa increa increa increa increa", "gibberish"),
        ("?!?!", "gibberish"),
        ("<loc0265><loc0265>", "action_tokens"),
        ("word " + "and another one " * 6 + "still going on with different things to say", "long_text"),
    ],
)
def test_forms_are_told_apart(text, form):
    assert form_of(text) == form


def test_only_another_type_is_a_misalignment():
    assert misaligned(OPTION, "coordinate", readable=False)
    assert not misaligned(OPTION, "short_text", readable=True)
    assert not misaligned(OPTION, "gibberish", readable=False)
    assert misaligned(TEXT, "coordinate", readable=True)
