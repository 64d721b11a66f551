"""Run files, written and read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.report.live import PrefixRate
from pytest_vla.report.runfile import Run, RunFileError, RunWriter, key_of, merge_runs, read_run, write_run
from pytest_vla.report.table import Tally, format_tally, partition_rows, replay_command, summary_lines, summary_rows

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


@given(st.permutations(range(12)), st.lists(st.sampled_from(["solved", "unsolved", "error"]), min_size=12, max_size=12))
def test_the_running_rate_follows_episode_order_not_arrival(order, outcomes):
    rate = PrefixRate()
    arrived = set()
    for index in order:
        rate.add(episode(index, outcomes[index]), first=0)
        arrived.add(index)
        prefix = next(i for i in range(13) if i not in arrived)
        assert rate.measured == sum(o != "error" for o in outcomes[:prefix])
        assert rate.solved == sum(o == "solved" for o in outcomes[:prefix])


def test_errors_stand_beside_the_rate_and_never_inside():
    tally = Tally.of([episode(0), episode(1, "unsolved"), episode(2, "error")])
    assert (tally.rate, tally.measured, tally.errors) == (0.5, 2, 1)
    assert format_tally(Tally.of([episode(0, "error")])) == ("-", "-", "0", "1")


@pytest.mark.parametrize(
    ("solved", "n", "low", "high"), [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634)]
)
def test_the_interval_is_wilsons(solved, n, low, high):
    assert Tally(solved, n).interval() == pytest.approx((low, high), abs=1e-4)


def test_the_table_has_a_row_per_cell_and_one_per_partition():
    records = [episode(i, task=t, partition=p) for t in ("b", "a") for p in ("x", "y") for i in range(2)]
    assert [row[:2] for row in summary_rows(records)] == [("s/a", "x"), ("s/a", "y"), ("s/b", "x"), ("s/b", "y")]
    assert [(*row[:2], row[4]) for row in partition_rows(records)] == [("s", "x", "4"), ("s", "y", "4")]


def test_the_replay_command_can_be_pasted_into_a_shell():
    record = episode(3, perturbation="camera.yaw=3")
    assert replay_command("my runs/run.jsonl", record) == "pytest-vla replay 'my runs/run.jsonl' s/t-p-03-camera.yaw=3"
    assert key_of(record) == ("s", "t", "p", 3, "camera.yaw=3", 0)


@pytest.mark.parametrize("width", [80, 200])
def test_many_axes_off_neutral_leave_room_for_the_numbers(width):
    axes = ",".join(f"camera.axis{number}={number}" for number in range(20))
    records = [episode(index, perturbation=axes) for index in range(40)]
    lines = summary_lines(records, "run.jsonl", None, width, False)
    assert sum("100.0%  " in line and "[91, 100]" in line for line in lines) == 1
    assert all(f"camera.axis{number}={number}" in "\n".join(lines) for number in range(20))
