"""Values of options, by property; and the settings they make up."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.command_line import read_value
from pytest_vla.options import OPTIONS, RENAMED, Option, Settings
from pytest_vla.suggest import unknown

BASELINE = Path(__file__).parents[2] / "fixtures" / "baselines" / "vima_cross" / "run.jsonl"
words = st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=8)


def option(kind):
    return Option("x", kind, None, "X", "help")


@given(st.lists(words, min_size=1, unique=True))
def test_names_are_read_alike_from_text_lists_and_repeated_options(names):
    for value in (", ".join(names), names, [",".join(names)]):
        assert read_value(option("names"), value, "here") == tuple(names)


@given(st.integers(0, 10**9))
def test_counts_are_read_from_text_and_numbers(number):
    assert read_value(option("count"), str(number), "here") == read_value(option("count"), number, "here") == number


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
        read_value(option(kind), value, "--here")


def test_every_option_has_help_and_a_metavar():
    for row in OPTIONS:
        assert row.help[0].isupper(), row.name
        assert not row.help.endswith("."), row.name
        assert row.metavar or row.kind == "flag", row.name


def test_no_two_groups_have_an_option_of_the_same_name():
    names = [option.key for option in OPTIONS]
    assert sorted(set(names)) == sorted(names)
    assert set(Settings().to_dict()) == {*names, "gate_table", "conventions"}


def test_settings_read_back_from_the_run_file_as_they_were():
    given = {"suite": ("vima",), "horizon": 4, "axes": ("camera",), "baseline": "main", "keep_actions": True}
    settings = Settings.from_dict({**given, "gate_table": {"by": "task"}})
    assert Settings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    assert settings.to_dict() == {**Settings().to_dict(), **given, "gate_table": {"by": "task"}}
    assert (settings.gate.gating, settings.report.taping, settings.robustness.perturbing) == (True, True, False)


def test_a_run_file_with_old_names_is_read():
    with BASELINE.open() as file:
        recorded = json.loads(file.readline())["options"]
    new = {name.replace("-", "_") for name in RENAMED.values()}
    older = {name: value for name, value in recorded.items() if name not in new}
    settings = Settings.from_dict({**older, "budget": 7, "actions": True})
    assert (settings.gate.max_episodes, settings.report.keep_actions) == (7, True)
    assert (settings.run.suite, settings.gate.gate_table["by"]) == (("vima",), "partition")


def test_a_new_name_is_an_option_and_an_old_one_is_not():
    names = {option.name for option in OPTIONS}
    assert set(RENAMED.values()) <= names
    assert not set(RENAMED) & names


def test_a_wrong_name_is_answered_with_the_nearest_ones():
    assert unknown("task", "rotat", ["rotate", "twist"], "in vima") == (
        "unknown task 'rotat' in vima; did you mean 'rotate'? Known: rotate, twist"
    )
    assert unknown("task", "zzz", ["rotate"]) == "unknown task 'zzz'. Known: rotate"
