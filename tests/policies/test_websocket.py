"""Remote policies: found by handshake, one connection an episode, and never an action that answers something else."""

import time

import numpy as np
import pytest
from listening import listening

from pytest_vla.episode import EpisodeKey
from pytest_vla.policies import PolicyError, load_policy
from pytest_vla.policies.websocket import TOKEN_VARIABLE, Address, connect_policy
from pytest_vla.policies.wire import WireError, pack_message, pack_tree, renamed, unpack_message, unpack_tree


def vla_eval(answer, heard=None):
    """A vla-eval server whose observations are answered by `answer(payload, number) -> message`."""

    def handle(connection):
        for data in connection:
            kind, payload, number = unpack_message(data)
            if heard is not None:
                heard.append((kind, payload))
            if kind == "hello":
                connection.send(pack_message("hello", {"protocol_version": 1, "model_server": "Fake"}, number))
            elif kind == "observation":
                connection.send(answer(payload, number))

    return handle


def openpi(answer):
    def handle(connection):
        connection.send(pack_tree({"robot": "arm"}))
        for data in connection:
            connection.send(answer(unpack_tree(data)))

    return handle


def key(index=0):
    return EpisodeKey("suite", "pick", "seen", index)


OBSERVATION = {
    "images": {"front": np.arange(48, dtype=np.uint8).reshape(4, 4, 3), "wrist": np.zeros((2, 2, 3), np.uint8)},
    "state": {"arm": np.array([1.0, 2.0]), "hand": np.array([3.0])},
    "instruction": "pick it up",
}


def test_a_server_that_waits_for_us_is_vla_eval_and_gets_its_conventions():
    heard = []
    with listening(vla_eval(lambda p, n: pack_message("action", {"actions": p["states"]}, n), heard)) as url:
        policy, digest = connect_policy(url)
        (action,) = policy.act([OBSERVATION], [policy.reset(key(3))])
    assert digest.startswith(f"vla-eval:{url}:")
    assert action.tolist() == [1, 2, 3]
    (start,) = [payload for kind, payload in heard if kind == "episode_start"]
    assert (start["task"]["name"], start["task"]["episode_idx"]) == ("pick", 3)
    (observation,) = [payload for kind, payload in heard if kind == "observation"]
    assert observation["task_description"] == "pick it up"
    assert (observation["images"]["front"] == OBSERVATION["images"]["front"]).all()


def test_a_server_that_speaks_first_is_openpi_and_gives_chunks():
    def answer(observation):
        assert observation["prompt"] == "pick it up"
        assert (observation["observation/image"] == OBSERVATION["images"]["front"]).all()
        return pack_tree({"actions": np.tile(observation["observation/state"], (5, 1))})

    with listening(openpi(answer)) as url:
        policy, digest = connect_policy(url)
        (action,) = policy.act([OBSERVATION], [policy.reset(key())])
    assert digest.startswith("openpi:")
    assert action.shape == (5, 3)
    assert policy.spec.chunk > 1


def test_the_query_names_what_the_server_wants():
    def answer(observation):
        return pack_tree({"actions": np.stack([observation["observation/joints"]])})

    with listening(openpi(answer)) as url:
        policy, _ = connect_policy(f"{url}?observation/joints=state.arm")
        (action,) = policy.act([OBSERVATION], [policy.reset(key())])
    assert action.tolist() == [[1, 2]]


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_reply_with_another_number_is_an_error_and_never_an_action(shift):
    with listening(vla_eval(lambda p, n: pack_message("action", {"actions": np.zeros(2)}, n + shift))) as url:
        policy, _ = connect_policy(f"{url}?protocol=vla-eval")
        state = policy.reset(key())
        (answer,) = policy.act([OBSERVATION], [state])
        assert answer.reason == "policy_error"
        assert "came for message" in str(answer)
        (after,) = policy.act([OBSERVATION], [state])
        assert after.reason == "server_lost"


def test_the_next_episode_after_a_fault_has_a_fresh_connection():
    calls = []

    def answer(payload, number):
        calls.append(number)
        if len(calls) == 1:
            return pack_message("error", {"error": "observation_failed: boom"}, number)
        return pack_message("action", {"actions": np.ones(2)}, number)

    with listening(vla_eval(answer)) as url:
        policy, _ = connect_policy(f"{url}?protocol=vla-eval")
        state = policy.reset(key(0))
        (failed,) = policy.act([OBSERVATION], [state])
        assert "boom" in str(failed)
        (action,) = policy.act([OBSERVATION], [policy.reset(key(1))])
        assert action.tolist() == [1, 1]


def test_one_lost_connection_is_one_lost_episode():
    def handle(connection):
        for data in connection:
            kind, payload, number = unpack_message(data)
            if kind == "hello":
                connection.send(pack_message("hello", {"protocol_version": 1}, number))
            elif kind == "observation":
                if payload["states"][0] < 0:
                    connection.socket.close()
                    return
                connection.send(pack_message("action", {"actions": payload["states"]}, number))

    with listening(handle) as url:
        policy, _ = connect_policy(f"{url}?protocol=vla-eval")
        states = [policy.reset(key(index)) for index in range(3)]
        observations = [{"state": {"x": np.array([x])}} for x in (1.0, -1.0, 3.0)]
        answers = policy.act(observations, states)
    assert [answers[0].item(), answers[2].item()] == [1, 3]
    assert answers[1].reason == "server_lost"


def test_a_server_that_does_not_answer_is_a_timeout():
    def answer(payload, number):
        time.sleep(1.5)
        return pack_message("action", {"actions": np.zeros(2)}, number)

    with listening(vla_eval(answer)) as url:
        policy, _ = connect_policy(f"{url}?protocol=vla-eval&timeout=0.3")
        (answer,) = policy.act([OBSERVATION], [policy.reset(key())])
    assert answer.reason == "timeout"


def test_all_rows_of_a_batch_are_under_way_at_the_same_time():
    def answer(payload, number):
        time.sleep(0.3)
        return pack_message("action", {"actions": np.zeros(2)}, number)

    with listening(vla_eval(answer)) as url:
        policy, _ = connect_policy(f"{url}?protocol=vla-eval")
        states = [policy.reset(key(index)) for index in range(4)]
        start = time.monotonic()
        policy.act([OBSERVATION] * 4, states)
        assert time.monotonic() - start < 0.9


def test_an_openpi_server_that_fails_says_why():
    def handle(connection):
        connection.send(pack_tree({}))
        connection.recv()
        connection.send("Traceback: no such robot")
        connection.close(1011)

    with listening(handle) as url:
        policy, _ = connect_policy(f"{url}?protocol=openpi")
        (answer,) = policy.act([OBSERVATION], [policy.reset(key())])
    assert "no such robot" in str(answer)


def test_no_server_at_the_address_is_one_clear_error():
    with pytest.raises(PolicyError, match=r"no policy server answers at ws://127\.0\.0\.1:9"):
        load_policy("ws://127.0.0.1:9")


def test_another_version_of_the_protocol_is_refused():
    def handle(connection):
        _, _, number = unpack_message(connection.recv())
        connection.send(pack_message("hello", {"protocol_version": 2}, number))
        connection.recv()

    with listening(handle) as url, pytest.raises(PolicyError, match="speaks version 2"):
        connect_policy(f"{url}?protocol=vla-eval")


def test_the_token_comes_from_the_environment_and_goes_into_the_header(monkeypatch):
    seen = []

    def check(connection, request):
        seen.append(request.headers.get("Authorization"))

    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    with listening(openpi(lambda o: pack_tree({"actions": np.zeros((1, 2))})), process_request=check) as url:
        connect_policy(f"{url}?protocol=openpi")
    assert seen == ["Api-Key secret"]


@pytest.mark.parametrize("text", ["ws://h:1?timeout=soon", "ws://h:1?protocol=grpc"])
def test_a_setting_that_makes_no_sense_is_refused(text):
    with pytest.raises(PolicyError):
        Address.parse(text)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x93\x01\x02",
        b"\x80",
        pack_message("dance", {}, 1),
        "text",
        pack_tree({"type": "action", "payload": 3, "seq": 1, "timestamp": 0.0}),
        pack_tree({"type": "action", "payload": {}, "seq": "1", "timestamp": 0.0}),
        pack_tree({"__ndarray__": True, "data": b"12", "dtype": "<f8", "shape": [1]}),
        pack_tree({"__ndarray__": True, "data": b"12345678", "dtype": "O", "shape": [1]}),
        pack_tree({"__ndarray__": True, "data": b"", "dtype": "<f8", "shape": [-1]}),
        pack_tree({"__ndarray__": True}),
        pack_tree({"__image__": True, "format": "gif", "data": b"", "shape": []}),
        pack_tree({"__image__": True, "format": "png", "data": b"no png", "shape": []}),
        b"\x81\xa1a" * 3000 + b"\xc0",
    ],
    ids=range(15),  # their bytes hold the time of day
)
def test_what_is_no_message_is_refused(data):
    with pytest.raises(WireError):
        unpack_message(data)


@pytest.mark.parametrize(
    "array", [np.zeros((2, 3)), np.array(7, np.uint8), np.zeros((0, 4), np.float32), np.ones(3, bool)]
)
def test_arrays_survive_both_formats(array):
    by_text = unpack_message(pack_message("action", {"actions": array}, 5))[1]["actions"]
    by_bytes = unpack_tree(pack_tree({"actions": array}))["actions"]
    for received in (by_text, by_bytes):
        assert (received.dtype, received.shape, received.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_a_name_that_is_not_there_is_an_error_that_lists_what_is():
    with pytest.raises(WireError, match=r"no 'state.legs'.*state.arm, state.hand"):
        renamed(OBSERVATION, {"legs": "state.legs"})


def test_what_a_vla_eval_server_says_of_its_numbers_is_checked_before_the_first_episode():
    from pytest_vla.registry import get_suite

    parts = {"position": {"dims": 3}, "rotation": {"dims": 3}, "gripper": {"dims": 1}}

    def handle(connection):
        for data in connection:
            _, _, number = unpack_message(data)
            told = {"protocol_version": 1, "action_spec": parts, "observation_spec": {"state": {"dims": 8}}}
            connection.send(pack_message("hello", told, number))

    with listening(handle) as url:
        policy, digest = connect_policy(f"{url}?protocol=vla-eval")
        parts["gripper"]["dims"] = 2
        _, other = connect_policy(f"{url}?protocol=vla-eval")
    assert (policy.spec.action_size, policy.spec.state_size) == (7, 8)
    assert policy.spec.mismatch(get_suite("bomb")) == "the policy's state has 8 numbers; that of 'bomb' has 4"
    assert digest != other


@pytest.mark.parametrize("told", [{}, {"x": 3}, {"x": {"dims": "many"}}, {"x": {"dims": True}}, [1], "text", 7])
def test_specs_that_say_nothing_demand_nothing(told):
    def handle(connection):
        for data in connection:
            _, _, number = unpack_message(data)
            hello = {"protocol_version": 1, "action_spec": told, "observation_spec": told}
            connection.send(pack_message("hello", hello, number))

    with listening(handle) as url:
        policy, _ = connect_policy(f"{url}?protocol=vla-eval")
    assert (policy.spec.action_size, policy.spec.state_size) == (0, 0)
