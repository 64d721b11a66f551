"""`pytest-vla serve X` gives what `--vla-policy=X` gives: chunks, ensembles, episodes, declared inputs, devices."""

import asyncio
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
from test_serve import PATIENCE_S, Served

from pytest_vla.episode import EpisodeError, EpisodeKey
from pytest_vla.inference import desk
from pytest_vla.inference.desk import QUICK_CALLS, Desk
from pytest_vla.inference.engine import Engine, Episode, Job
from pytest_vla.inference.service import only_visible
from pytest_vla.inference.session import local_source
from pytest_vla.inference.threads import thread_variables
from pytest_vla.options import InferenceOptions
from pytest_vla.policies import Policy, PolicyError, websocket
from pytest_vla.policies.wire import pack_tree, unpack_tree

PROTOCOLS = ("vla-eval", "openpi")


def observation(x):
    return {"images": {}, "state": {"x": np.array([float(x)]), "states": np.array([float(x)])}, "instruction": "go"}


def played(policy, index, steps=9):
    """What a policy does in one episode."""
    state = policy.reset(EpisodeKey("suite", "task", "partition", index))
    return [np.asarray(policy.act([observation(step)], [state])[0]).tolist() for step in range(steps)]


def asked_here(text, **options):
    return local_source(InferenceOptions(policy=text, **options)).policy


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("policy", "options", "typed"),
    [
        ("Echo", {}, ()),
        ("Plan", {}, ()),
        ("Plan", {"horizon": 2}, ("--horizon=2",)),
        ("Plan", {"horizon": 2, "ensemble": "mean"}, ("--horizon=2", "--ensemble=mean")),
        ("Echo", {}, ("--device=cpu,cpu",)),
    ],
)
def test_a_served_policy_acts_as_it_does_in_a_run(monkeypatch, protocol, policy, options, typed):
    monkeypatch.syspath_prepend(str(Served.FOLDER))
    server = Served(policy, f"--protocol={protocol}", *typed)
    try:
        theirs = asked_here(f"{server.url}?protocol={protocol}")
        ours = asked_here(f"served:{policy}", **options)
        for index in range(3):
            assert played(theirs, index) == played(ours, index), "on one connection, an episode after the other"
    finally:
        server.end()


def test_any_openpi_client_begins_an_episode_by_a_key_beside_the_observation():
    server = Served("Echo", "--protocol=openpi")
    try:
        with server.talk() as connection:
            unpack_tree(connection.recv(PATIENCE_S))
            steps = []
            for episode in ("one", "one", "two", 3, 3):
                connection.send(pack_tree({"observation/x": np.array([3.0]), "prompt": "go", "__episode__": episode}))
                steps.append(unpack_tree(connection.recv(PATIENCE_S))["actions"][0, 2])
        assert steps == [1, 2, 1, 1, 2]
    finally:
        server.end()


def test_what_the_policy_declared_and_the_client_does_not_send_is_named():
    server = Served("Needy", "--protocol=openpi")
    try:
        with server.talk() as connection:
            unpack_tree(connection.recv(PATIENCE_S))
            connection.send(pack_tree({"observation/image": np.zeros((2, 2, 3), np.uint8)}))
            assert "needs camera 'front'; the client sends 'image'" in connection.recv(PATIENCE_S)
    finally:
        server.end()


def test_a_server_that_was_away_is_found_again(monkeypatch):
    server = Served("Echo", "--protocol=vla-eval")
    policy = asked_here(f"{server.url}?protocol=vla-eval")
    assert played(policy, 0, steps=2)
    server.end()
    back = []

    def come_back():
        time.sleep(1.0)
        back.append(Served("Echo", "--protocol=vla-eval", f"--port={server.port}"))

    thread = threading.Thread(target=come_back)
    thread.start()
    try:
        with suppress(EpisodeError):  # a connection may seem to live until it is used: a run plays it again
            played(policy, 1, steps=1)
        assert played(policy, 1, steps=2)[1][2] == 2
    finally:
        thread.join()
        back[0].end()


def test_a_server_that_stays_away_is_lost(monkeypatch):
    monkeypatch.setattr(websocket, "AWAY_LIMIT_S", 0.5)
    server = Served("Echo", "--protocol=vla-eval")
    policy, _ = websocket.connect_policy(f"{server.url}?protocol=vla-eval")
    policy._idle.pop().close()
    server.end()
    with pytest.raises(EpisodeError, match=server.url):
        policy.reset(EpisodeKey("s", "t", "p", 0))


def test_nobody_gets_the_action_of_a_neighbour_who_went_away():
    class Waits(Policy):
        def act(self, observations, states):
            entered.set()
            assert leave.wait(PATIENCE_S)
            return [float(o["x"]) for o in observations]

    entered, leave = threading.Event(), threading.Event()

    async def ask():
        waits = Desk(Engine(Waits()), 3)
        waits.live.update(range(3))
        running = asyncio.create_task(waits.run())
        asked = [
            asyncio.create_task(waits.ask(n, Job(Episode(EpisodeKey("s", "t", "p", n)), {"x": n}))) for n in range(3)
        ]
        await asyncio.to_thread(entered.wait)
        asked[0].cancel()
        await asyncio.sleep(0)
        leave.set()
        answers = await asyncio.gather(*asked[1:])
        running.cancel()
        return answers

    assert asyncio.run(ask()) == [1.0, 2.0]


def test_a_model_that_answers_at_once_is_asked_without_a_thread_until_it_takes_longer():
    threads: list[str] = []

    class Soon(Policy):
        def act(self, observations, states):
            threads.append(threading.current_thread().name)
            if len(threads) == 2 * QUICK_CALLS:
                time.sleep(2 * desk.QUICK_S)
            return [float(o["x"]) for o in observations]

    async def ask(fixed):
        threads.clear()
        counter = Desk(Engine(Soon(), fixed), 1)
        episode = Episode(EpisodeKey("s", "t", "p", 0))
        for x in range(2 * QUICK_CALLS + 1):
            assert await counter.ask(0, Job(episode, {"x": x})) == x
        return [name.startswith("policy") for name in threads]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(desk, "QUICK_S", 0.05)  # on a machine that has other work
        beside = asyncio.run(ask(fixed=0))
        assert beside[:QUICK_CALLS] == [True] * QUICK_CALLS
        assert beside[QUICK_CALLS:-1] == [False] * QUICK_CALLS
        assert beside[-1] is True
        assert all(asyncio.run(ask(fixed=1)))


@pytest.mark.parametrize(
    ("device", "given", "visible", "named"),
    [
        ("cpu", {}, {}, "cpu"),
        ("cuda:1", {}, {"CUDA_VISIBLE_DEVICES": "1"}, "cuda:0"),
        ("cuda:1", {"CUDA_VISIBLE_DEVICES": "4, 7"}, {"CUDA_VISIBLE_DEVICES": "7"}, "cuda:0"),
        ("cuda", {"CUDA_VISIBLE_DEVICES": "4"}, {}, "cuda"),
        ("mps", {}, {}, "mps"),
    ],
)
def test_a_replica_sees_its_own_cuda_device_and_no_other(device, given, visible, named):
    assert only_visible(device, given) == (visible, named)


def test_a_device_that_is_not_visible_is_refused():
    with pytest.raises(PolicyError, match="has 1 devices"):
        only_visible("cuda:1", {"CUDA_VISIBLE_DEVICES": "3"})


def test_models_share_the_cores_and_their_threads_sleep():
    assert thread_variables(1000, {}) == {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    assert thread_variables(1, {"OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "ACTIVE"}) == {}


def test_a_run_without_workers_bounds_the_threads_of_its_model(reach, monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    reach.makepyfile(
        my="""
        import os
        import numpy as np
        import pytest_vla as vla

        class Told(vla.Policy):
            def act(self, observations, states):
                assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
                return [np.zeros(2) for _ in observations]
        """
    )
    command = [sys.executable, "-m", "pytest", "--vla-policy=my:Told", "--vla-episodes=1", "-q"]
    done = subprocess.run(command, cwd=reach.path, capture_output=True)
    assert b"4 unsolved in" in done.stdout, done.stdout


def test_an_episode_whose_server_was_lost_is_played_once_more(reach):
    reach.makepyfile(
        my="""
        import numpy as np
        import pytest_vla as vla
        from pytest_vla.episode import EpisodeError

        tries = {}

        class Flaky(vla.Policy):
            def reset(self, episode):
                tries[episode] = tries.get(episode, 0) + 1
                return episode

            def act(self, observations, states):
                if tries[states[0]] == 1 or states[0].index == 1:
                    raise EpisodeError("server_lost", "the cable is out")
                return [np.zeros(2) for _ in observations]
        """
    )
    command = [sys.executable, "-m", "pytest", "--vla-policy=my:Flaky", "--vla-episodes=2", "-q"]
    done = subprocess.run(command, cwd=reach.path, capture_output=True, text=True)
    assert "4 unsolved" in done.stdout.splitlines()[-1], done.stdout
    assert done.stdout.count("the cable is out"), "the one that was lost twice is an error"
