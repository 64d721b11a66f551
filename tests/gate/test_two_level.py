"""Two levels: a partition no worse on the whole, no single task proven worse; and a line that must not drift."""

import random
from itertools import pairwise

import pytest
from gate_records import judge, record

from pytest_vla.episode import Cell
from pytest_vla.gate.comparisons import Scope
from pytest_vla.gate.evidence import GateError, Verdict
from pytest_vla.gate.printing import headline, remarks, render
from pytest_vla.gate.questions import questions, shard_by
from pytest_vla.gate.rules import read_rules
from pytest_vla.gate.watch import Watch
from pytest_vla.run import Table

RULES = read_rules({"margin": 0.1})
TASKS = 12


def run_of(rates, episodes=20, flips=0.0, seed=0):
    """A policy that solves an episode where its own luck is below the task's rate, but for a share of flips."""
    noise = random.Random(seed)
    made = []
    for place, rate in enumerate(rates):
        for index in range(episodes):
            luck = random.Random(f"{place} {index}").random()
            solved = (luck < rate) != (noise.random() < flips)
            made.append(record(index, "solved" if solved else "unsolved", task=f"t{place:02d}"))
    return made


def cells(tasks, partition="L1"):
    return [Cell("dice", f"t{place:02d}", partition) for place in range(tasks)]


def test_it_is_the_default_from_four_tasks_on_and_only_against_a_baseline():
    assert [question.guard for question in questions(cells(3), RULES, ["baseline"])] == [False] * 3
    assert [question.guard for question in questions(cells(4), RULES, ["baseline"])] == [False] + [True] * 4
    thresholds = read_rules({"success": 0.5})
    assert [question.group.task for question in questions(cells(4), thresholds)] == ["t00", "t01", "t02", "t03"]
    assert shard_by(cells(4), RULES, has_baseline=True) == "two-level"
    assert shard_by(cells(4), thresholds, has_baseline=False) == shard_by(cells(3), RULES, True) == "task"


def test_each_partition_has_its_own_levels():
    asked = questions([*cells(4), *cells(2, "L2")], RULES, ["baseline"])
    assert [str(question.group) for question in asked if not question.guard] == [
        "dice/*/L1",
        "dice/t00/L2",
        "dice/t01/L2",
    ]


def test_without_a_baseline_it_is_one_clear_message():
    with pytest.raises(GateError, match=r"two-level.*add --vla-baseline"):
        questions(cells(4), read_rules({"by": "two-level", "success": 0.5}))


def test_equal_policies_pass_though_no_task_alone_could():
    base = run_of([0.8] * TASKS)
    judgement = judge(run_of([0.8] * TASKS, flips=0.02, seed=1), RULES, baseline=base)
    assert judgement.verdict is Verdict.PASS
    assert "all 1 comparisons, and none of 12 tasks is proven worse" in headline(judgement)
    assert "not proven worse" in render(judgement)
    by_task = judge(run_of([0.8] * TASKS, flips=0.02, seed=1), read_rules({"by": "task"}), baseline=base)
    assert by_task.verdict is Verdict.UNDECIDED


def test_a_single_broken_task_fails_by_name_where_the_whole_would_pass():
    base, broken = run_of([0.9] * TASKS), run_of([0.9] * 11 + [0.3])
    judgement = judge(broken, RULES, baseline=base)
    assert judgement.rows[0].verdict is Verdict.PASS
    assert headline(judgement) == "vla gate: FAIL (exit 1): dice/t11/L1"
    assert judge(broken, read_rules({"by": "partition"}), baseline=base).verdict is Verdict.PASS


def test_early_stopping_leaves_a_task_only_once_it_cannot_be_broken():
    base, broken = run_of([0.9] * 6, 60), run_of([0.9] * 5 + [0.3], 60)
    scope = Scope(dict.fromkeys(cells(6), 60), 0, 7, early_stop=True)
    watch = Watch(RULES, scope, {"baseline": Table.of(base)})
    settled = {}
    for one in sorted(broken, key=lambda one: one.key.index):
        settled.update({cell.task: verdict for cell, verdict, _ in watch.add(one)})
    assert settled.pop("t05") is Verdict.FAIL
    assert judge(broken, RULES, scope, base).verdict is Verdict.FAIL


def test_ten_small_steps_are_seen_from_the_anchor():
    """Each policy is 3 points worse than the one merged before it."""
    rates = [0.9 - 0.03 * step for step in range(11)]
    runs = [run_of([rate] * TASKS, 40) for rate in rates]
    merged = [judge(new, RULES, baseline=old).verdict for old, new in pairwise(runs)]
    assert merged.count(Verdict.PASS) >= 7
    anchored = [judge(new, RULES, baseline=old, anchor=Table.of(runs[0])) for old, new in pairwise(runs)]
    verdicts = [judgement.verdict for judgement in anchored]
    assert Verdict.PASS not in verdicts[3:], "12 points below the release"
    assert verdicts[-1] is Verdict.FAIL
    assert any("since the anchor" in line and "points" in line for line in remarks(anchored[-1]))
