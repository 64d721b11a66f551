"""Pooled tests: a round is one episode of every task, whatever their names, difficulty or order of arrival."""

import itertools
import random

import numpy as np
import pytest
from gate_records import judge, record
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_vla.episode import Cell
from pytest_vla.gate.comparisons import Scope
from pytest_vla.gate.evidence import Bounds, Verdict
from pytest_vla.gate.exact import information, pooled_rate_evidence, rate_evidence
from pytest_vla.gate.rules import read_rules
from pytest_vla.gate.sequential import Looks, Match, difference_bets, evidence, rate_bets, stakes
from pytest_vla.gate.watch import Watch
from pytest_vla.run import Table

POOLED = read_rules({"success": {"dice": [0.4, 0.6]}, "by": "partition"})
NO_WORSE = read_rules({"margin": 0.2, "by": "partition"})


def worth(bets, chances):
    """The expected stake after every round: all outcomes of two rounds with their probabilities."""
    tasks, values = len(chances), sorted({value for chance in chances for value in chance})
    runs = np.array(list(itertools.product(values, repeat=2 * tasks)), dtype=float).reshape(-1, 2, tasks)
    weight = np.prod([[[chances[k][x] for k, x in enumerate(row)] for row in run] for run in runs], axis=(1, 2))
    return weight @ np.exp(stakes(bets, runs))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=3), st.floats(0, 0.4))
def test_the_stake_is_fair_however_different_the_tasks_are(rates, room):
    bound = float(np.mean(rates))
    chances = [{1: rate, 0: 1 - rate} for rate in rates]
    assert (worth(rate_bets(bound, min(1.0, bound + room)), chances) <= 1 + 1e-9).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)), min_size=2, max_size=2), st.floats(0, 0.3))
def test_so_is_that_on_differences(flips, room):
    bound = float(np.mean([up - down for up, down in flips]))
    chances = [{1: up, -1: down, 0: 1 - up - down} for up, down in flips]
    assert (worth(difference_bets(bound, bound + room), chances) <= 1 + 1e-9).all()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4), st.integers(0, 10_000), st.sampled_from([Bounds(0.4, 0.6), Bounds(0.5, 0.5), Bounds(0.0, 1.0)])
)
def test_looking_round_by_round_gives_the_answer_of_all_rounds_at_once(tasks, seed, bounds):
    outcomes = (np.random.default_rng(seed).random((40, tasks)) < 0.6).astype(float)
    looks = Looks(Match.of_rate(bounds), tasks, 0.05, 0.05)
    for row in outcomes:
        looks.add(row, row)
    whole = evidence(Match.of_rate(bounds), outcomes, outcomes, 0.05, 0.05)
    assert looks.stopped == whole.stopped
    assert not whole.stopped or looks.used == whole.used


def run_of(rates, episodes, seed=0, **more):
    """Tasks named by their place, each with its own rate; outcomes are drawn from the key."""
    luck = random.Random(seed)
    return [
        record(index, "solved" if luck.random() < rate else "unsolved", task=f"t{place:02d}", **more)
        for place, rate in enumerate(rates)
        for index in range(episodes)
    ]


def scope_of(tasks, episodes):
    return Scope({Cell("dice", f"t{place:02d}", "L1"): episodes for place in range(tasks)}, 0, 1, early_stop=True)


@pytest.mark.parametrize("rising", [True, False])
def test_tasks_whose_names_sort_by_difficulty_decide_nothing(rising):
    """The mean rate is 0.5, between the bounds: a test that stopped inside a round would always cross."""
    rates = sorted([0, 1] * 10, reverse=not rising)
    assert judge(run_of(rates, 1), POOLED, scope_of(20, 1)).verdict is Verdict.UNDECIDED


def test_an_unpaired_baseline_is_compared_task_by_task():
    """The same policy on other scenes: flattened by task, the baseline's easy tasks would meet the new hard ones."""
    rates = np.linspace(0, 1, 10)
    new, old = run_of(rates, 60, 1), run_of(rates, 60, 2, initial_digest="moved")
    judgement = judge(new, NO_WORSE, scope_of(10, 60), old)
    assert judgement.rows[0].comparison.sample.test == "unpaired"
    assert judgement.verdict is Verdict.PASS
    worse = judge(run_of(np.clip(rates - 0.25, 0, 1), 60, 1), NO_WORSE, scope_of(10, 60), old)
    assert worse.verdict is Verdict.FAIL


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 1000), st.sampled_from(["threshold", "paired", "unpaired"]), st.sampled_from(["task", "partition"])
)
def test_a_run_stops_where_its_verdict_says(seed, kind, by):
    """What is watched result by result, in any order, is what is judged in the end."""
    rates, luck = np.linspace(0.1, 0.9, 3), random.Random(seed)
    table = {"by": by} if kind != "threshold" else {"success": {"dice": [0.4, 0.6]}, "by": by}
    rules = read_rules({**table, "margin": 0.3})
    new = run_of(rates, 30, seed)
    old = None if kind == "threshold" else run_of(rates, 30, seed + 1)
    if kind == "unpaired":
        old = run_of(rates, 30, seed + 1, initial_digest="moved")
    scope = Scope({Cell("dice", f"t{place:02d}", "L1"): 30 for place in range(3)}, 0, 3, early_stop=True)
    watch = Watch(rules, scope, {} if old is None else {"baseline": Table.of(old)})
    settled = {}
    for one in luck.sample(new, len(new)):
        settled.update({cell: (verdict, used) for cell, verdict, used in watch.add(one)})
    for row in judge(new, rules, scope, old).rows:
        for cell, answer in settled.items():
            if row.comparison.group.task in ("*", cell.task):
                assert answer == (row.evidence.stopped, row.evidence.used)
        if row.evidence.stopped:
            assert any(row.comparison.group.task in ("*", cell.task) for cell in settled)


def test_tasks_of_different_difficulty_are_worth_more_episodes():
    alike, different = [(5, 10)] * 17, [(10, 10)] * 8 + [(5, 10)] + [(0, 10)] * 8
    bounds = Bounds(0.4, 0.4)
    assert information(alike) == 1
    assert pooled_rate_evidence(alike, bounds) == rate_evidence(85, 170, bounds)
    assert information(different) > 3
    assert pooled_rate_evidence(different, bounds).passing < rate_evidence(85, 170, bounds).passing / 10
    assert information([(1, 1), (0, 1)]) == 1, "one episode says nothing of a task's own spread"
