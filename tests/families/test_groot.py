"""GR00T servers: their own server process where `GROOT_ROOT` is a checkout of Isaac-GR00T, and hostile replies."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("zmq")
pytest.importorskip("msgpack")

from pytest_vla.episode import EpisodeKey
from pytest_vla.policies import PolicyError, load_policy
from pytest_vla.policies.groot import Modalities, pack, unpack

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def address():
    if "GROOT_ROOT" not in os.environ:
        pytest.skip("GROOT_ROOT names no checkout of Isaac-GR00T")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(HERE / "groot_server.py"), os.environ["GROOT_ROOT"], str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() == "ready"
        yield f"groot://127.0.0.1:{port}"
        process.kill()


def observation(value, text="go", camera="front", key="arm"):
    return {"images": {camera: np.full((4, 6, 3), value, np.uint8)}, "state": {key: np.ones(3)}, "instruction": text}


@pytest.mark.parametrize(("camera", "key"), [("front", "arm"), ("top", "ee")])
def test_their_server_answers_a_batch_in_one_request(address, camera, key):
    source = load_policy(address)
    assert source.spec.chunk == 4
    states = [source.policy.reset(EpisodeKey("s", "t", "p", index)) for index in range(2)]
    seen = [observation(10, camera=camera, key=key), observation(30, "go on", camera, key)]
    first, second = source.policy.act(seen, states)
    assert first.tolist() == [[10.0 + step, 3.0 + step, 4.0] for step in range(4)]
    assert second.tolist() == [[30.0 + step, 3.0 + step, 7.0] for step in range(4)]


def test_a_name_that_is_not_there_is_said_with_what_to_write(address):
    policy = load_policy(f"{address}?video.front=top").policy
    with pytest.raises(PolicyError, match=r"wants video 'front'; there is camera 'front'"):
        policy.act([observation(1)], [None])


def test_an_error_of_theirs_is_said(address):
    policy = load_policy(address).policy
    with pytest.raises(PolicyError, match="says: Unknown endpoint: dance"):
        policy._call("dance")


def test_nobody_there_is_one_clear_error():
    with pytest.raises(PolicyError, match="no GR00T server answers"):
        load_policy("groot://127.0.0.1:9?timeout=0.2")


@pytest.mark.parametrize("kind", ["biuf"[n] for n in range(4)])
def test_arrays_come_back_as_they_went(kind):
    array = np.arange(6).reshape(2, 3).astype({"b": bool, "i": np.int64, "u": np.uint8, "f": np.float32}[kind])
    back = unpack(pack({"a": array}))["a"]
    assert back.dtype == array.dtype
    assert (back == array).all()


def test_what_would_be_unpickled_is_refused():
    forged = pack({b"nd": True, b"type": "|O", b"kind": b"O", b"shape": [1], b"data": b"cos\nsystem\n"})
    with pytest.raises(PolicyError, match="refused"):
        unpack(forged)


def test_a_server_that_wants_the_past_is_refused_at_once():
    told = {name: {"delta_indices": [0], "modality_keys": ["x"]} for name in ("video", "state", "language", "action")}
    assert Modalities.told(told).video.names == ("x",)
    told["video"]["delta_indices"] = [-1, 0]
    with pytest.raises(PolicyError, match="only the present one"):
        Modalities.told(told)
