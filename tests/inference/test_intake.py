"""What a server takes in is cut where frames end, however it arrives."""

import asyncio
import itertools
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

import pytest_vla as vla
from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.intake import end_of_frames
from pytest_vla.inference.serve import PolicyServer, ServeOptions
from pytest_vla.policies.source import SharedSource
from pytest_vla.policies.websocket import connect_policy

LONGEST = 100_000
sizes = st.sampled_from([0, 1, 125, 126, 127, 65_535, 65_536, LONGEST])


@settings(max_examples=60)
@given(st.lists(st.tuples(sizes, st.booleans()), max_size=4), st.data())
def test_frames_are_whole_or_wait(frames, data):
    texts = [Frame(Opcode.BINARY, bytes(size)).serialize(mask=mask) for size, mask in frames]
    buffer = bytearray(b"".join(texts) + bytes(20))
    filled = data.draw(st.integers(0, sum(map(len, texts))))
    ends = [0, *itertools.accumulate(map(len, texts))]
    assert end_of_frames(buffer, filled, LONGEST) == max(end for end in ends if end <= filled)


def test_one_that_is_too_long_is_handed_on_at_once_to_be_refused():
    text = Frame(Opcode.BINARY, bytes(10)).serialize(mask=True)
    large = Frame(Opcode.BINARY, bytes(LONGEST + 1)).serialize(mask=True)[:500]
    buffer = bytearray(text + large)
    assert end_of_frames(buffer, len(buffer), LONGEST) == len(buffer)


class Sum(vla.Policy):
    def act(self, observations, states):
        return [np.float64([np.asarray(each["images"]["a"]).sum()]) for each in observations]


@pytest.fixture
def url():
    source = SharedSource(text="sum", digest="sha256:0", verified=True, spec=vla.PolicySpec(), policy=Sum())
    server = PolicyServer([source], ServeOptions(port=0))
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
