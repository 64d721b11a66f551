"""Real server processes: what comes back, in which batches, and whose state is whose."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from served import Hoarder

from pytest_vla.episode import EpisodeError
from pytest_vla.inference.client import InferenceClient
from pytest_vla.inference.engine import Engine
from pytest_vla.inference.server import Server
from pytest_vla.inference.service import _listen
from pytest_vla.policies import PolicySpec


def run_clients(count, work):
    """Run `work(number)` in so many threads at once; the first error is raised here."""
    errors = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def until(condition, seconds=5.0):
    """Statistics are written after the answers."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_every_client_gets_the_answers_to_its_own_observations(serve, connect, key, observe):
    service = serve("Echo", batch=4)

    def episodes(number):
        client = connect(service)
        for episode in range(3):
            state = client.reset(key(10 * number + episode))
            for step in range(50):
                x = 1000 * number + step
                (action,) = client.act([observe(x)], [state])
                assert action[:3].tolist() == [x, 10 * number + episode, step + 1]

    run_clients(6, episodes)
    until(lambda: service.statistics()["requests"] == 6 * 3 * 50)
    assert max(map(int, service.statistics()["batch_sizes"])) <= 4


def test_clients_that_wait_together_are_served_together(serve, connect, key, observe):
    service = serve("Slow", batch=8)

    def steps(number):
        client = connect(service)
        state = client.reset(key(number))
        for step in range(10):
            client.act([observe(step)], [state])

    run_clients(4, steps)
    assert service.statistics()["batches"] <= 20


def test_one_client_with_many_episodes_is_one_batch(serve, connect, key, observe):
    service = serve("Echo", batch=8)
    client = connect(service)
    states = [client.reset(key(index)) for index in range(3)]
    client.act([observe(0)] * 3, states)
    time.sleep(0.05)
    actions = client.act([observe(x) for x in range(3)], states)
    assert [action[:2].tolist() for action in actions] == [[0, 0], [1, 1], [2, 2]]
    until(lambda: service.statistics()["requests"] == 6)


def test_a_lone_client_never_waits_for_others(serve, connect, key, observe):
    service = serve("Slow", batch=8)
    idle, busy = connect(service), connect(service)
    idle.act([observe(0)], [idle.reset(key(0))])
    state = busy.reset(key(1))
    start = time.monotonic()
    for step in range(10):
        busy.act([observe(step)], [state])
    assert time.monotonic() - start < 10 * 0.05 * 1.5 + 0.2


def test_observations_may_change_shape_and_text_on_the_way(serve, connect, key, observe):
    client = connect(serve("Echo"))
    state = client.reset(key())
    for step, size in enumerate([1, 100_000, 10, 1_000_000, 1]):
        observation = {**observe(step, size), "instruction": "go " * size}
        assert client.act([observation], [state])[0][0] == step


def test_a_policy_may_keep_what_it_saw(serve, connect, key, observe):
    client = connect(serve("Hoarder"))
    state = client.reset(key())
    for step in range(20):
        (action,) = client.act([observe(step)], [state])
        assert action.item() == sum(range(step + 1))


@pytest.mark.skipif(not hasattr(os, "eventfd"), reason="without eventfd headers cross by the socket")
def test_a_step_like_the_last_one_is_one_copy_into_the_same_memory(serve, connect, key, observe, monkeypatch):
    from pytest_vla import observed
    from pytest_vla.inference import channel
    from pytest_vla.inference import client as module

    client = connect(serve("Echo"))
    state = client.reset(key())
    for step in range(2):
        client.act([observe(step)], [state])
    with monkeypatch.context() as patch:
        patch.setattr(observed, "flatten", None)  # nothing is taken apart again
        patch.setattr(module, "receive", None)  # and no reply comes over the socket
        patch.setattr(channel, "send", None)  # nor goes a request
        for step in range(2, 5):
            assert client.act([observe(step)], [state])[0][0] == step
    assert client.act([observe(5, size=99)], [state])[0][0] == 5


def test_where_there_are_no_bells_replies_come_over_the_socket(key, observe, monkeypatch):
    monkeypatch.delattr(os, "eventfd", raising=False)
    address, listener, _ = _listen()
    server, ended = Server(Engine(Hoarder()), listener, 4), threading.Event()

    def run():
        while not ended.is_set():
            server.step()

    thread = threading.Thread(target=run)
    thread.start()
    client = InferenceClient([address], PolicySpec(), 5)
    state = client.reset(key())
    for step in range(5):
        assert client.act([observe(step)], [state])[0].item() == sum(range(step + 1))
    ended.set()
    state.lane.drop()
    thread.join(5)
    listener.close()
    assert not thread.is_alive()


def test_the_prompt_is_sent_once_an_episode(serve, connect, key, observe, monkeypatch):
    from pytest_vla import observed as module

    sent = []
    flatten = module.flatten
    monkeypatch.setattr(module, "flatten", lambda tree, name="observation": (sent.append(name), flatten(tree, name))[1])

    class Prompt:
        def to_tree(self):
            return {"text": "put it there", "pictures": [np.arange(10)]}

    client = connect(serve("Prompted"))
    for episode in range(2):
        state, prompt = client.reset(key(episode)), Prompt()
        for step in range(5):
            (action,) = client.act([{**observe(step), "prompt": prompt}], [state])
            assert (action["sum"], action["letters"]) == (45, 12)
    assert sent.count("observation['prompt']") == 2


def test_actions_of_one_step_do_not_change_with_the_next(serve, connect, key, observe):
    client = connect(serve("Echo"))
    state = client.reset(key())
    actions = [client.act([observe(step)], [state])[0] for step in range(5)]
    assert [action[0] for action in actions] == [0, 1, 2, 3, 4]


def test_what_cannot_be_sent_is_the_fault_of_the_environment(serve, connect, key, observe):
    client = connect(serve("Echo"))
    with pytest.raises(EpisodeError, match=r"observation\['state'\]\['robot'\] is a object") as raised:
        client.act([{"state": {"robot": object()}}], [client.reset(key())])
    assert raised.value.reason == "env_error"
    assert client.act([observe(1)], [client.reset(key())])[0][0] == 1


def test_each_device_has_a_server_of_its_own(serve, connect, key, observe):
    service = serve("Echo", devices=("cpu", "cpu"))
    assert len(set(service.pids)) == len(set(service.addresses)) == 2
    for replica in range(2):
        client = connect(service, replica=replica)
        assert client.act([observe(replica)], [client.reset(key())])[0][0] == replica
    until(lambda: service.statistics()["requests"] == 2)


def test_times_add_up_to_what_the_client_saw(serve, connect, key, observe):
    client = connect(serve("Slow"))
    state = client.reset(key())
    start = time.monotonic()
    for step in range(5):
        client.act([observe(step)], [state])
    seconds = time.monotonic() - start
    assert sum(state.timings.values()) <= seconds
    assert state.timings["compute"] >= 0.25
    assert sum(state.timings.values()) > 0.8 * seconds


def test_a_client_needs_no_torch():
    code = "import sys; import pytest_vla.inference.client, pytest_vla.inference.service; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
