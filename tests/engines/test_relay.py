"""What stands between xdist and a worker on another node, before the worker has answered anything."""

import json
import socket
import subprocess
import sys
import threading

import pytest

from pytest_vla.engines.ray import relay

LINE = b"import something\n"


@pytest.fixture
def start(tmp_path):
    """A relay whose cluster gives it these workers in turn, each a function of its connection."""
    started = []

    def start(*workers):
        door = socket.socket(socket.AF_UNIX)
        door.bind(str(tmp_path / "door"))
        door.listen()
        threading.Thread(target=give_places, args=(door, workers), daemon=True).start()
        command = [sys.executable, "-I", "-S", relay.__file__, str(tmp_path / "door"), "0", "-c", "pass"]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def give_places(door, workers):
    for worker in workers:
        asked, _ = door.accept()
        with asked, socket.create_server(("127.0.0.1", 0)) as seat:
            asked.makefile("r").readline()
            host, port = seat.getsockname()
            asked.sendall(json.dumps({"host": host, "port": port, "token": "t"}).encode() + b"\n")
            connection, _ = seat.accept()
            with connection:
                spoken = connection.makefile("rb")
                assert json.loads(spoken.readline())["arguments"] == ["-c", "pass"]
                worker(connection, spoken)
                connection.shutdown(socket.SHUT_RDWR)


def dies_at_once(connection, spoken):
    """As with its node."""


def dies_after_its_greeting(connection, spoken):
    connection.sendall(b"1")
    spoken.readline()


def works(connection, spoken):
    connection.sendall(b"1")
    connection.sendall(spoken.readline().upper())


@pytest.mark.parametrize("first", [[], [dies_at_once], [dies_after_its_greeting], [dies_at_once, dies_at_once]])
def test_a_worker_that_is_lost_before_it_answered_is_another_one_that_is_told_the_same(start, first):
    process = start(*first, works)
    process.stdin.write(LINE)
    process.stdin.flush()
    assert process.stdout.read() == b"1" + LINE.upper()
    assert process.wait(10) == 0


def test_one_that_answered_and_is_lost_is_lost(start):
    process = start(works, works)
    process.stdin.write(LINE)
    process.stdin.flush()
    assert process.stdout.read() == b"1" + LINE.upper()
    assert process.wait(10) == 0
