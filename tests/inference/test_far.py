"""Observations between nodes arrive as they were sent, from those who know the token and nobody else."""

from __future__ import annotations

import json
import secrets
import socket

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.channel import REQUEST, ChannelError, Message
from pytest_vla.inference.client import InferenceClient
from pytest_vla.inference.far import Crossing, FarLane, find_replica, joined, packed, unpacked
from pytest_vla.inference.service import Service, ServiceOptions
from pytest_vla.tree import size_of

FACTORY = """
import numpy as np
import pytest_vla as vla

class Sum(vla.Policy):
    def reset(self, episode):
        return None

    def act(self, observations, states):
        sums = [(each["images"]["front"].astype(float).sum(), each["state"]["x"].sum()) for each in observations]
        return [np.array(each) for each in sums]

def make():
    return Sum()
"""


@settings(deadline=None)
@given(st.binary(max_size=50), st.lists(arrays.arrays(np.uint8, st.integers(0, 9000)), max_size=3))
def test_what_is_deflated_arrives_as_it_was(text, given):
    message = Message(REQUEST, json_size=len(text), size=size_of(given, len(text)))
    again, memory = unpacked(message, packed(text, given, lossy=False))
    assert memory == joined(text, given)
    assert again.size == len(memory)


def test_jpeg_keeps_the_shape_and_nearly_the_picture():
    picture = np.linspace(0, 255, 64 * 64 * 3).reshape(64, 64, 3).astype(np.uint8)
    data = packed(b"{}", [picture], lossy=True)
    _, memory = unpacked(Message(REQUEST, json_size=2), data)
    shown = np.frombuffer(memory, np.uint8)[-picture.size :].reshape(picture.shape)
    assert len(data) < picture.nbytes / 2
    assert np.abs(shown.astype(int) - picture).mean() < 4


def test_a_codec_that_nobody_knows_is_refused():
    with pytest.raises(ChannelError, match="unknown codec 9"):
        unpacked(Message(REQUEST), bytes([9]) + (1).to_bytes(8, "little") + b"x")


@pytest.fixture
def crossing(tmp_path, monkeypatch):
    (tmp_path / "sums.py").write_text(FACTORY)
    monkeypatch.syspath_prepend(tmp_path)
    service = Service.start(ServiceOptions("sums:make"))
    made = Crossing(service.addresses[0], "127.0.0.1", secrets.token_hex(32))
    yield service, made
    made.close()
    service.close()


def observation(number: int) -> dict[str, object]:
    picture = np.random.default_rng(number).integers(0, 255, (48, 48, 3), dtype=np.uint8)
    return {"images": {"front": picture}, "state": {"x": np.arange(number + 1, dtype=np.float32)}, "instruction": "go"}


@pytest.mark.parametrize("wire", ["raw", "auto"])
def test_a_client_of_another_node_gets_the_same_answers(crossing, wire):
    service, there = crossing
    near = InferenceClient(service.addresses, service.spec, 10)
    far = InferenceClient((), service.spec, 10, lambda: FarLane(lambda: there.address, 10, wire))
    key = EpisodeKey("s", "t", "p", 0)
    states = [near.reset(key), far.reset(key)]
    for number in (3, 3, 5, 3):
        seen = observation(number)
        ours, theirs = near.act([seen], states[:1]), far.act([seen], states[1:])
        assert np.array_equal(ours[0], theirs[0])
    assert states[1].timings["transport"] > 0


def test_without_the_token_nobody_is_answered(crossing):
    _, there = crossing
    host, port = there.address.removeprefix("tcp://").partition("/")[0].split(":")
    with socket.create_connection((host, int(port)), timeout=5) as sock:
        sock.sendall(b"0" * 64)
        assert sock.recv(1) == b""


def test_a_worker_asks_a_replica_of_its_own_node_first(tmp_path):
    rows = [{"node": f"10.0.0.{n}", "near": f"@{n}", "far": f"tcp://10.0.0.{n}:1/x"} for n in (1, 2, 2)]
    file = tmp_path / "replicas.json"
    file.write_text(json.dumps(rows))
    assert [find_replica(str(file), "10.0.0.2", number) for number in (0, 1, 2)] == ["@2", "@2", "@2"]
    assert [find_replica(str(file), "10.0.0.9", number) for number in (0, 1)] == [rows[0]["far"], rows[1]["far"]]
