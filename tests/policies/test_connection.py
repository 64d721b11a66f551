"""Connections without a thread of their own: messages whole, servers answered in time, losses noticed."""

import shutil
import ssl
import subprocess
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from listening import listening
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from pytest_vla.policies.connection import Masked, connect

SECOND = 1.0


def echo(connection):
    for message in connection:
        connection.send(message)


def talk_to(url):
    return connect(url, {}, 1 << 20)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 900_000])
def test_messages_of_any_size_come_back_whole(size):
    message = bytes(range(256)) * (size // 256) + bytes(size % 256)
    with listening(echo) as url, talk_to(url) as connection:
        for _ in range(2):
            connection.send(message)
            assert connection.recv(10 * SECOND) == message


def test_a_message_in_parts_is_one_and_a_text_is_a_text():
    def handle(connection):
        connection.send([b"one", b"-", b"two"])
        connection.send(["drei", "ß"])
        connection.recv()

    with listening(handle) as url, talk_to(url) as connection:
        assert connection.recv(10 * SECOND) == b"one-two"
        assert connection.recv(10 * SECOND) == "dreiß"


def test_a_message_beyond_the_limit_ends_the_connection():
    def handle(connection):
        connection.send(bytes((1 << 20) + 1))
        connection.recv()

    with listening(handle) as url, talk_to(url) as connection, pytest.raises(ConnectionClosed):
        connection.recv(10 * SECOND)


def test_silence_is_a_timeout_and_the_late_answer_is_still_there():
    def handle(connection):
        time.sleep(0.5)
        connection.send(b"late")
        connection.recv()

    with listening(handle) as url, talk_to(url) as connection:
        with pytest.raises(TimeoutError):
            connection.recv(0.05)
        assert connection.recv(10 * SECOND) == b"late"


def test_a_server_that_asks_whether_we_live_is_answered_while_nobody_reads():
    """Servers of openpi ask every 20 s; a chunk of actions can take longer in a slow simulator."""
    answered = []

    def handle(connection):
        answered.extend(connection.ping().wait(5 * SECOND) for _ in range(2))
        connection.recv()

    with listening(handle, ping_interval=None) as url, talk_to(url) as connection:
        deadline = time.monotonic() + 10 * SECOND
        while len(answered) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)  # busy with something else
        connection.send(b"done")
    assert answered == [True, True]


@pytest.mark.parametrize("pause", [0.0, 0.5])
def test_a_server_that_went_away_is_noticed_before_anything_is_asked_of_it(pause):
    went = threading.Event()

    def handle(connection):
        connection.close()
        went.set()

    with listening(handle) as url, talk_to(url) as connection:
        went.wait(10 * SECOND) if pause == 0 else time.sleep(pause)
        with pytest.raises(ConnectionClosed):
            connection.send(b"anyone there?")


def test_a_connection_that_is_cut_is_lost_while_waiting():
    def handle(connection):
        connection.recv()
        connection.socket.shutdown(2)

    with listening(handle) as url, talk_to(url) as connection:
        connection.send(b"bye")
        with pytest.raises((ConnectionClosed, OSError)):
            connection.recv(10 * SECOND)


def test_a_refusal_says_its_status():
    def refuse(connection, request):
        return connection.respond(401, "no token\n")

    with listening(echo, process_request=refuse) as url, pytest.raises(InvalidStatus, match="401"):
        talk_to(url)


def test_headers_are_sent():
    seen = []

    def handle(connection):
        seen.append(connection.request.headers["Authorization"])
        connection.send(b"seen")

    with listening(handle) as url, connect(url, {"Authorization": "Api-Key T"}, 1 << 20) as connection:
        connection.recv(10 * SECOND)
    assert seen == ["Api-Key T"]


def test_goodbyes_are_said_on_both_sides():
    ended = []

    def handle(connection):
        try:
            connection.recv()
        except ConnectionClosed as closed:
            ended.append(closed.rcvd.code)

    with listening(handle) as url, talk_to(url):
        pass
    assert ended == [1000]


def test_a_proxy_of_the_environment_is_asked(monkeypatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    with listening(echo) as url, pytest.raises(OSError), talk_to(url):
        pass
    monkeypatch.setenv("no_proxy", "localhost")
    with listening(echo) as url, talk_to(url) as connection:
        connection.send(b"direct")
        assert connection.recv(10 * SECOND) == b"direct"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_wss_is_encrypted_and_the_certificate_is_checked(tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate} -days 2 -subj /CN=localhost"
    subprocess.run([*made.split(), "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with listening(echo, "wss", ssl=context) as url:
        with pytest.raises(ssl.SSLCertVerificationError):
            talk_to(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with talk_to(url) as connection:
            for message in (b"secret", bytes(500_000)):
                connection.send(message)
                assert connection.recv(10 * SECOND) == message


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5), st.integers(0, 70_000))
def test_frames_are_what_any_server_reads_and_no_message_shows_in_them(messages, extra):
    masked = Masked()
    for message in [*messages, messages[0] * (extra // 300), messages[0]]:
        reader = StreamReader()
        reader.feed_data(bytes(masked.frame(memoryview(message))))
        with pytest.raises(StopIteration) as read:
            next(Frame.parse(reader.read_exact, mask=True, max_size=None))
        frame = read.value.value
        assert (frame.opcode, frame.fin, bytes(frame.data)) == (Opcode.BINARY, True, message)


def test_the_same_message_is_masked_with_another_key_each_time():
    masked, message = Masked(), bytes(1000)
    assert len({bytes(masked.frame(message)) for _ in range(8)}) == 8
