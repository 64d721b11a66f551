"""The id of an episode and the way back from it."""

import pytest
from hypothesis import example, given
from made_up_runs import keys

from pytest_vla.episode import EpisodeKey
from pytest_vla.run import EpisodeName, replay_command


@given(keys)
@example(EpisodeKey("s", "a-1", "b", 7))
@example(EpisodeKey("s", "t", "level-07", 3, "camera.yaw=-3", repeat=2))
def test_every_way_to_name_an_episode_names_it(key):
    for text in (key.id, str(key), f"tests/test_x.py::test_x[{key.id}]"):
        name = EpisodeName.parse(text)
        assert name is not None
        assert name.names(key), text


@given(keys, keys)
def test_an_id_does_not_name_another_episode(one, other):
    if str(one) != str(other):
        assert not EpisodeName.parse(str(one)).names(other)


@pytest.mark.parametrize("text", ["", "rotate", "rotate-train", "rotate-train-x", "test_vima.py::test_vima"])
def test_what_names_no_episode_is_no_name(text):
    assert EpisodeName.parse(text) is None


def test_a_repeat_has_a_name_of_its_own():
    first, second = EpisodeKey("s", "t", "p", 0), EpisodeKey("s", "t", "p", 0, repeat=1)
    assert not EpisodeName.parse(str(first)).names(second)
    assert EpisodeName.parse("s/t-p-00-r1").names(second)


def test_a_replay_command_can_be_pasted_into_a_shell():
    key = EpisodeKey("s", "t", "p", 0, "camera.yaw=3", repeat=1)
    assert replay_command("my run", key) == "pytest-vla replay 'my run' s/t-p-00-camera.yaw=3-r1"
