"""Servers that die, hang, or never come up: named reasons, a restart, and nothing left behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_vla.episode import EpisodeError
from pytest_vla.inference.channel import _HEADER
from pytest_vla.inference.client import InferenceClient, native
from pytest_vla.inference.service import BACKOFF_S, Service, ServiceOptions
from pytest_vla.inference.session import told
from pytest_vla.policies import PolicyError

RAISE, DIE, HANG, OUT_OF_MEMORY = -1, -2, -3, -4


def reason_of(client, observation, state):
    with pytest.raises((EpisodeError, PolicyError)) as raised:
        client.act([observation], [state])
    return getattr(raised.value, "reason", "policy_error"), str(raised.value)


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def is_running(pid):
    """Whether any of its threads is: the first may end before another that still holds the sockets."""
    try:
        threads = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:
        return False
    return any(text.rpartition(")")[2].split()[0] != "Z" for text in threads)


def test_a_server_killed_while_it_works_costs_that_episode_and_comes_back(serve, connect, key, observe):
    service = serve("Moody")
    client = connect(service)
    assert reason_of(client, observe(DIE), client.reset(key()))[0] == "server_lost"
    assert client.act([observe(1)], [client.reset(key())])[0][0] == 1
    statistics = service.statistics()
    assert statistics["restarts"] == 1
    assert "SIGKILL" in statistics["deaths"][0]


def test_a_server_killed_between_steps_costs_the_episodes_that_were_running(serve, connect, key, observe):
    service = serve("Echo")
    client, other = connect(service), connect(service)
    state = client.reset(key())
    client.act([observe(1)], [state])
    (pid,) = service.pids
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_running(pid))
    assert reason_of(client, observe(2), state)[0] == "server_lost"
    assert reason_of(client, observe(3), state)[0] == "server_lost"
    assert other.act([observe(4)], [other.reset(key())])[0][0] == 4


def test_a_server_killed_between_episodes_costs_nothing(serve, connect, key, observe):
    service = serve("Echo")
    client = connect(service)
    client.act([observe(1)], [client.reset(key())])
    (pid,) = service.pids
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_running(pid))
    assert client.act([observe(2)], [client.reset(key(1))])[0][0] == 2


def test_a_model_that_raises_is_a_policy_error_with_its_traceback(serve, connect, key, observe):
    service = serve("Moody")
    client = connect(service)
    reason, text = reason_of(client, observe(RAISE), client.reset(key()))
    assert reason == "policy_error"
    assert "RuntimeError: the model fell over" in text
    assert service.statistics()["restarts"] == 0


def test_a_model_out_of_memory_with_one_row_is_a_policy_error(serve, connect, key, observe):
    client = connect(serve("Moody"))
    assert "CUDA out of memory" in reason_of(client, observe(OUT_OF_MEMORY), client.reset(key()))[1]


def test_a_model_out_of_memory_with_many_rows_gets_fewer(serve, connect, key, observe):
    client = connect(serve("SmallMemory", batch=8))
    states = [client.reset(key(index)) for index in range(8)]
    for _ in range(3):
        actions = client.act([observe(x) for x in range(8)], states)
        assert [action[0] for action in actions] == list(range(8))


def test_a_model_that_hangs_is_a_timeout_and_the_server_starts_again(serve, connect, key, observe):
    service = serve("Moody", limit=0.5)
    (pid,) = service.pids
    client = connect(service, limit=0.5)
    reason, text = reason_of(client, observe(HANG), client.reset(key()))
    assert reason == "timeout"
    assert "0.5 s" in text
    assert client.act([observe(1)], [client.reset(key())])[0][0] == 1
    assert not is_running(pid)
    assert "took more than 0.5 s" in service.statistics()["deaths"][0]


def test_a_policy_that_cannot_be_loaded_says_why(serve):
    with pytest.raises(PolicyError, match="the weights are for another robot"):
        serve("CannotLoad")


def test_a_server_that_crashes_while_loading_says_so(serve):
    with pytest.raises(PolicyError, match=r"SIGSEGV while it loaded"):
        serve("CrashesInLoad")


def test_a_policy_that_never_finishes_loading_is_given_up(serve):
    with pytest.raises(PolicyError, match="did not load within 1 s"):
        serve("TakesForever", start_limit=1.0)


def test_a_server_that_never_comes_back_is_given_up_and_nobody_waits_for_it(
    serve, connect, key, observe, tmp_path, monkeypatch
):
    monkeypatch.setenv("DIES_MARKER", str(tmp_path / "marker"))
    monkeypatch.setattr("pytest_vla.inference.service.BACKOFF_S", [0.01] * len(BACKOFF_S))
    client = connect(serve("Dies"))
    assert reason_of(client, observe(1), client.reset(key()))[0] == "server_lost"
    reason, text = reason_of(client, observe(1), client.reset(key()))
    assert reason == "server_lost"
    assert "will not be started again" in text


def test_a_client_without_a_limit_notices_a_lost_server_too(serve, connect, key, observe):
    client = connect(serve("Moody"), limit=0.0)
    assert reason_of(client, observe(DIE), client.reset(key()))[0] == "server_lost"
    assert client.act([observe(1)], [client.reset(key())])[0][0] == 1


def test_a_client_that_disappears_is_forgotten(serve, connect, key, observe):
    service = serve("Slow")
    gone, stays = connect(service), connect(service)
    state = gone.reset(key())
    state.lane.ask(state, observe(1))
    state.lane.drop()
    assert stays.act([observe(2)], [stays.reset(key())])[0][0] == 2


@pytest.mark.parametrize("nonsense", [b"x", b"\xff" * _HEADER.size, b"\x02" + b"\0" * (_HEADER.size - 1)])
def test_a_broken_client_is_dropped_and_others_are_served(serve, connect, key, observe, nonsense):
    service = serve("Echo")
    client = connect(service)
    state = client.reset(key())
    client.act([observe(1)], [state])
    with socket.socket(socket.AF_UNIX) as broken:
        broken.connect(native(service.addresses[0]))
        broken.recv(_HEADER.size)
        broken.send(nonsense)
        broken.settimeout(5)
        assert broken.recv(1) == b""
    assert client.act([observe(2)], [state])[0][0] == 2


HOLDER = """
import sys, time
from pytest_vla.inference.service import Service, ServiceOptions
service = Service.start(ServiceOptions("served:Moody"))
print(service.pids[0], service.addresses[0], flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_server_does_not_outlive_its_controller(serve, key, observe, end, busy):
    from pytest_vla.policies import PolicySpec

    controller = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert controller.stdout is not None
    pid, address = controller.stdout.readline().split()
    if busy:
        client = InferenceClient([address], PolicySpec())
        state = client.reset(key())
        state.lane.ask(state, observe(HANG))
        time.sleep(0.2)
    controller.send_signal(end)
    controller.wait()
    controller.stdout.close()
    until(lambda: not is_running(int(pid)))
    if busy:
        assert state.lane.answer(state).reason == "server_lost"


def test_closing_a_service_twice_is_harmless(serve):
    service = serve("Echo")
    service.close()
    service.close()


def test_a_service_that_failed_to_start_leaves_no_process(serve):
    with pytest.raises(PolicyError):
        Service.start(ServiceOptions("served:CannotLoad", devices=("cpu", "cpu")))


def test_a_replica_that_is_gone_for_good_costs_nobody_an_episode(serve, key, observe, monkeypatch):
    monkeypatch.setattr("pytest_vla.inference.service.BACKOFF_S", [30.0] * len(BACKOFF_S))
    service = serve("Echo", devices=("cpu", "cpu"))
    clients = [InferenceClient(told(service, f"gw{n}")["addresses"], service.spec, 30.0) for n in range(4)]
    os.kill(service.pids[0], signal.SIGKILL)
    until(lambda: service.statistics()["restarts"] == 1)
    for index, client in enumerate(clients):
        assert client.act([observe(index)], [client.reset(key(index))])[0][0] == index


def test_trials_of_the_model_are_outside_of_anybodys_time(serve, connect, key, observe):
    """Each call takes 0.05 s, the trials 32 of them; one answer may take 0.5 s."""
    service = serve("Slow", batch=2, fixed=True, limit=0.5)
    client = connect(service, limit=0.5)
    state = client.reset(key())
    for number in (1, 2):
        assert client.act([observe(number)], [state])[0][0] == number
    assert service.statistics()["restarts"] == 0
