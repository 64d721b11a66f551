"""What a policy did is recorded exactly: every action reads back bit for bit."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.replay import RecordedActions
from pytest_vla.run.trace import Tape, decode_actions, encode_actions, flat_columns

RESULT = Result(EpisodeKey("s", "t", "p", 0), "solved")

arrays = npst.arrays(
    dtype=st.sampled_from([np.float32, np.float64, np.int64]),
    shape=npst.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=6),
)


@given(arrays)
def test_actions_read_back_bit_for_bit(array):
    parts = json.loads(json.dumps(encode_actions(list(array))))
    (column,) = decode_actions(parts).values()
    assert column.tobytes() == array.tobytes()
    assert column.dtype == array.dtype


def test_actions_of_several_parts_come_back_in_their_types():
    actions = [{"move": np.array([0.1, 0.2], np.float32), "grip": np.int64(step)} for step in range(3)]
    policy = RecordedActions(encode_actions(actions))
    state = policy.reset(None)
    for action in actions:
        (again,) = policy.act([{}], [state])
        assert again["grip"] == action["grip"]
        np.testing.assert_array_equal(again["move"], action["move"])


def test_a_second_rollout_starts_a_new_tape():
    tape = Tape()
    for progress in (0.0, 0.5):
        tape.add(None, progress)
        tape.add(np.array([progress]), progress + 0.25)
    assert tape.progress == [0.5, 0.75]
    assert len(tape.actions) == 1


def test_a_policy_that_reuses_its_buffer_is_recorded_as_it_acted():
    tape, buffer = Tape(), np.zeros(1)
    tape.add(None, None)
    for value in (1.0, 2.0):
        buffer[0] = value
        tape.add(buffer, None)
    assert flat_columns(decode_actions(tape.added_to(RESULT).actions)) == {"action": [1.0, 2.0]}


@pytest.mark.parametrize("action", [{"arm": {"left": np.zeros(2)}}, object()])
def test_an_action_that_cannot_be_written_is_left_out(action):
    tape = Tape()
    tape.add(None, 0.0)
    tape.add(action, 0.5)
    result = tape.added_to(RESULT)
    assert (result.curve, result.actions) == ([0.0, 0.5], None)
