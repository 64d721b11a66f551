"""What a server takes in is cut where frames end, however it arrives."""

import asyncio
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect

import pytest_vla as vla
from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.intake import next_frame
from pytest_vla.inference.serve import PolicyServer, ServeOptions
from pytest_vla.policies.source import SharedSource
from pytest_vla.policies.websocket import connect_policy
from pytest_vla.policies.wire import pack_message, unpack_message

LONGEST = 100_000
sizes = st.sampled_from([0, 1, 125, 126, 127, 65_535, 65_536, LONGEST])


@settings(max_examples=60)
@given(st.lists(st.tuples(sizes, st.booleans()), max_size=4), st.data())
def test_frames_are_whole_or_wait(frames, data):
    texts = [Frame(Opcode.BINARY, b"x" * size).serialize(mask=mask) for size, mask in frames]
    stream = memoryview(b"".join(texts))
    filled, taken = data.draw(st.integers(0, len(stream))), 0
    for text, (size, mask) in zip(texts, frames, strict=True):
        begin, end = next_frame(stream[taken:filled], LONGEST)
        if taken + len(text) > filled:
            assert end == 0
            return
        assert (begin, end) == ((len(text) - size) if mask else 0, len(text))
        taken += end
    assert next_frame(stream[taken:filled], LONGEST) == (0, 0)


def test_one_that_is_too_long_is_handed_on_at_once_to_be_refused():
    large = memoryview(Frame(Opcode.BINARY, bytes(LONGEST + 1)).serialize(mask=True))[:500]
    assert next_frame(large, LONGEST) == (0, 500)


class Sum(vla.Policy):
    def act(self, observations, states):
        return [np.float64([np.asarray(each["images"]["a"]).sum()]) for each in observations]


@contextmanager
def served(**options):
    """The address of a server in a thread."""
    source = SharedSource(text="sum", digest="sha256:0", verified=True, spec=vla.PolicySpec(), policy=Sum())
    server = PolicyServer([source], ServeOptions(port=0, **options))
    found = []

    def serve():
        loop.run_until_complete(main())

    async def main():
        task = asyncio.create_task(server.run(lambda made: found.append(made.sockets[0].getsockname()[1])))
        ending.append(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    ending, loop = [], asyncio.new_event_loop()
    thread = threading.Thread(target=serve)
    thread.start()
    while not found:
        time.sleep(0.01)
    yield f"ws://127.0.0.1:{found[0]}"
    loop.call_soon_threadsafe(ending[0])
    thread.join(10)


@pytest.fixture
def url():
    with served() as address:
        yield address


def test_messages_of_all_sizes_are_read_one_after_the_other(url):
    policy, _ = connect_policy(url)
    state, rng = policy.reset(EpisodeKey("s", "t", "p", 0)), np.random.default_rng(0)
    for size in (1, 2_000_000, 10, 70_000, 300_000, 5, 65_000):
        image = rng.integers(0, 255, size, np.uint8)
        (answer,) = policy.act([{"images": {"a": image}, "state": {}, "instruction": ""}], [state])
        assert answer == [image.sum()]


class Slowly:
    """A socket that sends piece by piece."""

    def __init__(self, sock, piece):
        self.sock, self.piece = sock, piece

    def __getattr__(self, name):
        return getattr(self.sock, name)

    def sendall(self, data):
        for start in range(0, len(data), self.piece):
            self.sock.sendall(data[start : start + self.piece])


@pytest.mark.parametrize("piece", [1, 1000, 65_536])
def test_a_message_in_small_pieces_is_the_same_message(url, piece):
    policy, _ = connect_policy(url)
    state = policy.reset(EpisodeKey("s", "t", "p", 0))
    state.link.connection._socket = Slowly(state.link.connection._socket, piece)
    size = 3_000 if piece == 1 else 400_000
    for value in (1, 2):
        image = np.full(size, value, np.uint8)
        (answer,) = policy.act([{"images": {"a": image}, "state": {}, "instruction": ""}], [state])
        assert answer == [value * size]


def test_messages_in_parts_and_pings_between_them_go_the_usual_way(url):
    def asked(number):
        image = np.full(70_000, number, np.uint8)
        return pack_message("observation", {"images": {"a": image}, "states": np.zeros(1)}, number)

    with connect(url, compression=None) as connection:
        connection.send(pack_message("hello", {"protocol_version": 1}, 1))
        assert unpack_message(connection.recv(10))[0] == "hello"
        for number in (2, 3, 4):
            message = asked(number)
            connection.send([message[:5], message[5:300], message[300:]] if number == 3 else message)
            assert connection.ping().wait(10)
            kind, payload, answered = unpack_message(connection.recv(10))
            assert (kind, answered, payload["actions"]) == ("action", number, [70_000 * number])


def test_a_frame_that_is_not_masked_is_refused(url):
    with connect(url, compression=None) as connection:
        connection.socket.sendall(Frame(Opcode.BINARY, b"hello").serialize(mask=False))
        with pytest.raises(ConnectionClosed):
            connection.recv(10)
    assert connection.close_code == 1002


def test_a_connection_that_is_silent_for_too_long_is_ended():
    with served(idle_limit=0.3) as url, connect(url, compression=None) as connection:
        connection.send(pack_message("hello", {"protocol_version": 1}, 1))
        assert unpack_message(connection.recv(10))[0] == "hello"
        with pytest.raises(ConnectionClosed):
            connection.recv(10)
        assert (connection.close_code, connection.close_reason) == (1001, "idle")
