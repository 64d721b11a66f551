"""What stands between xdist and a worker on another node, before the worker is set up."""

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


def message(channel, text):
    return relay.HEADER.pack(4, channel, len(text)) + text


def dies_at_once(connection, spoken):
    """As with its node."""


def dies_after_its_greeting(connection, spoken):
    connection.sendall(b"1")
    spoken.readline()


def dies_when_it_said_what_it_is(connection, spoken):
    dies_after_its_greeting(connection, spoken)
    connection.sendall(message(1, b"Python, process 1") + message(1, b""))


def dies_in_the_middle_of_a_message(connection, spoken):
    dies_after_its_greeting(connection, spoken)
    connection.sendall(message(1, b"Python, process 1")[:15])


def works(connection, spoken):
    """Says what it is, and then the word it was sent."""
    connection.sendall(b"1")
    line = spoken.readline()
    for part in (message(1, b"Python, process 22")[:11], message(1, b"Python, process 22")[11:], message(1, b"")):
        connection.sendall(part)
    connection.sendall(message(3, line.upper()) + b"and so on")


def heard(process):
    """What xdist hears: the greeting, what the worker is, and the rest."""
    said = process.stdout.read()
    assert said[:1] == b"1"
    first = said[1:].index(message(1, b""))
    assert said[1:].count(message(1, b"")) == 1
    return said[1:][:first], said[1:][first + len(message(1, b"")) :]


LOST_EARLY = [dies_at_once, dies_after_its_greeting, dies_when_it_said_what_it_is, dies_in_the_middle_of_a_message]


@pytest.mark.parametrize(
    "first", [[], *([each] for each in LOST_EARLY), LOST_EARLY, [dies_when_it_said_what_it_is] * 2]
)
def test_a_worker_that_is_lost_before_it_is_set_up_is_another_one_that_is_told_the_same(start, first):
    process = start(*first, works)
    process.stdin.write(LINE)
    process.stdin.flush()
    what, rest = heard(process)
    assert what == message(1, b"Python, process 1" if dies_when_it_said_what_it_is in first else b"Python, process 22")
    assert rest == message(3, LINE.upper()) + b"and so on"
    assert process.wait(10) == 0


def test_one_that_is_set_up_and_is_lost_is_lost(start):
    process = start(works, works)
    process.stdin.write(LINE)
    process.stdin.flush()
    assert heard(process)[1] == message(3, LINE.upper()) + b"and so on"
    assert process.wait(10) == 0
