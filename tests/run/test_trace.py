"""A tape has the steps of the last rollout, as they were."""

import numpy as np
import pytest

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.run.trace import Tape, decode_actions

RESULT = Result(EpisodeKey("s", "t", "p", 0), "solved")


def taped(*steps):
    tape = Tape()
    for action, progress in steps:
        tape.add(action, progress)
    return tape.added_to(RESULT)


def test_actions_and_progress_are_kept_with_the_result():
    result = taped((None, 0.0), (np.float32([1, 2]), 0.123456), (np.float32([3, 4]), None))
    assert result.outcome == RESULT.outcome
    assert result.curve == [0.0, 0.1235, None]
    (part,) = decode_actions(result.actions).values()
    assert part.tolist() == [[1, 2], [3, 4]]
    assert part.dtype == np.float32


def test_a_new_rollout_begins_a_new_tape():
    result = taped((None, 0.5), (np.zeros(2), 0.6), (None, 0.0), (np.ones(2), 1.0))
    assert result.curve == [0.0, 1.0]
    assert [part.tolist() for part in decode_actions(result.actions).values()] == [[[1, 1]]]


def test_a_policy_may_reuse_its_buffer():
    tape, buffer = Tape(), np.zeros(1)
    tape.add(None, None)
    for value in (1, 2):
        buffer[:] = value
        tape.add(buffer, None)
    result = tape.added_to(RESULT)
    assert [part.tolist() for part in decode_actions(result.actions).values()] == [[[1], [2]]]
    assert result.curve is None


@pytest.mark.parametrize("action", [object(), {"a": object()}])
def test_what_cannot_be_written_is_left_out(action):
    assert taped((None, 1.0), (action, 1.0)).actions is None
