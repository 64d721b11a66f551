"""Runs made by hand, and the gate's functions on them."""

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.gate import comparisons
from pytest_vla.gate.judge import judge as judge_table
from pytest_vla.run import Record, Table

REASONS = {"solved": None, "unsolved": "step_limit", "error": "env_error"}
WORDS = {".": "solved", "u": "unsolved", "E": "error"}


def record(index, outcome="solved", task="push", partition="L1", *, nodeid="", **more):
    key = {name: more.pop(name) for name in ("suite", "perturbation", "version", "repeat") if name in more}
    key = EpisodeKey(**{"suite": "dice", "task": task, "partition": partition, "index": index, **key})
    facts = {"reason": REASONS[outcome], "initial_digest": f"{task} {partition} {index}", "digest": "d", **more}
    return Record(Result(key, outcome, **facts), nodeid, "passed" if outcome == "solved" else "failed")


def records(outcomes, **more):
    """`..u.E` as records: solved, unsolved and error, in episode order."""
    return [record(index, WORDS[letter], **more) for index, letter in enumerate(outcomes)]


def table(run):
    """A run or a baseline as the gate counts it."""
    return run if run is None or isinstance(run, Table) else Table.of(run)


def compare(run, rules, scope, baseline=None):
    return comparisons.compare(table(run), rules, scope, table(baseline))


def judge(run, rules, scope=None, baseline=None, **more):
    return judge_table(table(run), rules, scope, table(baseline), **more)
