"""The driver's folder from afar: for who has the token, and no further than hunts go."""

import socket
import threading
import time
from contextlib import ExitStack, suppress

import pytest

from pytest_vla.hunt import far
from pytest_vla.hunt.far import Door, FarFolder, FarLedger, Line, Service
from pytest_vla.hunt.outcome import HuntError
from pytest_vla.hunt.place import Folder


class Remembers:
    """A ledger in memory."""

    kept: dict[str, set[str]]

    def __init__(self, kept, hunt):
        self.kept, self.hunt = kept, hunt

    def finds(self):
        return sorted(self.kept.get(self.hunt, ()))

    def update(self, mended, found):
        self.kept[self.hunt] = {*self.kept.get(self.hunt, ()), *found} - {*mended}


@pytest.fixture
def service(tmp_path):
    kept = {}
    (tmp_path / "secret").write_text("of the run folder")
    made = Service(Folder(tmp_path), ("hunts",), lambda hunt: Remembers(kept, hunt), "127.0.0.1")
    yield made
    made.close()


@pytest.fixture
def line(service):
    made = Line(service.door)
    yield made
    made.close()


def test_what_is_written_from_afar_is_a_file_here(line, tmp_path):
    place = FarFolder(line).within("hunts", "deeper")
    place.write("a=1,b.png", bytes(range(256)) * 1000)
    assert (tmp_path / "hunts/deeper/a=1,b.png").read_bytes() == bytes(range(256)) * 1000
    assert place.read("a=1,b.png") == bytes(range(256)) * 1000
    assert place.names() == ["a=1,b.png"]
    assert place.read("none") is None
    assert not place.remove("none")
    assert place.remove("a=1,b.png")
    assert place.names() == FarFolder(line).within("hunts", "nowhere").names() == []


def test_a_sign_of_life_is_seen(line):
    place = FarFolder(line).within("hunts")
    assert place.claim("leader")
    assert not place.claim("leader")
    time.sleep(0.2)
    assert place.age_s("leader") >= 0.2
    place.touch("leader")
    assert place.age_s("leader") < 0.2
    assert place.age_s("nobody") == 0


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ((), ("read", "secret")),
        (("hunts", ".."), ("read", "secret")),
        (("hunts", "."), ("names",)),
        (("hunts",), ("read", "")),
        (("hunts",), ("read", "../secret")),
        (("hunts",), ("rename", "a", "../secret")),
        (("hunts",), ("write", "/etc/motd", "")),
        (("elsewhere",), ("names",)),
        (("hunts",), ("within", "..")),
        (("hunts",), ("__class__",)),
        (("hunts",), ("read", 5)),
        (("hunts",), ("read",)),
    ],
)
def test_nothing_else_can_be_asked_and_the_next_question_is_answered(line, tmp_path, where, words):
    with pytest.raises(HuntError, match="the driver of this hunt says"):
        line.ask(words[0], where, *words[1:])
    assert (tmp_path / "secret").read_text() == "of the run folder"
    assert FarFolder(line).within("hunts").names() == []


@pytest.mark.parametrize("said", [b"\n", b"wrong\n", b'["names", ["hunts"]]\n', b"x" * 10_000, "ü\n".encode()])
def test_who_does_not_know_the_token_is_not_answered(service, said):
    with socket.create_connection((service.door.host, service.door.port), 5) as stranger:
        stranger.sendall(said + b'["names", ["hunts"]]\n')
        with suppress(ConnectionResetError):  # it had more to say than was read
            assert stranger.recv(100) == b""


def test_who_says_the_token_too_slowly_is_a_stranger(service, monkeypatch):
    monkeypatch.setattr(far, "GREETING_S", 0.3)
    with socket.create_connection((service.door.host, service.door.port), 5) as slow, suppress(OSError):
        begun = time.monotonic()
        for letter in service.door.token:
            slow.sendall(letter.encode())
            time.sleep(0.05)
        assert slow.recv(100) == b""
    assert time.monotonic() - begun < 3


def test_many_silent_strangers_are_few_threads_and_no_worker_waits_for_them(service):
    before = threading.active_count()
    with ExitStack() as stack:
        for _ in range(3 * far.MOST_STRANGERS):
            stack.enter_context(socket.create_connection((service.door.host, service.door.port), 5))
        honest = Line(service.door)
        assert FarFolder(honest).within("hunts").names() == []
        until = time.monotonic() + 5
        while threading.active_count() - before > far.MOST_STRANGERS + 1 and time.monotonic() < until:
            time.sleep(0.05)
        assert threading.active_count() - before <= far.MOST_STRANGERS + 1
        honest.close()


def test_a_silent_stranger_keeps_nobody_waiting(service):
    with socket.create_connection((service.door.host, service.door.port)):
        line = Line(service.door)
        assert FarFolder(line).within("hunts").names() == []
        line.close()


def test_the_ledger_is_that_of_the_driver(line):
    mine, other = FarLedger(line, "s/t/p"), FarLedger(line, "s/u/p")
    mine.update([], ["3 camera.yaw=2", "4 camera.yaw=3"])
    mine.update(["3 camera.yaw=2"], [])
    assert mine.finds() == ["4 camera.yaw=3"]
    assert other.finds() == []


def test_a_driver_that_is_gone_is_one_clear_message(service):
    line = Line(service.door)
    service.close()
    with pytest.raises(HuntError, match="cannot be reached"):
        Line(Door(service.door.host, service.door.port, ""))
    line.close()
    with pytest.raises(HuntError, match="is gone"):
        line.ask("names", ["hunts"])
