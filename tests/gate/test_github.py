"""What GitHub Actions hears of a verdict, and that nobody else does."""

from gate_records import judge, records

from pytest_vla.gate.printing import workflow_commands, write_step_summary
from pytest_vla.gate.rules import read_rules

ACTIONS = {"GITHUB_ACTIONS": "true"}
RULES = read_rules({"success": 0.8})
MIXED = judge(records("u" * 40) + records("." * 5, task="stack") + records("." * 40, task="turn"), RULES)


def test_outside_github_nothing_is_said(tmp_path):
    assert workflow_commands(MIXED, {}) == []
    write_step_summary(MIXED, {})
    assert list(tmp_path.iterdir()) == []


def test_failures_are_errors_undecided_are_warnings_and_passes_are_silent():
    failed, undecided = workflow_commands(MIXED, ACTIONS)
    assert failed.startswith("::error title=dice/push/L1::fail: 0.0%25 ")
    assert undecided.startswith("::warning title=dice/stack/L1::undecided, ~")


def test_too_many_errors_are_an_annotation_of_their_own():
    judgement = judge(records("." * 40 + "E"), RULES)
    assert workflow_commands(judgement, ACTIONS) == [
        "::error title=pytest-vla gate::vla gate: FAIL (exit 1): 1 errors, 0 allowed (--vla-max-errors)"
    ]


def test_the_step_summary_is_appended(tmp_path):
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    write_step_summary(MIXED, {"GITHUB_STEP_SUMMARY": str(path)})
    text = path.read_text()
    assert text.startswith("before\n### vla gate: FAIL")
    assert "| dice/turn/L1 | threshold | 40 |" in text
