"""Texts of data files do nothing to whoever prints them."""

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.run.file import parse_line
from pytest_vla.run.harmless import cell, harmless, is_suspect
from pytest_vla.run.trace import decode_actions, encode_actions

HOSTILE = ["\x1b]0;title\x07", "a\n::error::b", "##[command]x", "  ::warning::x", "\x9b31m", "\r"]
TEXTS = st.text() | st.sampled_from(HOSTILE)
VALUES = st.recursive(st.none() | st.integers() | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner))


def texts(value):
    if isinstance(value, str):
        yield value
    for part in value.items() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from texts(part)


@given(VALUES, st.booleans())
def test_no_line_of_a_run_file_has_an_escape_or_a_command(value, ascii_only):
    line = {"type": "x", "message": value, "name": value}
    for text in texts(parse_line(json.dumps(line, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass"))):
        assert not any(ord(letter) < 32 and letter not in "\n\t" for letter in text)
        assert not any(0x7F <= ord(letter) < 0xA0 for letter in text)
        assert not any(part.strip().startswith("::") or "##[" in part for part in text.split("\n"))


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters=":#\\\\")))
def test_a_plain_text_stays_as_it_is(text):
    assert parse_line(json.dumps({"name": text}).encode())["name"] == text


def test_a_name_has_one_line_and_a_message_may_have_more():
    line = parse_line(json.dumps({"task": "a\nb", "message": "a\nb"}).encode())
    assert line == {"task": "a\\nb", "message": "a\nb"}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_a_spreadsheet_sees_no_formula(text):
    assert next(csv.reader([cell(text)]))[0] == f"'{text}"
    assert cell("rotate") == "rotate"


def test_actions_unpack_to_what_they_say_and_no_more():
    import base64
    import zlib

    import numpy as np

    actions = encode_actions([np.arange(3, dtype=np.float32)] * 4)
    assert decode_actions(actions)[""].shape == (4, 3)
    bomb = base64.b64encode(zlib.compress(b"0" * (1 << 26))).decode()
    for shape in ([4, 3], [1 << 40], [-1]):
        with pytest.raises(ValueError, match="actions of"):
            decode_actions({"": ["<f4", shape, bomb]})


def test_long_digits_are_refused_as_a_number_and_read_in_a_text():
    digits = "9" * 400
    assert parse_line(f'{{"raw": "{digits}"}}'.encode()) == {"raw": digits}
    with pytest.raises(ValueError, match="300 digits"):
        parse_line(f'{{"raw": {digits}}}'.encode())


WORDS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(':#[ \t\n"\\\x85\u2028')), max_size=12
)
TREES = st.recursive(WORDS, lambda part: st.lists(part, max_size=3) | st.dictionaries(WORDS, part, max_size=3))


@given(TREES, st.booleans())
def test_a_line_that_would_be_changed_is_always_suspected(data, ascii_only):
    line = json.dumps({"message": data, "name": data}, ensure_ascii=ascii_only)
    assert is_suspect(line.encode()) or harmless(json.loads(line)) == json.loads(line)


def test_an_ordinary_line_is_not_suspected():
    assert not is_suspect(json.dumps({"nodeid": "test_vima.py::test_vima[rotate-train-00]", "index": 0}).encode())


def test_actions_that_are_no_packed_bytes_are_a_plain_error():
    with pytest.raises(ValueError, match="cannot be unpacked"):
        decode_actions({"": ["<f4", [1], "bm90IHppcHBlZA=="]})
