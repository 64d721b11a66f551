"""The controller's ledger: decides in episode order, tells workers through a folder, spends a budget."""

import random

import pytest
from gate_records import record, records

from pytest_vla.episode import EpisodeKey
from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.plugin import GateSession
from pytest_vla.options import Settings


def settings(**more):
    given = {"episodes": 100, "early_stop": True, "gate_table": {"success": {"dice": [0.6, 0.8]}}, **more}
    return Settings.from_dict(given)


def plan(tasks=("push",), count=100):
    cells = [["dice", task, "L1", "", count] for task in tasks]
    return {"cells": cells, "first": 0, "comparisons": len(tasks), "early_stop": True}


@pytest.fixture
def session(tmp_path):
    session = GateSession(settings())
    session.open(tmp_path)
    session.begin(plan())
    return session


def reason(session, task="push"):
    found = session.flags.reason(EpisodeKey("dice", task, "L1", 99))
    return found and found[1]


def test_a_decided_comparison_is_flagged_with_its_answer(session):
    for one in records("." * 11):
        assert reason(session) is None
        session.add(one)
    assert reason(session) == "decided: pass after 11 episodes"
    assert reason(session, "stack") is None


def test_results_that_arrive_before_earlier_ones_decide_nothing(session):
    for one in records("." * 40)[1:]:
        session.add(one)
    assert reason(session) is None
    session.add(record(0))
    assert reason(session) == "decided: pass after 11 episodes"


def test_the_answer_is_the_same_in_any_order_of_arrival(tmp_path):
    outcomes = "".join(random.Random(5).choices(".u", [6, 4], k=100))
    answers = set()
    for seed in range(5):
        session = GateSession(settings())
        session.open(tmp_path / str(seed))
        session.begin(plan())
        for one in random.Random(seed).sample(records(outcomes), 100):
            session.add(one)
        answers.add(reason(session))
    assert len(answers) == 1
    assert answers.pop() is not None


def test_a_failed_comparison_stops_even_where_another_is_open(tmp_path):
    session = GateSession(settings(gate_table={"success": {"dice": [0.6, 0.8]}, "by": "task"}))
    session.open(tmp_path)
    session.begin(plan(("push", "stack")))
    for one in records("u" * 10):
        session.add(one)
    assert reason(session).startswith("decided: fail after")
    assert reason(session, "stack") is None


def test_a_spent_budget_stops_everything(tmp_path):
    session = GateSession(settings(max_episodes=3))
    session.open(tmp_path)
    session.begin(plan())
    for one in records(".u."):
        session.add(one)
    assert reason(session, "stack") == "3 episodes were run, as many as --vla-max-episodes allows"


def test_flags_of_an_earlier_run_in_the_folder_do_not_count(session, tmp_path):
    for one in records("." * 11):
        session.add(one)
    again = GateSession(settings())
    again.open(tmp_path)
    assert reason(again) is None


def test_a_resumed_run_decides_by_what_it_has(tmp_path):
    session = GateSession(settings())
    session.open(tmp_path)
    session.begin(plan(), done=records("." * 11))
    assert reason(session) == "decided: pass after 11 episodes"


def test_a_repeat_is_no_evidence(session):
    for one in records("." * 30, repeat=1):
        session.add(one)
    assert reason(session) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gate_table": {}}, "nothing to judge by"),
        ({"early_stop": False, "max_episodes": 5}, "add --vla-early-stop"),
        ({"shard": "3/2"}, "--vla-shard must be I/N"),
    ],
)
def test_a_gate_that_makes_no_sense_is_one_clear_message(changes, message):
    with pytest.raises(GateError, match=message):
        GateSession(settings(**changes))
