"""Writing a run file, and going on with one in whatever state it was left."""

import json
import resource

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_runs import FIRST, episode, plan, write

from pytest_vla.run import RunFileError, RunWriter, read_run


def test_a_resumed_file_goes_on_after_the_last_whole_line(tmp_path):
    path = write(tmp_path, plan(2), episode(0), episode(1))
    path.write_bytes(path.read_bytes()[:-20])
    writer = RunWriter.resume(path)
    writer.write(episode(1).to_record())
    writer.close()
    run = read_run(path)
    assert (len(run), run.damaged) == (2, ())


def test_a_run_is_never_written_over_another(tmp_path):
    path = write(tmp_path)
    with pytest.raises(RunFileError, match="exists already"):
        RunWriter.create(path, FIRST)


@settings(max_examples=100)
@given(st.integers(0, 400))
def test_resuming_cuts_off_a_half_written_line_and_nothing_else(tmp_path_factory, cut):
    path = write(tmp_path_factory.mktemp("run"), plan(2), episode(0), episode(1))
    whole = path.read_bytes()
    left = whole[: len(whole) - cut]
    path.write_bytes(left)
    RunWriter.resume(path).close()
    lines, ended = whole.splitlines(keepends=True), left.count(b"\n")
    if left + b"\n" == b"".join(lines[: ended + 1]):
        ended += 1  # only the newline was missing
    assert path.read_bytes() == b"".join(lines[:ended])


def test_a_long_last_line_without_its_newline_is_kept(tmp_path):
    long = {**episode(0).to_record(), "message": "é" * 200_000}
    path = write(tmp_path, plan(2), long)
    path.write_bytes(path.read_bytes()[:-1])
    RunWriter.resume(path).close()
    assert len(read_run(path)) == 1
    assert path.read_bytes().endswith(b"\n")


def test_provenance_without_its_newline_is_kept(tmp_path):
    path = write(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    writer = RunWriter.resume(path)
    writer.write(episode(0).to_record())
    writer.close()
    run = read_run(path)
    assert (len(run), run.damaged, run.provenance) == (1, (), FIRST)


@pytest.mark.parametrize("content", ["", "\n", "{", json.dumps(FIRST)[:30], "\0" * 64])
def test_a_beginning_that_a_full_disk_left_is_begun_again(tmp_path, content):
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    RunWriter.create(path, FIRST).close()
    assert read_run(path).provenance == FIRST


@pytest.mark.parametrize("content", ["hello", "hello\n", json.dumps(FIRST), json.dumps(FIRST)[:30] + "\n", "\n\nhello"])
def test_what_may_be_of_value_is_never_written_over(tmp_path, content):
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(RunFileError, match="exists already"):
        RunWriter.create(path, FIRST)
    assert path.read_text() == content


def test_a_disk_that_is_full_at_the_first_line_is_one_clear_message(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(RunFileError, match="cannot write the run file"):
            RunWriter.create(tmp_path / "run.jsonl", FIRST)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    RunWriter.create(tmp_path / "run.jsonl", FIRST).close()
    assert read_run(tmp_path).provenance == FIRST
