"""Running again until it passes: seen, counted, and answered with a stricter test."""

import pytest
from gate_records import record, records

from pytest_vla.episode import EpisodeKey
from pytest_vla.gate.evidence import GateError, Verdict
from pytest_vla.gate.judge import judge_run
from pytest_vla.gate.ledger import Ledger, open_ledger, spent
from pytest_vla.gate.printing import render
from pytest_vla.run import KeySet, Plan, RunWriter, read_run


def write(path, outcomes, first=0, policy="sha", created="now"):
    keys = KeySet.of(EpisodeKey("dice", "push", "L1", first + place) for place in range(len(outcomes)))
    options = {"gate_table": {"success": 0.5}, "first_episode": first}
    first_line = {"type": "run", "created": created, "policy": {"text": "p", "digest": policy}, "options": options}
    writer = RunWriter.create(path, first_line)
    writer.write(Plan(keys, keys).to_record())
    for one in records(outcomes):
        writer.write(record(first + one.key.index, one.outcome).to_record())
    writer.close()
    return read_run(path)


def test_all_verdicts_together_use_no_more_than_the_error_rate():
    assert sum(spent(attempt) for attempt in range(1, 200)) == pytest.approx(1.0)
    assert spent(1) == 0.8


def test_a_second_run_with_fresh_episodes_must_prove_more(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    outcomes = "." * 23 + "u" * 10  # p = 0.018
    verdicts = []
    for attempt in range(3):
        run = write(tmp_path / f"{attempt}.jsonl", outcomes, first=100 * attempt, created=str(attempt))
        judgement = judge_run(run, ledger=ledger)
        verdicts.append((judgement.verdict, judgement.attempt))
    assert verdicts == [(Verdict.PASS, 1), (Verdict.UNDECIDED, 2), (Verdict.UNDECIDED, 3)]
    assert "verdict number 3 on this policy: a pass needs 99.84% confidence by now" in render(judgement)


def test_judging_the_same_run_again_is_the_same_verdict(tmp_path):
    ledger, run = Ledger(tmp_path / "ledger.jsonl"), write(tmp_path / "run.jsonl", "." * 40)
    assert judge_run(run, ledger=ledger) == judge_run(run, ledger=ledger)
    assert len((tmp_path / "ledger.jsonl").read_text().splitlines()) == 1


def test_another_policy_and_other_rules_are_other_questions(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    judge_run(write(tmp_path / "a.jsonl", "." * 40), ledger=ledger)
    other = write(tmp_path / "b.jsonl", "." * 40, policy="other")
    assert judge_run(other, ledger=ledger).attempt == 1
    again = write(tmp_path / "c.jsonl", "." * 40, created="later")
    assert judge_run(again, changes={"success": 0.6}, ledger=ledger).attempt == 1
    assert judge_run(again, ledger=ledger).attempt == 2


def test_it_is_the_named_one_or_the_one_that_is_kept_beside_the_baseline(tmp_path):
    beside = tmp_path / "main.ledger.jsonl"
    assert open_ledger(None, tmp_path / "main.jsonl") is None
    beside.touch()
    assert open_ledger(None, tmp_path / "main.jsonl") == Ledger(beside)
    assert open_ledger("none", tmp_path / "main.jsonl") is None
    assert open_ledger("mine.jsonl", None).path.name == "mine.jsonl"


def test_a_damaged_ledger_is_one_clear_message(tmp_path):
    (tmp_path / "ledger.jsonl").write_text("{}\n")
    with pytest.raises(GateError, match=r"the ledger '.*' is damaged"):
        judge_run(write(tmp_path / "run.jsonl", "." * 40), ledger=Ledger(tmp_path / "ledger.jsonl"))
