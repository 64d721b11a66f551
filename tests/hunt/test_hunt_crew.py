"""Workers that share one hunt: each question is answered once, whoever is there."""

import threading
import time

import pytest

from pytest_vla.episode import EpisodeKey
from pytest_vla.hunt import crew
from pytest_vla.hunt.crew import Crew, help_out


class Key:
    def episode(self, index, perturbation):
        return EpisodeKey("s", "t", "p", index, perturbation)


def keys(count):
    return [EpisodeKey("s", "t", "p", index, f"camera.yaw={index % 8 + 1}") for index in range(count)]


def test_the_first_to_come_leads(tmp_path):
    assert [Crew.join(tmp_path / "hunt").leads for _ in range(3)] == [True, False, False]


def test_a_leader_alone_answers_everything_itself(tmp_path):
    crew = Crew.join(tmp_path)
    answers = crew.play(keys(5), lambda key: (key.index % 2 == 0, {"index": key.index}))
    assert answers == [(index % 2 == 0, {"index": index}) for index in range(5)]


def test_helpers_take_their_share_and_nothing_is_done_twice(tmp_path):
    leader = Crew.join(tmp_path)
    played = []

    def play(key):
        time.sleep(0.01)
        played.append((threading.current_thread().name, key.index))
        return True, {"index": key.index, "perturbation": key.perturbation}

    helpers = [
        threading.Thread(target=help_out, args=(Crew.join(tmp_path), play, Key()), name=f"helper{n}") for n in range(3)
    ]
    for helper in helpers:
        helper.start()
    with leader.leading():
        for _ in range(3):
            answers = leader.play(keys(12), play)
            assert [record["index"] for _, record in answers] == list(range(12))
    for helper in helpers:
        helper.join(timeout=10)
        assert not helper.is_alive()
    assert sorted(index for _, index in played) == sorted(list(range(12)) * 3)
    assert len({name for name, _ in played}) > 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["leader", "over"]


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(crew, "PATIENCE_S", 0.3)
    monkeypatch.setattr(crew, "BEAT_S", 0.02)


def test_a_question_whose_taker_died_is_answered_by_the_leader(tmp_path, impatient):
    leader, dead = Crew.join(tmp_path), Crew.join(tmp_path)
    taken = threading.Thread(target=dead.next_question)
    taken.start()

    def play(key):
        taken.join()  # the helper has taken the other question by now
        return True, {"index": key.index}

    assert [record["index"] for _, record in leader.play(keys(2), play)] == [0, 1]


def test_a_slow_helper_that_lives_is_waited_for(tmp_path, impatient):
    leader, played = Crew.join(tmp_path), []
    helping = threading.Event()

    def slow(key):
        helping.set()
        time.sleep(3 * crew.PATIENCE_S)
        played.append("helper")
        return True, {"index": key.index}

    def quick(key):
        helping.wait(10)
        played.append("leader")
        return True, {"index": key.index}

    helper = threading.Thread(target=help_out, args=(Crew.join(tmp_path), slow, Key()))
    helper.start()
    with leader.leading():
        answers = leader.play(keys(2), quick)
    helper.join(timeout=10)
    assert [record["index"] for _, record in answers] == [0, 1]
    assert sorted(played) == ["helper", "leader"]


def test_what_a_helper_cannot_play_goes_back_at_once(tmp_path):
    leader, helper = Crew.join(tmp_path), Crew.join(tmp_path)
    tried = threading.Event()

    def broken(key):
        tried.set()
        raise ValueError("a bug in the test function")

    def help_and_fail():
        with pytest.raises(ValueError, match="a bug"):
            help_out(helper, broken, Key())

    def play(key):
        tried.wait(10)
        return True, {"index": key.index}

    helping = threading.Thread(target=help_and_fail)
    helping.start()
    start = time.monotonic()
    assert [record["index"] for _, record in leader.play(keys(2), play)] == [0, 1]
    assert time.monotonic() - start < crew.PATIENCE_S / 2
    helping.join(timeout=10)


def test_a_helper_goes_home_when_the_leader_is_gone(tmp_path, impatient):
    Crew.join(tmp_path)
    start = time.monotonic()
    help_out(Crew.join(tmp_path), None, Key())
    assert time.monotonic() - start < 5
