"""Pairs one record at a time are the pairs of whole tables."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.run import Partners, Record, Table, Why, pair
from pytest_vla.run.pair import UNSTATED

REASONS = {"solved": None, "unsolved": "step_limit", "error": "env_error"}


def drawn(luck):
    records = []
    for task in ("push", "stack"):
        for index in range(6):
            if luck.random() < 0.8:
                outcome = luck.choice(list(REASONS))
                key = EpisodeKey("dice", task, "L1", index, version=luck.choice("11112"))
                scene = luck.choice(["", f"{task} {index}", f"{task} {index}", "moved"])
                made_with = luck.choice([{}, {}, {"renderer": "rays"}, dict(UNSTATED)])
                result = Result(key, outcome, REASONS[outcome], initial_digest=scene, made_with=made_with)
                records.append(Record(result))
    return records


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6))
def test_the_two_agree(seed):
    luck = random.Random(seed)
    new, old = drawn(luck), Table.of(drawn(luck))
    table, partners = Table.of(new), Partners(old)
    pairs = pair(table, old)
    by_key = {(one.cell, one.key.index): one for one in new}
    for row in range(len(pairs.new)):
        key = pairs.new.key(row)
        one = by_key[(key.cell, key.index)]
        partner = partners.row(one)
        found = Why.ONLY_NEW if partner is None else partners.why(one, partner)
        assert found == pairs.why_new(row)


def test_with_errors_asked_for_they_pair_too():
    key = EpisodeKey("dice", "push", "L1", 0)
    new, old = Table.of([Record(Result(key, "error", "timeout"))]), Table.of([Record(Result(key, "solved"))])
    assert len(pair(new, old)) == 0
    assert len(pair(new, old, errors=True)) == 1
