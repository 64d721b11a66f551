"""Run files, written and read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.report.runfile import Run, RunFileError, RunWriter, merge_runs, read_run, write_run

FIRST = {"type": "run", "policy": {"text": "p", "digest": "d"}}


def episode(index=0, outcome="solved", task="t", partition="p", **more):
    record = {"type": "episode", "suite": "s", "task": task, "partition": partition, "index": index, "version": "1"}
    return {**record, "perturbation": "", "outcome": outcome, "reason": None, "digest": "x", **more}


def run(*records, digest="d"):
    return Run("run", {"policy": {"digest": digest}}, list(records))


def test_what_is_written_is_read_back(tmp_path):
    write_run(tmp_path / "run.jsonl", FIRST, [episode(0), episode(1, "unsolved")])
    back = read_run(tmp_path)
    assert back.provenance == FIRST
    assert back.episodes == [episode(0), episode(1, "unsolved")]
    assert (back.plan, back.ended, back.damaged) == (2, True, [])


def test_every_line_is_on_disk_as_soon_as_it_is_written(tmp_path):
    writer = RunWriter.create(tmp_path / "run.jsonl", FIRST)
    writer.write(episode(0))
    assert len(read_run(tmp_path).episodes) == 1
    assert not read_run(tmp_path).ended


@given(cut=st.integers(1, 40))
def test_resuming_cuts_off_a_half_written_line_and_nothing_else(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    write_run(path, FIRST, [episode(0)])
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type": "episode", "suite": "somewhere else"}'[:cut])
    RunWriter.resume(path).close()
    assert path.read_bytes() == whole


def test_merging_prefers_a_measurement_over_an_error():
    lost = episode(0, "error", reason="worker_lost")
    for runs in ([run(lost), run(episode(0))], [run(episode(0)), run(lost)]):
        assert merge_runs(runs)[1] == [episode(0)]


def test_merging_refuses_what_cannot_be_one_run():
    with pytest.raises(RunFileError, match="different policies"):
        merge_runs([run(episode(0)), run(episode(1), digest="other")])
    with pytest.raises(RunFileError, match="has version 1 in one run and 2"):
        merge_runs([run(episode(0)), run(episode(1, version="2"))])
    with pytest.raises(RunFileError, match=r"solved in .* and unsolved in"):
        merge_runs([run(episode(0)), run(episode(0, "unsolved"))])
