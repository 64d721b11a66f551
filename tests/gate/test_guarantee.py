"""Which guarantee a verdict has: for a declared number of episodes, or for whenever one looks and goes on."""

import json

import pytest
from gate_records import judge, record, records

from pytest_vla.episode import Cell, EpisodeKey
from pytest_vla.gate.evidence import Verdict
from pytest_vla.gate.judge import absent_cells, history_of, judge_run
from pytest_vla.gate.printing import headline, remarks, render
from pytest_vla.gate.rules import read_rules
from pytest_vla.gate.side_by_side import describe, differences
from pytest_vla.run import KeySet, Plan, RunWriter, Table, Unrun, read_run
from pytest_vla.run.merge import merge_runs

PROVENANCE = {"type": "run", "policy": {"text": "p", "digest": "sha"}, "options": {"gate_table": {"success": 0.5}}}
VERDICT = {"type": "verdict", "verdict": "undecided"}


def plan(count, first=0, tasks=("push",)):
    keys = KeySet.of(EpisodeKey("dice", task, "L1", index) for task in tasks for index in range(first, first + count))
    return Plan(keys, keys)


def write(path, *lines, options=None):
    provenance = {**PROVENANCE, "options": {**PROVENANCE["options"], **(options or {})}}
    writer = RunWriter.create(path, provenance)
    for line in lines:
        writer.write(line if isinstance(line, dict) else line.to_record())
    writer.close()
    return read_run(path)


def test_a_declared_number_of_episodes_keeps_the_test_that_is_made_for_it(tmp_path):
    judgement = judge_run(write(tmp_path / "run.jsonl", plan(40), *records("." * 40)))
    assert not judgement.guarantee.anytime
    assert "declared before the first" in "\n".join(remarks(judgement))


def test_a_killed_run_that_is_resumed_to_its_plan_keeps_it_too(tmp_path):
    run = write(tmp_path / "run.jsonl", plan(40), *records("." * 10), plan(40), *records("." * 40)[10:])
    assert history_of(run) == []


def test_more_episodes_than_declared_are_tested_for_any_time(tmp_path):
    run = write(tmp_path / "run.jsonl", plan(10), *records("." * 10), plan(40), *records("." * 40)[10:])
    judgement = judge_run(run)
    assert judgement.guarantee.anytime
    assert "its plan was changed after its first episodes" in render(judgement)


def test_episodes_after_a_verdict_are_tested_for_any_time(tmp_path):
    lines = [plan(40), *records("." * 10), VERDICT, plan(40), *records("." * 40)[10:]]
    run = write(tmp_path / "run.jsonl", *lines)
    assert (run.looks, history_of(run)) == (1, ["a verdict was given before its last episodes"])


def test_judging_the_same_records_again_is_the_same_verdict(tmp_path):
    run = write(tmp_path / "run.jsonl", plan(40), *records("." * 40), VERDICT, plan(40), VERDICT)
    assert (run.looks, history_of(run)) == (0, [])


def test_merged_shards_keep_the_declared_number_and_merged_plans_do_not(tmp_path):
    whole, letters = plan(40), records("." * 40)
    parts = [KeySet.of(one.key for one in letters[start::2]) for start in (0, 1)]
    shards = [
        write(tmp_path / f"{number}.jsonl", Plan(part, whole.whole), *letters[number::2])
        for number, part in enumerate(parts)
    ]
    merge_runs(shards, tmp_path / "union.jsonl")
    assert history_of(read_run(tmp_path / "union.jsonl")) == []
    later = write(tmp_path / "later.jsonl", plan(40, first=40), *[record(index) for index in range(40, 80)])
    merge_runs([read_run(tmp_path / "union.jsonl"), later], tmp_path / "more.jsonl")
    assert history_of(read_run(tmp_path / "more.jsonl")) == ["its plan was changed after its first episodes"]


def test_going_on_needs_more_than_stopping_as_declared(tmp_path):
    """17 of 20 is proof of more than 0.64 at one look, and not where one may look again."""
    outcomes, rules = records("u" * 3 + "." * 17), {"gate_table": {"success": 0.64}}
    declared = write(tmp_path / "a.jsonl", plan(20), *outcomes, options=rules)
    extended = write(tmp_path / "b.jsonl", plan(5), *outcomes[:5], plan(20), *outcomes[5:], options=rules)
    assert judge_run(declared).verdict is Verdict.PASS
    assert judge_run(extended).verdict is Verdict.UNDECIDED


def test_an_unfinished_run_may_fail_and_never_passes(tmp_path):
    good = judge_run(write(tmp_path / "good.jsonl", plan(80), *records("." * 60)))
    bad = judge_run(write(tmp_path / "bad.jsonl", plan(80), *records("u" * 60)))
    assert (good.verdict, bad.verdict) == (Verdict.UNDECIDED, Verdict.FAIL)
    assert "judged so far" in render(good)


def test_what_a_killed_run_happened_to_finish_is_not_judged(tmp_path):
    """Unsolved episodes take longer: those that are missing are the bad ones."""
    arrived = [one for one in records("u" + "." * 60) if one.solved]
    judgement = judge_run(write(tmp_path / "run.jsonl", plan(61), *arrived))
    assert judgement.rows[0].comparison.sample.size == 0


def test_a_baseline_that_was_stopped_early_is_compared_for_any_time(tmp_path):
    stopped = Unrun("decided", "decided: pass after 20 episodes", plan(20, first=20).part)
    write(tmp_path / "old.jsonl", plan(40), *records("." * 20), stopped, {"type": "end"})
    run = write(tmp_path / "new.jsonl", plan(20), *records("." * 20), options={"gate_table": {"margin": 0.2}})
    judgement = judge_run(run, tmp_path / "old.jsonl")
    assert judgement.guarantee.reasons == ("the baseline was stopped early",)


def test_a_task_that_the_baseline_has_and_the_run_has_not_leaves_it_undecided():
    both = records("." * 40) + records("." * 40, task="stack")
    absent = absent_cells([Cell("dice", "push", "L1")], Table.of(both))
    assert absent == ((Cell("dice", "stack", "L1"),), ())
    judgement = judge(records("." * 40), read_rules({}), baseline=both, absent=absent)
    assert judgement.verdict is Verdict.UNDECIDED
    assert "the baseline has dice/stack/L1, this run has not" in headline(judgement)


def test_what_was_not_asked_for_is_a_remark():
    both = records("." * 40) + records("." * 40, task="stack") + records("." * 40, partition="L2")
    absent = absent_cells([Cell("dice", "push", "L1")], Table.of(both), picked=["push"])
    assert absent == ((), (Cell("dice", "push", "L2"), Cell("dice", "stack", "L1")))
    judgement = judge(records("." * 40), read_rules({}), baseline=both, absent=absent)
    assert judgement.verdict is Verdict.PASS
    assert any("dice/push/L2, dice/stack/L1, which this run was not asked for" in line for line in remarks(judgement))


def test_time_outs_cannot_make_a_policy_pass():
    solved_or_late = [
        record(index, "solved" if index % 10 < 7 else "error", reason=None if index % 10 < 7 else "timeout")
        for index in range(60)
    ]
    judgement = judge(solved_or_late, read_rules({"success": 0.8}), max_errors=60)
    assert judgement.verdict is Verdict.UNDECIDED, "all that was measured was solved, and 30% was not measured"
    assert "[92, 100], worst 70.0" in render(judgement)


def test_a_merge_keeps_the_time_out_that_a_second_try_replaces(tmp_path):
    late = [record(0, "error", reason="timeout"), *records("...")[1:]]
    first = write(tmp_path / "first.jsonl", plan(3), *late)
    second = write(tmp_path / "second.jsonl", plan(3), record(0))
    for order in ([first, second], [second, first]):
        merge_runs(order, tmp_path / "union.jsonl")
        union = read_run(tmp_path / "union.jsonl")
        assert (union.table.solved.tolist(), union.table.faulted.tolist()) == ([True] * 3, [True, False, False])
        (tmp_path / "union.jsonl").unlink()


def test_the_verdict_line_says_which_guarantee_it_has(tmp_path):
    line = judge_run(write(tmp_path / "run.jsonl", plan(40), *records("." * 40))).to_record()
    assert line["anytime"] is False
    json.dumps(line)


def compared(tmp_path, name, outcomes, *lines):
    return write(tmp_path / f"{name}.jsonl", plan(len(outcomes)), *records(outcomes), *lines)


def test_compare_corrects_for_every_run_it_shows(tmp_path):
    """Alone 6 lost of 40 are beyond chance; as one of ten such comparisons they are not."""
    reference = compared(tmp_path, "a", "." * 40)
    worse = compared(tmp_path, "b", "." * 34 + "u" * 6)
    assert differences(reference, worse)[0].pvalue < 0.05
    others = [compared(tmp_path, f"c{number}", "." * 40) for number in range(9)]
    text = describe([reference, worse, *others], [f"run{number}" for number in range(11)])
    assert not [line for line in text.splitlines() if line.startswith("dice") and "* " in line]


def test_compare_knows_that_a_run_was_stopped_early(tmp_path):
    reference = compared(tmp_path, "a", "." * 40)
    stopped = Unrun("decided", "decided: fail after 34 episodes", plan(6, first=34).part)
    early = write(tmp_path / "b.jsonl", plan(40), *records("." * 28 + "u" * 6), stopped)
    plain = compared(tmp_path, "c", "." * 28 + "u" * 6)
    assert differences(reference, plain)[0].pvalue < differences(reference, early)[0].pvalue
    assert "stopped early" in describe([reference, early], ["a", "b"])


@pytest.mark.parametrize("kind", ["episode", "verdict"])
def test_only_episodes_after_a_verdict_make_it_a_look(tmp_path, kind):
    last = record(1) if kind == "episode" else VERDICT
    assert write(tmp_path / "run.jsonl", plan(2), record(0), VERDICT, last).looks == (kind == "episode")
