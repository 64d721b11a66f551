"""A value that no run file can hold costs its one episode, in one process and between several."""

import json
from collections import defaultdict

import pytest

from pytest_vla.episode import EpisodeKey, Result, printable, writable
from pytest_vla.run import read_run

SUITE = """
import pytest_vla as vla
from test_reach import ReachSuite

class {name}(ReachSuite):
    name = "{name}"
    odd = False
    {method}

@vla.benchmark({name}(), task="near", partition="calm", episodes=3)
def test_{name}(policy, env, episode):
    vla.get_suite("{name}").odd = episode.index == 1
    assert vla.rollout(policy, env, episode)
"""
METHODS = {
    "nan_progress": "def progress(self, env): return float('nan') if self.odd else 0.5",
    "infinite_progress": "def progress(self, env): return float('inf') if self.odd else 0.5",
    "nan_feature": "def features(self, env): return {'size': float('nan') if self.odd else 0.5}",
    "provenance": "def provenance(self): return {'renderer': chr(0xd800) if self.odd else 'a'}",
    "digest": "def digest(self, env): return chr(0xd800) if self.odd else 'a'",
}


def outcomes(folder):
    """What became of each episode, by suite, task and partition."""
    run = read_run(folder)
    assert run.damaged == ()
    assert run.ended
    found = defaultdict(dict)
    for record in run.records():
        found[record.key.suite, record.key.task, record.key.partition][record.key.index] = (
            record.outcome,
            record.result.reason,
        )
    return dict(found)


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_a_bad_value_of_a_suite_is_an_error_of_its_episode(reach, workers):
    for name, method in METHODS.items():
        (reach.path / f"test_bad_{name}.py").write_text(SUITE.format(name=name, method=method))
    files = [f"test_bad_{name}.py" for name in METHODS]
    result = reach.runpytest(*files, "--vla-policy=oracle", "--vla-run-dir=run", "--vla-report=page", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    expected = {0: ("solved", None), 1: ("error", "env_error"), 2: ("solved", None)}
    assert outcomes(reach.path / "run") == {(name, "near", "calm"): expected for name in METHODS}


BODIES = {  # by the cell in which each is tried: what the test does, what its second episode comes to
    ("near", "calm"): (
        "assert vla.rollout(policy, env, episode); assert episode.index != 1, chr(0xd800)",
        ("solved", None),
    ),
    ("near", "windy"): (
        "assert episode.index != 1, chr(0xd800); assert vla.rollout(policy, env, episode)",
        ("error", "test_error"),
    ),
    ("far", "calm"): (
        "if episode.index == 1: pytest.skip(chr(0xd800))\n    assert vla.rollout(policy, env, episode)",
        None,
    ),
    ("far", "windy"): (
        "record_property('size', object()); assert vla.rollout(policy, env, episode)",
        ("solved", None),
    ),
}


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_a_bad_value_of_a_test_loses_no_episode(reach, workers):
    functions = [
        f"""
@vla.benchmark("reach", task="{task}", partition="{partition}", episodes=3)
def test_{task}_{partition}(policy, env, episode, record_property):
    {body}
"""
        for (task, partition), (body, _) in BODIES.items()
    ]
    (reach.path / "test_odd.py").write_text(
        "import pytest\nimport pytest_vla as vla\nimport test_reach\n" + "".join(functions)
    )
    result = reach.runpytest("test_odd.py", "--vla-policy=oracle", "--vla-run-dir=run", *workers)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    found = outcomes(reach.path / "run")
    for cell, (_, outcome) in BODIES.items():
        episodes = found["reach", *cell]
        assert (episodes.pop(1, None), episodes) == (outcome, {0: ("solved", None), 2: ("solved", None)}), cell


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_a_policy_that_raises_half_a_letter_is_an_error_of_its_own(reach, workers):
    reach.makepyfile(
        odd_policy="""
        import pytest_vla as vla
        class Odd(vla.Policy):
            def act(self, observations, states):
                raise RuntimeError(chr(0xd800))
        """
    )
    options = ["--vla-policy=odd_policy:Odd", "--vla-task=near", "--vla-partition=calm", "--vla-episodes=2"]
    result = reach.runpytest(*options, "--vla-run-dir=run", *workers)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    expected = {0: ("error", "policy_error"), 1: ("error", "policy_error")}
    assert outcomes(reach.path / "run") == {("reach", "near", "calm"): expected}


KEY = EpisodeKey("dice", "push", "L1", 0)


@pytest.mark.parametrize(
    "values",
    [
        {"progress": float("nan")},
        {"instruction": "\ud800"},
        {"timings": {"act": float("inf")}},
        {"timings": {"act": "long"}},
        {"curve": [0.0, float("nan")]},
        {"extra": {"note": "\ud800"}},
        {"extra": {"note": {"deep": [float("nan")]}}},
        {"digest": 5},
        {"steps": -1},
    ],
)
def test_a_result_that_cannot_be_written_is_an_error(values):
    result = writable(Result(KEY, "solved", **values))
    assert (result.outcome, result.reason) == ("error", "env_error")
    assert "cannot be written down" in result.message
    json.dumps(result.to_record(), ensure_ascii=False, allow_nan=False).encode()


def test_an_error_that_cannot_be_written_keeps_its_reason():
    result = writable(Result(KEY, "error", "policy_error", "it said \ud800"))
    assert result.reason == "policy_error"
    assert result.message.startswith("it said \\ud800")


def test_a_result_that_can_be_written_is_itself():
    result = Result(KEY, "solved", progress=1.0, instruction="é 😀")
    assert writable(result) is result
    assert printable("é 😀") == "é 😀"
