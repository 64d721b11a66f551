"""A value that no run file can hold costs its one episode, in one process and between several."""

import json

import pytest

from pytest_vla.episode import EpisodeKey, Result, printable, writable
from pytest_vla.run import read_run

SUITE = """
import pytest_vla as vla
from test_reach import ReachSuite

class Odd(ReachSuite):
    name = "odd"
    odd = False
    {method}

@vla.benchmark(Odd(), task="near", partition="calm", episodes=3)
def test_odd(policy, env, episode):
    vla.get_suite("odd").odd = episode.index == 1
    assert vla.rollout(policy, env, episode)
"""
METHODS = {
    "nan progress": "def progress(self, env): return float('nan') if self.odd else 0.5",
    "infinite progress": "def progress(self, env): return float('inf') if self.odd else 0.5",
    "nan feature": "def features(self, env): return {'size': float('nan') if self.odd else 0.5}",
    "provenance": "def provenance(self): return {'renderer': chr(0xd800) if self.odd else 'a'}",
    "digest": "def digest(self, env): return chr(0xd800) if self.odd else 'a'",
}


def outcomes(folder):
    run = read_run(folder)
    assert run.damaged == ()
    assert run.ended
    return {record.key.index: (record.outcome, record.result.reason) for record in run.records()}


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "n2"])
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_bad_value_of_a_suite_is_an_error_of_its_episode(reach, method, workers):
    reach.makepyfile(test_odd=SUITE.format(method=method))
    options = ["test_odd.py", "--vla-policy=oracle", "--vla-run-dir=run", "--vla-report=page", *workers]
    result = reach.runpytest_subprocess(*options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert outcomes(reach.path / "run") == {0: ("solved", None), 1: ("error", "env_error"), 2: ("solved", None)}


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "n2"])
@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("assert vla.rollout(policy, env, episode); assert episode.index != 1, chr(0xd800)", ("solved", None)),
        ("assert episode.index != 1, chr(0xd800); assert vla.rollout(policy, env, episode)", ("error", "test_error")),
        ("if episode.index == 1: pytest.skip(chr(0xd800))\n    assert vla.rollout(policy, env, episode)", None),
        ("record_property('size', object()); assert vla.rollout(policy, env, episode)", ("solved", None)),
    ],
    ids=["objection", "test error", "skip", "property"],
)
def test_a_bad_value_of_a_test_loses_no_episode(reach, body, outcome, workers):
    reach.makepyfile(
        test_odd=f"""
import pytest
import pytest_vla as vla
import test_reach

@vla.benchmark("reach", task="near", partition="calm", episodes=3)
def test_odd(policy, env, episode, record_property):
    {body}
"""
    )
    result = reach.runpytest_subprocess("test_odd.py", "--vla-policy=oracle", "--vla-run-dir=run", *workers)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    found = outcomes(reach.path / "run")
    assert (found.pop(1, None), found) == (outcome, {0: ("solved", None), 2: ("solved", None)})


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "n2"])
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
    result = reach.runpytest_subprocess(*options, "--vla-run-dir=run", *workers)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert outcomes(reach.path / "run") == {0: ("error", "policy_error"), 1: ("error", "policy_error")}


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
