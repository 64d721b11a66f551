"""A run is found by its path, its folder, its name or its number."""

import json

import pytest
from made_up_runs import FIRST, episode, write

from pytest_vla.run import run_path
from pytest_vla.run.places import listed_runs


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Three runs, of which the last by name is the oldest; one says nothing of its age."""
    monkeypatch.chdir(tmp_path)
    for name, created in (("a", "2026-03-03"), ("b", "2026-02-02"), ("c", "2026-01-01"), ("7", "2026-04-04")):
        write(tmp_path / "vla-runs" / name, episode(0), first={**FIRST, "created": created})
    return tmp_path / "vla-runs"


def test_numbers_go_by_age(runs):
    assert [path.parent.name for path in listed_runs()] == ["c", "b", "a", "7"]
    assert [run_path(str(number)).parent.name for number in (1, 2, 3, 4)] == ["c", "b", "a", "7"]


def test_a_name_goes_before_a_number_and_what_is_neither_stays_what_was_typed(runs):
    assert run_path("7").parent.name == "7"
    assert run_path("b").parent.name == "b"
    for typed in ("0", "5", "nothing", "vla-runs/nothing", "-1"):
        assert str(run_path(typed)) == typed


def test_a_folder_and_a_file_are_themselves(runs):
    assert run_path("vla-runs/a") == run_path(runs.relative_to(runs.parent) / "a" / "run.jsonl")
    (runs.parent / "2").write_text("a file of this name goes before the number")
    assert str(run_path("2")) == "2"


def test_a_file_that_says_nothing_of_its_age_is_the_oldest(runs):
    for name, first in (("x", {**FIRST}), ("y", [])):
        (runs / name).mkdir()
        (runs / name / "run.jsonl").write_text(json.dumps(first) + "\n")
    assert [path.parent.name for path in listed_runs()] == ["x", "y", "c", "b", "a", "7"]


def test_without_runs_a_number_is_what_was_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(run_path("1")) == "1"
    assert listed_runs() == []
