"""How many threads a model gets beside simulators: what its first calls show."""

import os
import threading

import pytest

from pytest_vla.inference.threads import COUNT, TURNS, WARM_CALLS, ThreadTrial


def run_trial(seconds):
    """A trial to its end, whose calls take what `seconds` says of a number of threads; the numbers that were tried."""
    trial, tried = ThreadTrial(4), []
    while not trial.is_over:
        tried.append(trial.threads)
        trial.took(rows=2, seconds=seconds(trial.threads))
    return trial, tried


@pytest.mark.parametrize(("one", "four", "better"), [(0.010, 0.016, 1), (0.100, 0.040, 4), (0.02, 0.02, 1)])
def test_what_was_faster_stays(one, four, better):
    trial, tried = run_trial({1: one, 4: four}.get)
    assert trial.threads == better
    assert tried[WARM_CALLS:].count(1) == tried[WARM_CALLS:].count(4) == TURNS


def test_a_few_slow_calls_do_not_decide():
    slow = iter([1.0, 1.0, 1.0])
    trial, _ = run_trial(lambda threads: next(slow, 0.01) if threads == 1 else 0.02)
    assert trial.threads == 1


def test_the_first_calls_do_not_count():
    trial = ThreadTrial(4)
    for _ in range(WARM_CALLS):
        assert trial.threads == 4
        trial.took(rows=1, seconds=100.0)
    while not trial.is_over:
        trial.took(rows=1, seconds=1.0 if trial.threads == 1 else 0.5)
    assert trial.threads == 4


def test_calls_of_more_rows_are_compared_by_the_row():
    trial = ThreadTrial(2)
    while not trial.is_over:
        rows = 8 if trial.threads == 2 else 1
        trial.took(rows, seconds=0.01 * rows if trial.threads == 1 else 0.005 * rows)
    assert trial.threads == 2


@pytest.mark.slow
@pytest.mark.parametrize(("given", "last"), [("", 1), ("2", 2)])
def test_a_server_keeps_the_threads_that_served_faster_unless_a_person_said_how_many(
    serve, connect, key, observe, monkeypatch, given, last
):
    pytest.importorskip("torch")
    monkeypatch.setattr("pytest_vla.inference.threads.usable_cores", lambda: 2)
    monkeypatch.delenv(COUNT, raising=False)
    if given:
        monkeypatch.setenv(COUNT, given)
    client = connect(serve("Threaded", batch=1))
    state = client.reset(key(0))
    had = [int(client.act([observe(0)], [state])[0][0]) for _ in range(WARM_CALLS + 2 * TURNS + 4)]
    assert had[0] == 2
    assert had[-4:] == [last] * 4


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="Linux alone has it")
def test_who_waits_for_the_model_does_not_take_its_core(serve, connect, key, observe):
    """It is the thread that asks, and no other; what a person chose stays."""
    found, here = {}, os.sched_getscheduler(0)

    def ask(name, chosen):
        os.sched_setscheduler(0, chosen, os.sched_param(0))
        client = connect(service)
        client.act([observe(0)], [client.reset(key(0))])
        found[name] = os.sched_getscheduler(0)

    service = serve("Echo")
    for arguments in (("asking", os.SCHED_OTHER), ("idle", os.SCHED_IDLE)):
        thread = threading.Thread(target=ask, args=arguments)
        thread.start()
        thread.join()
    assert found == {"asking": os.SCHED_BATCH, "idle": os.SCHED_IDLE}
    assert os.sched_getscheduler(0) == here
