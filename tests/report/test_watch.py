"""A run can be followed while it grows, and its running rates are never too good."""

import json
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.cli import main
from pytest_vla.report.live import PrefixRate
from pytest_vla.report.running import Block, RunningRates
from pytest_vla.report.watch import Progress, Tail
from pytest_vla.run import Record
from pytest_vla.run.lock import RunLock


def episode(index, outcome="solved", partition="seen", **more):
    reason = {"unsolved": "step_limit", "error": "env_error"}.get(outcome)
    key = {"suite": "s", "task": "t", "partition": partition, "index": index, "perturbation": "", "repeat": 0}
    return {"type": "episode", **key, "outcome": outcome, "reason": reason, **more}


def records(*lines):
    return [Record.from_record(line) for line in lines]


def test_a_rate_waits_for_the_episodes_before_it():
    rates = RunningRates()
    for record in records(episode(1), episode(2)):
        rates.add(record)
    assert rates.rows() == [("s", "seen", 0, 0)]
    rates.add(*records(episode(0, "unsolved")))
    assert rates.rows() == [("s", "seen", 2, 3)]


@given(st.permutations(range(12)), st.lists(st.sampled_from(["solved", "unsolved", "error"]), min_size=12, max_size=12))
def test_the_running_rate_follows_episode_order_not_arrival(order, outcomes):
    rate = PrefixRate()
    arrived = set()
    for index in order:
        rate.add(*records(episode(index, outcomes[index])), first=0)
        arrived.add(index)
        prefix = next(i for i in range(13) if i not in arrived)
        assert rate.measured == sum(o != "error" for o in outcomes[:prefix])
        assert rate.solved == sum(o == "solved" for o in outcomes[:prefix])


def test_partitions_and_perturbed_episodes_are_counted_apart():
    found = records(
        episode(0),
        episode(0, "unsolved", "unseen"),
        episode(0, perturbation="camera.yaw=3"),
        episode(0, repeat=1),
    )
    assert RunningRates(records=found).rows() == [
        ("s", "seen", 1, 1),
        ("s", "unseen", 0, 1),
        ("s", "seen, perturbed", 1, 1),
    ]


def test_a_repeat_that_ends_first_does_not_stand_for_its_episode():
    rates = RunningRates(records=records(episode(0, "unsolved", repeat=1), episode(0), episode(0, repeat=2)))
    assert rates.rows() == [("s", "seen", 1, 1)]


def test_lines_carry_intervals_and_fit_the_window():
    rates = RunningRates(records=records(*(episode(i, partition="a_long_name_of_a_partition") for i in range(9))))
    assert rates.lines(100) == ["  s a_long_name_of_a_partition  100.0% [70, 100]  9 of 9"]
    assert all(len(line) <= 50 for line in rates.lines(50))


def test_a_block_is_drawn_over_itself_and_leaves_other_output_alone():
    class Writer(StringIO):
        def write(self, text, flush=False):
            return super().write(text)

    out = Writer()
    block = Block(out)
    block.show(["one", "two"])
    out.write("a warning\n")
    block.show(["three"])
    block.clear()
    assert screen(out.getvalue()) == ["a warning", ""]


def screen(text):
    """What a terminal shows after the few codes a block uses."""
    lines, row, column, place = [""], 0, 0, 0
    while place < len(text):
        rest = text[place:]
        if rest.startswith("\x1b[J"):
            lines[row] = lines[row][:column]
            del lines[row + 1 :]
            place += 3
        elif rest.startswith("\x1b["):
            count, _, _ = rest[2:].partition("A")
            row -= int(count)
            place += 3 + len(count)
        elif rest[0] == "\r":
            column = 0
            place += 1
        elif rest[0] == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
            place += 1
        else:
            lines[row] = lines[row][:column].ljust(column) + rest[0] + lines[row][column + 1 :]
            column += 1
            place += 1
    return lines


def test_a_tail_reads_only_whole_lines_and_each_once(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text('{"type": "plan", "episodes": 2}\n{"type": "epi')
    tail = Tail(path)
    assert [record["type"] for record in tail.read()] == ["plan"]
    with path.open("a") as file:
        file.write('sode"}\nnot json\n')
    assert [record["type"] for record in tail.read()] == ["episode"]
    assert (list(tail.read()), tail.damaged) == ([], 1)


def test_progress_tells_speed_and_time_left():
    progress = Progress()
    progress.add([{"type": "plan", "episodes": 20}, episode(0)], now=10.0)
    progress.add([episode(index) for index in range(1, 11)], now=20.0)
    assert progress.headline() == "11 of 20 episodes · 1.00 episodes/s · ETA 00:09 · going on"
    progress.add([episode(10, "error"), {"type": "end", "episodes": 11}], now=20.0)
    assert "1 errors" in progress.headline()
    assert progress.headline().endswith("ended")


def test_watch_shows_a_finished_run_and_ends(in_camera_folder, capsys):
    assert main(["watch", "run"]) == 0
    shown = capsys.readouterr().out
    assert "24 of 24 episodes" in shown
    assert "60.0%" in shown
    assert "env_error" in shown


def test_watch_of_no_run_is_one_clear_line(tmp_path, capsys):
    assert main(["watch", str(tmp_path / "nothing")]) == 4
    assert "cannot read the run file" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["[1, 2]", "null", json.dumps({"no": "type"})])
def test_a_line_that_is_no_record_is_counted_as_damaged(tmp_path, line):
    path = tmp_path / "run.jsonl"
    path.write_text(line + "\n")
    tail = Tail(path)
    assert (list(tail.read()), tail.damaged) == ([], 1)


def test_a_run_that_was_killed_is_neither_ended_nor_going_on(tmp_path, capsys):
    lines = [{"type": "run", "policy": {"text": "oracle"}}, episode(0)]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["watch", str(tmp_path), "--once"]) == 0
    assert "stopped before its end: --vla-resume goes on" in " ".join(capsys.readouterr().out.split())
    lock = RunLock.take(tmp_path)
    assert main(["watch", str(tmp_path), "--once"]) == 0
    assert "going on" in capsys.readouterr().out
    lock.release()


def test_a_pause_before_a_resumed_run_counts_in_no_speed():
    progress = Progress()
    progress.add([episode(0)], 0.0)
    progress.add([episode(1)], 1.0)
    assert progress.speed() == 1.0
    progress.add([], 2.0, is_written=False)
    assert "ETA" not in progress.headline()
    progress.add([], 50.0)
    progress.add([episode(2)], 51.0)
    assert progress.speed() == 1.0
