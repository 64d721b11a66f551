"""Values of options, by property."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.options import OPTIONS, Option, _convert
from pytest_vla.suggest import unknown

words = st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=8)


def option(kind):
    return Option("x", kind, None, "X", "help")


@given(st.lists(words, min_size=1, unique=True))
def test_names_are_read_alike_from_text_lists_and_repeated_options(names):
    for value in (", ".join(names), names, [",".join(names)]):
        assert _convert(option("names"), value, "here") == tuple(names)


@given(st.integers(0, 10**9))
def test_counts_are_read_from_text_and_numbers(number):
    assert _convert(option("count"), str(number), "here") == _convert(option("count"), number, "here") == number


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("count", "-1"), ("count", "2.5"), ("count", True), ("count", None),
        ("seconds", "nan"), ("seconds", "inf"), ("seconds", -1), ("names", "a,,b"), ("names", 3), ("names", [1]),
        ("text", ""), ("text", 3), ("flag", "yes"), ("flag", 1),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_a_usage_error_that_names_the_place(kind, value):
    with pytest.raises(pytest.UsageError, match=r"--here must be .*, got "):
        _convert(option(kind), value, "--here")


def test_every_option_has_help_and_a_metavar():
    for row in OPTIONS:
        assert row.help[0].isupper(), row.name
        assert not row.help.endswith("."), row.name
        assert row.metavar or row.kind == "flag", row.name


def test_a_wrong_name_is_answered_with_the_nearest_ones():
    assert unknown("task", "rotat", ["rotate", "twist"], "in vima") == (
        "unknown task 'rotat' in vima; did you mean 'rotate'? Known: rotate, twist"
    )
    assert unknown("task", "zzz", ["rotate"]) == "unknown task 'zzz'. Known: rotate"
