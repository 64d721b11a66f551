"""Keys and records that Hypothesis makes up, and run files written by hand."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from pytest_vla.episode import ERROR_REASONS, UNSOLVED_REASONS, EpisodeKey, Result
from pytest_vla.run import FILE_NAME, Plan, Record

names = st.text("abc_-1", min_size=1, max_size=5).filter(lambda text: not text.startswith("-"))
perturbations = st.sampled_from(["", "camera.yaw=3", "camera.yaw=-3,light.brightness=5"])
keys = st.builds(
    EpisodeKey,
    suite=names,
    task=names,
    partition=names,
    index=st.integers(0, 10**6),
    perturbation=perturbations,
    version=names,
    repeat=st.integers(0, 3),
)
outcomes = st.one_of(
    st.just(("solved", None)),
    st.tuples(st.just("unsolved"), st.sampled_from(UNSOLVED_REASONS)),
    st.tuples(st.just("error"), st.sampled_from(ERROR_REASONS)),
)
numbers = st.floats(0, 1e6).map(lambda value: round(value, 6))


@st.composite
def results(draw):
    outcome, reason = draw(outcomes)
    return Result(
        draw(keys),
        outcome,
        reason,
        message=draw(st.text(max_size=10)),
        steps=draw(st.integers(0, 1000)),
        progress=draw(st.none() | st.floats(0, 1)),
        digest=draw(st.text("0af", max_size=4)),
        initial_digest=draw(st.text("0af", max_size=4)),
        seconds=draw(numbers),
        timings=draw(st.dictionaries(names, numbers, max_size=2)),
        instruction=draw(st.text(max_size=10)),
        made_with=draw(st.dictionaries(names, names, max_size=2)),
        curve=draw(st.none() | st.lists(st.none() | st.floats(0, 1), max_size=3)),
        extra=draw(st.dictionaries(st.sampled_from(["safety", "note"]), st.integers(), max_size=2)),
    )


@st.composite
def records(draw):
    result = draw(results())
    test = draw(st.sampled_from(["passed", "failed"]))
    item = draw(st.none() | keys)
    kind = draw(st.sampled_from(["episode", "probe"]))
    objection = draw(st.text(max_size=10)) if test == "failed" and result else ""
    return Record(result, draw(st.text(max_size=10)), test, objection, item, kind)


FIRST = {"type": "run", "policy": {"text": "p", "digest": "sha256:1", "verified": True}, "options": {}}


def episode(index, outcome="solved", reason=None, *, test=None, item=None, **key):
    """A record of the suite `dice`, where nothing else is said."""
    key = {"suite": "dice", "task": "push", "partition": "L1", **key}
    result = Result(EpisodeKey(index=index, **key), outcome, reason, initial_digest=f"scene {index}", digest="d")
    objection = "AssertionError: no" if result and test == "failed" else ""
    return Record(result, "", test or ("passed" if result else "failed"), objection, item)


def plan(count, whole=None, **key):
    """The first `count` episodes, of `whole` in all."""
    keys = [episode(index, **key).key for index in range(max(count, whole or 0))]
    from pytest_vla.run import KeySet

    return Plan(KeySet.of(keys[:count]), KeySet.of(keys))


def write(folder, *lines, first=FIRST):
    """A run file of these lines: dicts, or whatever has `to_record`."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [json.dumps(line if isinstance(line, dict) else line.to_record()) for line in (first, *lines)]
    path = folder / FILE_NAME
    path.write_text("\n".join(texts) + "\n")
    return path
