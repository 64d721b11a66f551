"""A line of the run file and the value behind it are the same thing."""

import json

import pytest
from hypothesis import given
from made_up_runs import keys, outcomes, records, results

from pytest_vla.episode import ERROR_REASONS, UNSOLVED_REASONS, EpisodeError, EpisodeKey, Result
from pytest_vla.run import Record
from pytest_vla.run.record import alike, gist, key_from_list, key_to_list

KEY = EpisodeKey("dice", "push", "L1", 0)


@given(results())
def test_a_result_reads_back_as_it_was(result):
    line = json.loads(json.dumps(result.to_record()))
    again = Result.from_record(line)
    assert again == result
    assert again.episode.version == result.episode.version
    assert again.to_record() == line


@given(records())
def test_a_record_reads_back_as_it_was(record):
    line = json.loads(json.dumps(record.to_record()))
    again = Record.from_record(line)
    assert again.to_record() == line
    assert (again.key, again.planned, again.test, again.kind) == (record.key, record.planned, record.test, record.kind)


@given(keys)
def test_a_key_inside_another_line_reads_back(key):
    assert key_from_list(json.loads(json.dumps(key_to_list(key)))) == key


@given(outcomes)
def test_exactly_one_of_solved_unsolved_and_error_holds(outcome):
    record = Record(Result(KEY, *outcome))
    assert (record.solved, record.measured) == (outcome[0] == "solved", outcome[0] != "error")


def test_an_older_line_without_a_verdict_of_the_test_has_that_of_its_outcome():
    for outcome, reason, test in (("solved", None, "passed"), ("unsolved", "step_limit", "failed")):
        line = Result(KEY, outcome, reason).to_record()
        assert Record.from_record(line).test == test


def test_only_a_solved_episode_of_a_failed_test_can_be_objected_to():
    assert Record(Result(KEY, "solved"), test="failed", objection="AssertionError: no").objected
    assert not Record(Result(KEY, "solved")).objected
    assert not Record(Result(KEY, "solved"), test="failed").objected, "another rollout of the test was unsolved"
    with pytest.raises(ValueError, match="objection"):
        Record(Result(KEY, "unsolved", "step_limit"), test="failed", objection="AssertionError: no")


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("solved", "step_limit"),
        ("unsolved", None),
        ("unsolved", "timeout"),
        ("unsolved", "invalid start byte"),
        ("error", "step_limit"),
        ("error", None),
        ("lost", None),
    ],
)
def test_a_reason_is_one_of_those_its_outcome_can_have(outcome, reason):
    with pytest.raises(ValueError, match="reasons"):
        Result(KEY, outcome, reason)


def test_an_episode_error_has_a_reason_of_the_list():
    for reason in ERROR_REASONS:
        assert EpisodeError(reason, "so").reason == reason
    for reason in (*UNSOLVED_REASONS, "invalid start byte"):
        with pytest.raises(ValueError, match="one of"):
            EpisodeError(reason, "so")


@pytest.mark.parametrize(
    "change",
    [
        {"suite": None},
        {"suite": 3},
        {"index": -1},
        {"index": "0"},
        {"index": True},
        {"index": 1.5},
        {"repeat": None},
        {"steps": -1},
        {"progress": float("nan")},
        {"progress": "half"},
        {"seconds": float("inf")},
        {"timings": [1]},
        {"timings": {"act": "long"}},
        {"made_with": "egl"},
        {"actions": 5},
        {"curve": {}},
        {"outcome": "won"},
        {"reason": "bad luck"},
        {"message": 5},
        {"test": "maybe"},
        {"type": "hunt"},
        {"nodeid": 7},
        {"objection": 7},
        {"item": ["dice", "push"]},
        {"item": ["dice", "push", "L1", "0", "", 0]},
    ],
)
def test_a_line_that_we_would_not_write_is_refused(change):
    line = {**Record(Result(KEY, "solved"), "test.py::t[x]").to_record(), **change}
    with pytest.raises(ValueError):
        Record.from_record(line)


def test_a_line_without_its_key_is_refused():
    line = Record(Result(KEY, "solved")).to_record()
    for name in ("suite", "task", "partition", "index", "outcome"):
        with pytest.raises(ValueError, match=name):
            Record.from_record({key: value for key, value in line.items() if key != name})


@given(records())
def test_the_text_of_a_line_is_its_record(record):
    assert json.loads(record.to_text()) == json.loads(json.dumps(record.to_record()))


def test_letters_of_all_languages_are_written_as_they_are():
    for kind in ("episode", "probe"):
        record = Record(Result(EpisodeKey("s", "t", "p", 0), "solved", message="größer"), "日本", kind=kind)
        assert "größer" in record.to_text()
        assert "日本" in record.to_text()


def test_a_line_without_a_type_is_an_episode():
    line = Record(Result(EpisodeKey("s", "t", "p", 0), "solved")).to_record()
    del line["type"]
    assert Record.from_record(line).kind == "episode"


TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3\n\nValueError: no 5\n'


@pytest.mark.parametrize(
    ("message", "said", "pattern"),
    [
        ("", "", ""),
        (" \n \n", "", ""),
        ("one\n\n two ", "one", "one"),
        (TRACE, "ValueError: no 5", "ValueError: no #"),
        ("tilts by -3.5e-2 degrees and 7", "tilts by -3.5e-2 degrees and 7", "tilts by # degrees and #"),
    ],
)
def test_what_a_message_comes_to(message, said, pattern):
    assert gist(message) == said
    assert alike(message) == pattern
