"""`pytest-vla serve` and our own client: observations as plain memory, and what is no such observation."""

import numpy as np
import pytest
from test_serve import PATIENCE_S, Served, closes, is_serving
from test_serve_is_a_run import asked_here, observation

from pytest_vla.episode import EpisodeKey
from pytest_vla.policies import trees, websocket
from pytest_vla.policies.trees import TreeWriter
from pytest_vla.policies.wire import pack_message, unpack_message


@pytest.fixture(scope="module")
def echo():
    server = Served("Moody")
    yield server
    server.end()


@pytest.fixture
def packed(monkeypatch):
    """How many observations our client packed as vla-eval wants them."""
    found = []
    mark = websocket.mark_by_text
    monkeypatch.setattr(websocket, "mark_by_text", lambda value: (found.append(value), mark(value))[1])
    monkeypatch.setattr(websocket.VlaEvalPolicy, "mark", staticmethod(websocket.mark_by_text))
    return found


def asked(url, steps=3):
    policy = asked_here(url)
    state = policy.reset(EpisodeKey("suite", "task", "partition", 0))
    return [float(policy.act([observation(step)], [state])[0][0]) for step in range(steps)]


def test_our_client_sends_what_it_has_and_packs_nothing(echo, packed):
    assert asked(f"{echo.url}?protocol=vla-eval") == [0.0, 1.0, 2.0]
    assert packed == []


def test_a_server_that_does_not_read_them_gets_what_the_protocol_has(echo, packed, monkeypatch):
    monkeypatch.setattr(websocket, "READS_TREES", "of another version")
    assert asked(f"{echo.url}?protocol=vla-eval") == [0.0, 1.0, 2.0]
    assert packed


def test_names_that_a_person_gave_go_by_the_protocol(echo, packed):
    assert asked(f"{echo.url}?protocol=vla-eval&state=state&images=images") == [0.0, 1.0, 2.0]
    assert packed


@pytest.mark.parametrize(
    "seen",
    [
        {},
        {"images": 3},
        {"images": {}, "state": np.ones(1)},
        {"images": {}, "state": {"x": None}},
        {"instruction": {"x": 1}, "images": {}, "state": {"x": "one"}},
        {"images": {}, "state": {"x": np.ones(1)}, "probe": "explain"},
        {"images": {}, "state": {"x": np.ones(1)}, "probe": "explain", "base": 3, "rows": [1]},
    ],
    ids=str,
)
def test_what_the_policy_cannot_use_is_an_error_of_that_request_only(echo, seen):
    with echo.talk() as connection:
        connection.send(bytes(TreeWriter().packed(seen, 3)))
        kind, payload, number = unpack_message(connection.recv(PATIENCE_S))
        assert (kind, number) == ("error", 3), payload
        connection.send(bytes(TreeWriter().packed(observation(4.0), 4)))
        kind, payload, number = unpack_message(connection.recv(PATIENCE_S))
        assert (kind, number, float(payload["actions"][0])) == ("action", 4, 4.0)
    assert is_serving(echo)


@pytest.mark.parametrize("frame", [b"\xc1", b"\xc1" + bytes(15), b"\xc1" + b"\xff" * 40])
def test_a_frame_that_is_no_observation_ends_that_connection_only(echo, frame):
    with echo.talk() as connection:
        connection.send(frame)
        assert closes(connection)
    assert is_serving(echo)


def test_a_form_of_many_parts_is_refused_before_it_is_read(echo, monkeypatch):
    monkeypatch.setattr(trees, "is_too_much", lambda news: False)
    many = {"images": {}, "state": {f"{number}": 0.0 for number in range(20_000)}}
    with echo.talk() as connection:
        connection.send(bytes(TreeWriter().packed(many, 1)))
        assert closes(connection)
    assert is_serving(echo)


def test_our_client_sends_an_observation_of_many_parts_by_the_protocol(echo, packed):
    policy = asked_here(f"{echo.url}?protocol=vla-eval")
    state = policy.reset(EpisodeKey("suite", "task", "partition", 0))
    for step in range(4):
        seen = observation(step)
        if step % 2:
            seen["state"].update((f"{number}", 0.0) for number in range(5_000))
        assert float(policy.act([seen], [state])[0][0]) == step
    assert packed


def test_both_forms_may_be_mixed_on_one_connection(echo):
    writer = TreeWriter()
    with echo.talk() as connection:
        for number in range(6):
            if number % 2:
                connection.send(pack_message("observation", {**observation(number)}, number))
            else:
                connection.send(bytes(writer.packed(observation(number), number)))
            kind, payload, answered = unpack_message(connection.recv(PATIENCE_S))
            assert (kind, answered, float(payload["actions"][0])) == ("action", number, float(number))
    assert trees.is_tree(writer.packed(observation(0), 0))
