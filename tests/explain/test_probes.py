"""What-if questions: through a real server as in this process, and the episode never notices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pytest_vla as vla
from pytest_vla.episode import EpisodeKey
from pytest_vla.explain.asking import Asker
from pytest_vla.explain.errors import ExplainError
from pytest_vla.explain.interventions import Nothing, Patch
from pytest_vla.explain.session import opened
from pytest_vla.inference.probes import packed, unpacked
from pytest_vla.inference.session import held_source, local_source
from pytest_vla.options import InferenceOptions
from pytest_vla.registry import get_suite

KEY = EpisodeKey("bomb", "place_stone", "unperturbed", 0)
SHIPPED = InferenceOptions(policy="fixtures/policies/bomb_visuomotor.pt", deterministic=True)


class Counter(vla.Policy):
    """Counts its steps in its state, and says the brightness of its picture."""

    def reset(self, episode):
        return {"steps": 0}

    def act(self, observations, states):
        for state in states:
            state["steps"] += 1
        return [
            np.array([state["steps"], each["images"]["front"].mean(), 0, 0], np.float32)
            for each, state in zip(observations, states, strict=True)
        ]


def view(seed=0):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (256, 256, 3), np.uint8)
    return {
        "images": {"front": image},
        "state": {"ee": np.zeros(4, np.float32)},
        "instruction": "place the black stone",
    }


def asker_of(policy):
    asker = Asker(held_source(policy, InferenceOptions()), get_suite("bomb"))
    asker.begin(KEY)
    return asker


def test_rows_see_the_state_of_the_episode_and_leave_it_alone():
    asker = asker_of(Counter())
    asker.advance(view())
    asker.learn(view())
    answers = asker.rows_of(view(), [Nothing(), Patch("front", (0, 0, 9, 9)), Nothing()])
    assert [action[0] for action in answers.actions] == [2, 2, 2]
    assert asker.advance(view())[0] == 2


@given(st.lists(st.sampled_from(["images", "state", "instruction", "none"]), min_size=1, max_size=6))
def test_rows_are_packed_without_what_they_share_and_come_back_whole(changes):
    base = view()
    rows = [base]
    for number, what in enumerate(changes):
        other = view(number + 1)
        rows.append({**base, **({what: other[what]} if what != "none" else {})})
    request = packed(rows)
    assert request["rows"][0] == {}
    for row, again in zip(rows, unpacked(request), strict=True):
        assert list(again) == list(row)
        assert np.array_equal(again["images"]["front"], row["images"]["front"])
        assert again["instruction"] == row["instruction"]


def test_a_server_gives_the_same_bits_as_this_process_when_batches_have_one_shape():
    suite, seen = get_suite("bomb"), view()
    changes = [Nothing(), *(Patch("front", (x, 64, x + 32, 96)) for x in range(0, 256, 32))]

    def scores(source):
        asker = Asker(source, suite)
        asker.begin(KEY)
        asker.learn(seen)
        return asker.rows_of(seen, changes).scores

    with opened(SHIPPED) as served:
        assert np.array_equal(scores(served), scores(local_source(SHIPPED)))


def test_a_policy_without_modules_has_no_units():
    asker = asker_of(Counter())
    with pytest.raises(ExplainError, match="no torch module"):
        asker.units(view(), Patch("front", (0, 0, 9, 9)))


def test_what_a_policy_raises_is_said_in_one_line():
    class Broken(Counter):
        def act(self, observations, states):
            raise RuntimeError("the model fell over")

    asker = asker_of(Broken())
    with pytest.raises(ExplainError, match=r"^RuntimeError: the model fell over$"):
        asker.rows_of(view(), [Nothing()])


def test_a_state_that_cannot_be_copied_is_begun_anew_a_few_rows_at_a_time():
    import threading

    sizes = []

    class Locked(Counter):
        def reset(self, episode):
            return {"steps": 0, "lock": threading.Lock()}

        def act(self, observations, states):
            sizes.append(len(observations))
            return super().act(observations, states)

    asker = asker_of(Locked())
    asker.advance(view())
    answers = asker.rows_of(view(), [Nothing()] * 20)
    assert {action[0] for action in answers.actions} == {1}
    assert max(sizes) <= 8
    assert asker.advance(view())[0] == 2


def test_a_question_of_many_rows_may_take_as_long_as_many_answers_and_no_longer(monkeypatch):
    monkeypatch.setattr("pytest_vla.explain.session.TIMEOUT_S", 1.0)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    with opened(InferenceOptions(policy="slow_policy:make")) as source:
        asker = Asker(source, get_suite("bomb"))
        asker.begin(KEY)
        assert len(asker.rows_of(view(), [Nothing()] * 8).actions) == 8
        with pytest.raises(ExplainError, match=r"no action within 1 s$"):
            asker.rows_of({**view(), "instruction": "dawdle"}, [Nothing()])
