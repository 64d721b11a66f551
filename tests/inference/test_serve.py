"""`pytest-vla serve` among well-behaved, broken and hostile peers."""

import io
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from pytest_vla.cli import main
from pytest_vla.policies import load_policy
from pytest_vla.policies.wire import WireError, pack_message, pack_tree, unpack_message, unpack_tree

FOLDER = Path(__file__).parent
PATIENCE_S = 60  # no test waits that long unless the machine is busy or the server broken


class Served:
    """A `pytest-vla serve` process."""

    FOLDER = FOLDER

    def __init__(self, policy, *arguments, token=""):
        environment = {**os.environ, "PYTHONPATH": str(FOLDER), "PYTEST_VLA_TOKEN": token}
        command = [sys.executable, "-m", "pytest_vla.cli", "serve", f"served:{policy}", "--port=0", *arguments]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split(" on ")[1].split()[0]
        self.port = int(self.url.rpartition(":")[2])

    def talk(self, **options):
        return connect(self.url, compression=None, ping_interval=None, **options)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def echo():
    server = Served("Moody")
    yield server
    server.end()


def exchange(connection, number, x, kind="observation"):
    connection.send(pack_message(kind, {"images": {}, "state": {"x": np.array([x])}}, number))
    return unpack_message(connection.recv(PATIENCE_S))


def closes(connection):
    """Whether the server ends this connection; what it said before that does not count."""
    with suppress(ConnectionClosed):
        for _ in range(3):
            connection.recv(PATIENCE_S)
        return False
    return True


def is_serving(server):
    with server.talk() as connection:
        kind, payload, number = exchange(connection, 7, 5.0)
    return (kind, number, payload["actions"][0]) == ("action", 7, 5.0)


def test_a_vla_eval_client_gets_hello_and_actions_with_its_numbers(echo):
    with echo.talk() as connection:
        connection.send(pack_message("hello", {"harness_version": "0.8.0", "protocol_version": 1}, 1))
        kind, payload, number = unpack_message(connection.recv(PATIENCE_S))
        assert (kind, number, payload["protocol_version"]) == ("hello", 1, 1)
        connection.send(pack_message("episode_start", {"task": {"name": "t", "episode_idx": 4}}, 2))
        kind, payload, number = exchange(connection, 3, 8.0)
        assert (kind, number) == ("action", 3)
        assert payload["actions"][:3].tolist() == [8, 4, 1]


def test_an_openpi_client_hears_metadata_first_and_gets_a_chunk(echo):
    with echo.talk() as connection:
        assert unpack_tree(connection.recv(PATIENCE_S))["policy"] == "served:Moody"
        connection.send(pack_tree({"observation/x": np.array([3.0]), "prompt": "go"}))
        assert unpack_tree(connection.recv(PATIENCE_S))["actions"][:, 0].tolist() == [3]


def test_an_error_of_the_policy_is_an_error_message_and_the_connection_goes_on(echo):
    with echo.talk() as connection:
        kind, payload, number = exchange(connection, 1, -1.0)
        assert (kind, number) == ("error", 1)
        assert "the model fell over" in payload["error"]
        assert exchange(connection, 2, 6.0)[0] == "action"


def test_chunks_are_executed_in_the_server_for_vla_eval_clients():
    server = Served("Plan")
    try:
        with server.talk() as connection:
            got = []
            for step in range(5):
                connection.send(pack_message("observation", {"states": np.array([float(step)])}, step + 1))
                got.append(unpack_message(connection.recv(PATIENCE_S))[1]["actions"].tolist())
        assert got == [[0, 0], [0, 1], [0, 2], [3, 0], [3, 1]]
    finally:
        server.end()


def test_parts_of_an_observation_can_be_renamed():
    server = Served("Moody", "--map", "state.x=robot.joints", "--protocol=vla-eval")
    try:
        with server.talk() as connection:
            connection.send(pack_message("observation", {"robot": {"joints": np.array([9.0])}}, 1))
            assert unpack_message(connection.recv(PATIENCE_S))[1]["actions"][0] == 9
            connection.send(pack_message("observation", {"robot": {}}, 2))
            kind, payload, _ = unpack_message(connection.recv(PATIENCE_S))
            assert kind == "error"
            assert "no 'robot.joints'" in payload["error"]
    finally:
        server.end()


@pytest.mark.parametrize(
    "frame",
    [
        b"\xc1 this is not msgpack",
        pack_tree({"type": "observation"}),
        pack_message("dance", {}, 1),
        pack_tree({"type": "observation", "payload": [1, 2], "seq": 1, "timestamp": 0.0}),
        pack_tree({"__ndarray__": True, "data": b"1", "dtype": "<f8", "shape": [99]}),
        "a text frame",
    ],
    ids=range(6),  # their bytes hold the time of day
)
def test_a_frame_that_is_no_message_ends_that_connection_only(echo, frame):
    with echo.talk() as other, echo.talk() as broken:
        assert exchange(other, 1, 1.0)[0] == "action"
        broken.send(frame)
        assert closes(broken)
        assert exchange(other, 2, 2.0)[0] == "action"


@pytest.mark.parametrize(
    "payload",
    [
        {"state": {"x": "text"}},
        {"state": {"x": np.zeros((0,))}},
        {"images": 7, "state": {}},
        {"state": {"x": [None, {"deep": []}]}},
    ],
)
def test_wrong_types_are_an_error_of_that_request_only(echo, payload):
    with echo.talk() as connection:
        connection.send(pack_message("observation", payload, 1))
        kind, _, number = unpack_message(connection.recv(PATIENCE_S))
        assert (kind, number) == ("error", 1)
        assert exchange(connection, 2, 2.0)[0] == "action"


def test_an_oversized_frame_is_refused(echo):
    with echo.talk() as connection:
        with suppress(ConnectionClosed):  # it may be refused while it is still being sent
            connection.send(b"\0" * (65 << 20))
        assert closes(connection)
    assert is_serving(echo)


def test_peers_that_say_nothing_or_trickle_hold_up_nobody(echo):
    silent = [socket.create_connection(("127.0.0.1", echo.port)) for _ in range(20)]
    for number, sock in enumerate(silent):
        sock.sendall(b"GET / HTTP/1.1\r\n"[: number % 16])
    half = echo.talk()
    with half as connection:
        connection.socket.sendall(b"\x82\xfe\xff\xff")  # the beginning of a frame that never comes
        assert is_serving(echo)
        connection.socket.close()
    for sock in silent:
        sock.close()


def test_a_server_with_a_token_answers_nobody_without_it():
    server = Served("Moody", token="secret")
    try:
        for headers in ({}, {"Authorization": "Api-Key wrong"}, {"Authorization": "Bearer "}):
            with pytest.raises(InvalidStatus) as raised, server.talk(additional_headers=headers):
                pass
            assert raised.value.response.status_code == 401
        with server.talk(additional_headers={"Authorization": "Api-Key secret"}) as connection:
            assert exchange(connection, 1, 1.0)[0] == "action"
        with connect(f"{server.url}/?token=secret", compression=None) as connection:
            assert exchange(connection, 1, 1.0)[0] == "action"
    finally:
        server.end()


@pytest.mark.parametrize(("path", "body"), [("/health", b'{"status": "ok"}'), ("/healthz", b"OK\n")])
def test_both_health_checks_answer(echo, path, body):
    with urllib.request.urlopen(f"http://127.0.0.1:{echo.port}{path}") as reply:
        assert reply.read() == body


def test_the_network_is_not_served_without_a_token(capsys, monkeypatch):
    monkeypatch.delenv("PYTEST_VLA_TOKEN", raising=False)
    assert main(["serve", "bad:Slow", "--host=0.0.0.0"]) == 4
    assert "open to the network" in capsys.readouterr().err


@pytest.mark.parametrize("policy", ["oracle", "random", "noop"])
def test_a_policy_that_needs_the_environment_cannot_be_served(capsys, policy):
    assert main(["serve", policy]) == 4
    assert "needs the environment" in capsys.readouterr().err


@pytest.mark.parametrize("protocol", ["vla-eval", "openpi"])
def test_a_server_of_ours_tells_which_policy_it_has_and_stays_unverified(monkeypatch, protocol):
    told = []
    for weight in ("0.1", "0.9"):
        monkeypatch.setenv("WEIGHT", weight)
        server = Served("Weighted", f"--protocol={protocol}")
        try:
            source = load_policy(f"{server.url}?protocol={protocol}")
        finally:
            server.end()
        assert not source.verified
        told.append(source.digest.rpartition(":")[2])
    assert told[0] != told[1]


def test_actions_of_several_parts_go_as_one_vector_in_both_protocols():
    server = Served("Parts")
    try:
        with server.talk() as connection:
            _, payload, _ = exchange(connection, 1, 5.0)
            assert payload["actions"].tolist() == [0, 5, 5]
        with server.talk() as connection:
            unpack_tree(connection.recv(PATIENCE_S))
            connection.send(pack_tree({"observation/x": np.array([5.0]), "prompt": "go"}))
            assert unpack_tree(connection.recv(PATIENCE_S))["actions"].tolist() == [[0, 5, 5]] * 3
    finally:
        server.end()


def picture(width, height):
    """A picture of a few bytes that is large when it is opened, as a vla-eval client may send one."""
    buffer = io.BytesIO()
    Image.new("RGB", (width, height)).save(buffer, "PNG", compress_level=9)
    return {"__image__": True, "format": "png", "data": buffer.getvalue(), "shape": [height, width, 3]}


def hostile_message(*pictures):
    payload = {"images": {f"c{number}": each for number, each in enumerate(pictures)}, "state": {"x": np.array([1.0])}}
    return pack_message("observation", payload, 1)


def test_a_page_of_another_origin_gets_no_action(echo):
    for header in ({"Origin": "http://evil.example"}, {"Origin": "null"}):
        with pytest.raises(InvalidStatus, match="403"), echo.talk(additional_headers=header):
            pass


def test_a_name_that_was_made_to_lead_here_gets_no_action(echo):
    with socket.create_connection(("127.0.0.1", echo.port)) as raw:
        raw.sendall(
            b"GET / HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        assert b"403" in raw.recv(200)
    assert is_serving(echo)


def test_pictures_that_are_larger_than_a_message_may_be_are_refused_unopened(echo):
    with echo.talk() as connection:
        connection.send(hostile_message(picture(8000, 8000)))
        assert closes(connection)
    with echo.talk() as connection:
        connection.send(hostile_message(*[picture(2000, 2000)] * 8))
        assert closes(connection)
    assert is_serving(echo)


def test_a_large_picture_of_one_client_holds_up_no_other():
    heavy = hostile_message(*[picture(2500, 2500)])
    server = Served("Moody", "--observation-mb=32")
    with ExitStack() as stack:
        stack.callback(server.end)
        honest = stack.enter_context(server.talk())
        assert exchange(honest, 7, 5.0)[0] == "action"
        for _ in range(12):
            stack.enter_context(server.talk()).send(heavy)
        start = time.monotonic()
        assert exchange(honest, 8, 5.0)[0] == "action"
        assert time.monotonic() - start < 1.5, "twelve of them take seconds to read"


def test_half_sent_messages_hold_no_more_than_their_share():
    from pytest_vla.inference.intake import Intake

    class Fake:
        aborted = False
        remote_address = ("10.0.0.1", 1)

        @property
        def transport(self):
            return self

        def abort(self):
            self.aborted = True

    intake, clients = Intake(most=1000), [Fake() for _ in range(4)]
    for client, size in zip(clients, (400, 100, 300, 150), strict=True):
        intake.arrived(client, size)
    intake.arrived(clients[1], 100)
    assert [client.aborted for client in clients] == [True, False, False, False], "who holds most goes"
    intake.settled(clients[2])
    intake.arrived(clients[3], 600)
    assert not clients[3].aborted, "what was read counts no more"
    slow = Intake(longest=0.0)
    for client, size in ((clients[1], 100_000), (clients[2], 100)):
        slow.arrived(client, size)
    time.sleep(0.01)
    slow.sweep()
    assert clients[1].aborted, "a message must arrive in time"
    assert not clients[2].aborted, "signs of life between messages are no message"


@pytest.mark.parametrize(
    "payload",
    [
        {"deep": [[0] * 40_000 for _ in range(6)]},
        {"wide": list(range(60_000))},
        {"array": {"__ndarray__": True, "data": b"", "dtype": "O", "shape": [1]}},
    ],
)
def test_messages_of_too_many_parts_are_refused(payload):
    with pytest.raises(WireError):
        unpack_message(pack_message("observation", payload, 1))


@pytest.mark.parametrize("kind", [["hello"], {"a": 1}, None, 7, "goodbye"])
def test_a_type_that_is_no_type_is_refused(kind):
    with pytest.raises(WireError, match="unknown message type"):
        unpack_message(pack_message(kind, {}, 1))


def test_who_strikes_waits_and_is_forgiven(monkeypatch):
    from pytest_vla.inference import intake

    now = [0.0]
    monkeypatch.setattr(intake, "monotonic", lambda: now[0])
    manners = intake.Manners()
    for _ in range(100):
        manners.strike("10.0.0.1")
    assert manners.delay("10.0.0.1") == intake.LONGEST_DELAY_S
    assert manners.delay("10.0.0.2") == 0
    now[0] = 20 * intake.FORGET_HALF_S
    assert manners.delay("10.0.0.1") < 0.001


REQUEST = (
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def answer_of(sock):
    with suppress(ConnectionError):
        return sock.recv(100)
    return b""


def test_who_speaks_before_it_was_answered_is_shut_out(echo):
    with socket.create_connection(("127.0.0.1", echo.port), PATIENCE_S) as hasty:
        hasty.sendall(REQUEST + b"\x82\xff" + bytes(100))
        assert answer_of(hasty) == b""
    with socket.create_connection(("127.0.0.1", echo.port), PATIENCE_S) as patient:
        patient.sendall(REQUEST)
        assert answer_of(patient).startswith(b"HTTP/1.1 101")


def test_a_flood_of_one_address_waits_in_line_and_a_newcomer_gets_its_turn():
    server = Served("Echo", "--protocol=vla-eval")
    try:
        for _ in range(60):
            with suppress(Exception), server.talk() as hostile:
                hostile.send(b"no message")
                hostile.recv(5)
        flood = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]
        for sock in flood:
            sock.sendall(REQUEST + b"\x82\xff" + bytes(2000))  # never waits for an answer
        with server.talk(open_timeout=PATIENCE_S) as newcomer:
            assert exchange(newcomer, 1, 2.0)[0] == "action"
        for sock in flood:
            sock.close()
    finally:
        server.end()


def test_a_client_makes_room_for_another_when_it_never_spoke():
    server = Served("Echo", "--protocol=vla-eval", "--max-clients=2")
    try:
        with server.talk() as silent, server.talk() as speaking:
            assert exchange(speaking, 1, 2.0)[0] == "action"
            with server.talk() as newcomer:
                assert exchange(newcomer, 1, 2.0)[0] == "action"
                assert closes(silent)
                with pytest.raises(InvalidStatus, match="503"), server.talk():
                    pass
                assert exchange(speaking, 2, 2.0)[0] == "action"
    finally:
        server.end()
