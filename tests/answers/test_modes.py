"""Failure modes: planted ones are named by their own metric and by no other, and a gate can ask for them."""

from __future__ import annotations

import json

import pytest
from pytest_vla.suites.multinet import suite as make_suite
from pytest_vla.suites.multinet.policy import planted

from pytest_vla.answers.answer import Answer
from pytest_vla.answers.collected import Answers, Group, place_of
from pytest_vla.answers.estimates import Estimate, resampled, share
from pytest_vla.answers.forms import OPTION, TEXT
from pytest_vla.answers.knowledge import knowledge
from pytest_vla.answers.modality import conflict, reliance
from pytest_vla.answers.modes import FORMAT, KNOWLEDGE, MODALITY, measure
from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.metric_rules import MetricRule
from pytest_vla.registry import register
from pytest_vla.rollout import rollout
from pytest_vla.run import read_run

TASKS = ("piqa", "sqa3d", "robovqa", "odinw_shapes", "openx_wheeled_robot", "overcooked")
PLANTED = "pytest_vla.suites.multinet.policy.planted"


def asked(policy, perturbation="", count=40, tasks=TASKS):
    """The answers of a policy to the first samples of some tasks."""
    suite = register(make_suite())
    found = {}
    for task in tasks:
        env = suite.make_env(task)
        for index in range(count):
            key = suite.episode(task, "synthetic", index, perturbation)
            found[place_of(key)] = Answer.from_record(rollout(policy, env, key).extra["answer"])
    return Group(found)


@pytest.fixture(scope="module")
def reference():
    return asked(planted.healthy(seed=100))


@pytest.mark.parametrize(
    ("name", "mode"), [("healthy", None), ("unstable", FORMAT), ("misaligned", MODALITY), ("degraded", KNOWLEDGE)]
)
def test_a_planted_fault_is_named_and_no_other(reference, name, mode):
    for seed in (1, 2):
        answers = Answers(asked(getattr(planted, name)(seed=seed)), reference=reference, reference_policy="healthy")
        assert set(measure(answers).named) == ({mode} if mode else set())


def test_saying_one_and_the_same_is_no_answer():
    answers = Answers(asked(planted.constant(), tasks=("sqa3d",)))
    assert set(measure(answers).named) == {FORMAT}


def test_reliance_tells_who_needs_the_picture():
    tasks = ("sqa3d", "robovqa")
    for policy, low, high in ((planted.healthy(), 0.7, 1.5), (planted.blind(), -0.3, 0.2)):
        plain, black = asked(policy, tasks=tasks), asked(policy, "sensor.camera_loss=1", tasks=tasks)
        found = reliance(Answers(plain, {"sensor.camera_loss=1": black}), "image")
        assert low <= found.estimate.value <= high
    plain, black = (
        asked(planted.constant(), tasks=tasks),
        asked(planted.constant(), "sensor.camera_loss=1", tasks=tasks),
    )
    assert not reliance(Answers(plain, {"sensor.camera_loss=1": black}), "image").identifiable
    assert reliance(Answers(plain), "image") is None


def test_validity_that_depends_on_the_wording_is_a_flip():
    plain = Group({("s", "t", "p", n): Answer(OPTION, "integer", "1", "a") for n in range(40)})
    other = Group(
        {("s", "t", "p", n): Answer(OPTION, "short_text", "one", "b", invalid="wrong_type") for n in range(40)}
    )
    found = measure(Answers(plain, {"language.paraphrase=2": other, "language.empty=1": other}))
    assert found.estimates["validity_flip_rate"].value == 1
    assert FORMAT in found.named


def test_a_conflict_is_won_by_words_or_picture():
    def one(given):
        return Answer(TEXT, "short_text", given, given, given=given, label="red", other="blue", needs=("image", "text"))

    told = {("s", "t", "p", n): one(given) for n, given in enumerate(["blue", "blue", "red", "green"])}
    found = conflict(Answers(Group(), {"language.contradict=1": Group(told)}))
    assert (found.text, found.image, found.neither) == (0.5, 0.25, 0.25)


def test_without_a_reference_nothing_is_forgotten(reference):
    assert knowledge(Answers(reference)) is None
    same = knowledge(Answers(reference, reference=reference))
    assert (same.drop, same.knowledge_part, same.forgotten, same.pvalue) == (0, 0, 0, 1)


def test_shares_have_exact_intervals():
    none = share([False] * 300)
    assert none.interval() == pytest.approx((0, 0.01222), abs=1e-4)
    assert none.pvalue(0.01, below=True) == pytest.approx(0.99**300)
    assert Estimate(0.5, 10, hits=5).pvalue(0.5, below=False) > 0.5
    assert resampled(lambda weights: float(weights.sum()), 0) is None


@pytest.mark.parametrize("text", ["", "format_invalid_rate", "format_invalid_rate = 1", "format_invalid_rate < x"])
def test_what_is_no_rule_is_said(text):
    with pytest.raises(GateError, match="is no rule"):
        MetricRule.parse(text)
    with pytest.raises(GateError, match="did you mean 'format_invalid_rate'"):
        MetricRule.parse("format_invalid_rat < 0.1")


def test_a_gate_asks_for_a_metric_and_a_reference_is_run_first(pytester):
    pytester.makefile(
        ".toml", pyproject='[tool.pytest_vla.gate]\nmetrics = ["format_invalid_rate < 0.05", "retention > 0.8"]\n'
    )
    options = (
        "--vla-suite=multinet",
        "--vla-task=piqa,odinw_shapes",
        "--vla-episodes=60",
        "--vla-gate",
        "-p",
        "no:cacheprovider",
    )
    for name, status in (("healthy", 0), ("unstable", 1)):
        result = pytester.runpytest_subprocess(
            *options, f"--vla-policy={PLANTED}:{name}", f"--vla-reference={PLANTED}:healthy", f"--vla-run-dir={name}"
        )
        assert result.ret == status, result.stdout.str()
        result.stdout.fnmatch_lines(["*format_invalid_rate*< 0.05*", "*retention*> 0.8*"])
    run = read_run(pytester.path / "unstable")
    assert len(run.of_type("reference")[0]["rows"]) == 120
    assert (pytester.path / "unstable" / "reference" / "run.jsonl").is_file()
    again = pytester.run("pytest-vla", "gate", "unstable")
    assert again.ret == 1


def test_an_earlier_run_is_a_reference_too(pytester):
    options = ("--vla-suite=multinet", "--vla-task=piqa", "--vla-episodes=60")
    pytester.runpytest_subprocess(*options, f"--vla-policy={PLANTED}:healthy", "--vla-run-dir=before")
    result = pytester.runpytest_subprocess(
        *options, f"--vla-policy={PLANTED}:degraded", "--vla-reference=before", "--vla-report=page", "--vla-video=none"
    )
    result.stdout.fnmatch_lines(["knowledge degradation: retention *", "*beside*60 samples*"])
    page = (pytester.path / "page" / "report.html").read_text()
    assert "knowledge degradation: shown" in page
    assert "format instability: not shown" in page
    wrong = pytester.runpytest_subprocess(*options, "--vla-policy=oracle", "--vla-reference=nobody")
    assert wrong.ret == 4
    wrong.stderr.fnmatch_lines(["*--vla-reference=nobody could not be run*"])


def test_an_answer_reads_back_equal():
    answer = Answer(TEXT, "integer", "2", "ab", lenient=1.0, label="two", given="two", needs=("image",), trivial=0.0)
    assert Answer.from_record(json.loads(json.dumps(answer.to_record()))) == answer
