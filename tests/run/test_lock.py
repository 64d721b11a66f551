"""A run folder belongs to one process at a time."""

import json
import os
import signal
import subprocess
import sys

import pytest

from pytest_vla.run import RunFileError
from pytest_vla.run.lock import LOCK_NAME, RunLock, is_held

HOLD = """
import sys, time
from pathlib import Path
from pytest_vla.run.lock import RunLock
lock = RunLock.take(Path(sys.argv[1]))
print("taken", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "taken\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_is_told_who_has_the_folder_and_since_when(tmp_path, holder):
    with pytest.raises(RunFileError, match=rf"in use by process {holder.pid} on \S+ since 20\d\d-\d\d-\d\d \d\d:\d\d:"):
        RunLock.take(tmp_path)


def test_a_killed_process_leaves_the_folder_free(tmp_path, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (tmp_path / LOCK_NAME).exists()
    RunLock.take(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_a_released_folder_can_be_taken_again(tmp_path):
    for _ in range(2):
        lock = RunLock.take(tmp_path)
        with pytest.raises(RunFileError, match=f"process {os.getpid()} "):
            RunLock.take(tmp_path)
        lock.release()
        lock.release()


def test_a_lock_that_says_nothing_of_itself_still_holds(tmp_path):
    lock = RunLock.take(tmp_path)
    (tmp_path / LOCK_NAME).write_text("")
    with pytest.raises(RunFileError, match="in use by another process"):
        RunLock.take(tmp_path)
    lock.release()


def test_a_folder_that_cannot_be_written_in_is_one_clear_message(tmp_path):
    with pytest.raises(RunFileError, match="cannot write the run file"):
        RunLock.take(tmp_path / "nowhere")


def test_whether_a_folder_is_held_is_seen_without_taking_it(tmp_path, holder):
    assert is_held(tmp_path)
    assert is_held(tmp_path)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (tmp_path / LOCK_NAME).exists()
    assert not is_held(tmp_path)
    assert not is_held(tmp_path / "nowhere")
    RunLock.take(tmp_path).release()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files as Linux shows them")
def test_nothing_stays_open(tmp_path, holder):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        is_held(tmp_path)
        with pytest.raises(RunFileError):
            RunLock.take(tmp_path)
    holder.kill()
    holder.wait()
    RunLock.take(tmp_path).release()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_longer_note_of_somebody_before_is_gone(tmp_path):
    (tmp_path / LOCK_NAME).write_text("x" * 10_000)
    lock = RunLock.take(tmp_path)
    assert json.loads((tmp_path / LOCK_NAME).read_text())["pid"] == os.getpid()
    lock.release()
