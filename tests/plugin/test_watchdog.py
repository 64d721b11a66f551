"""Stopped processes: a run waits for them no longer than for a step, and nobody is left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_vla.watchdog import Watchdog, state_of

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def children(process):
    found = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True).stdout
    return [int(word) for word in found.split()]


@pytest.fixture
def sleeper():
    process = subprocess.Popen(SLEEPER)
    yield process
    process.kill()
    process.wait()


def test_a_process_that_is_stopped_too_long_is_ended_and_one_that_works_is_not(sleeper):
    watchdog = Watchdog(limit=5.0)
    watchdog._since[sleeper.pid] = None
    watchdog.check(sleeper.pid, 0.0)
    sleeper.send_signal(signal.SIGSTOP)
    until(lambda: state_of(sleeper.pid) == "T")
    watchdog.check(sleeper.pid, 10.0)
    watchdog.check(sleeper.pid, 14.0)
    sleeper.send_signal(signal.SIGCONT)
    until(lambda: state_of(sleeper.pid) != "T")
    watchdog.check(sleeper.pid, 16.0)
    assert sleeper.poll() is None, "it was woken in time"
    sleeper.send_signal(signal.SIGSTOP)
    until(lambda: state_of(sleeper.pid) == "T")
    watchdog.check(sleeper.pid, 20.0)
    watchdog.check(sleeper.pid, 25.5)
    assert sleeper.wait(10) == -signal.SIGKILL
    assert watchdog.ended == [sleeper.pid]


def test_who_is_gone_is_forgotten():
    watchdog = Watchdog(limit=1.0)
    watchdog._since[2**22 + 1] = None
    watchdog.check(2**22 + 1, 0.0)
    assert not watchdog._since


@pytest.mark.slow
@pytest.mark.parametrize("who", ["worker", "server"])
def test_a_run_goes_on_when_a_worker_or_the_server_is_stopped(reach, who):
    command = [sys.executable, "-m", "pytest", "--vla-policy=bad:Slow", "--vla-episodes=6", "--vla-timeout=3", "-n2"]
    process = subprocess.Popen([*command, "--vla-run-dir=run"], cwd=reach.path, stdout=subprocess.PIPE, text=True)
    path = reach.path / "run" / "run.jsonl"
    until(lambda: path.exists() and path.read_text().count('"episode"') >= 2)
    names = {child: Path(f"/proc/{child}/cmdline").read_text() for child in children(process.pid)}
    victim = next(child for child, name in names.items() if ("inference.server" in name) == (who == "server"))
    os.kill(victim, signal.SIGSTOP)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == pytest.ExitCode.TESTS_FAILED
    assert path.read_text().count('"type": "episode"') == 24, output
    assert '"type": "end"' in path.read_text()


@pytest.mark.slow
def test_an_interrupt_of_the_controller_alone_leaves_nobody_running(reach):
    (reach.path / "stubborn.py").write_text(
        "import time\nimport pytest_vla as vla\n\n\nclass Stubborn(vla.Policy):\n"
        "    def act(self, observations, states):\n        time.sleep(600)\n"
    )
    command = [sys.executable, "-m", "pytest", "--vla-policy=stubborn:Stubborn", "-n2", "--vla-run-dir=run"]
    process = subprocess.Popen(command, cwd=reach.path, stdout=subprocess.DEVNULL, start_new_session=True)
    until(lambda: len(children(process.pid)) == 3 and (reach.path / "run" / "run.jsonl").exists())
    time.sleep(2)
    started = children(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == pytest.ExitCode.INTERRUPTED
    until(lambda: all(state_of(child) in (None, "Z") for child in started), 15)
