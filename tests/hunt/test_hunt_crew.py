"""Workers that share one hunt: each question is answered once, whoever is there."""

import threading
import time

from pytest_vla.episode import EpisodeKey
from pytest_vla.hunt.crew import Crew, help_out


class Key:
    def episode(self, index, perturbation):
        return EpisodeKey("s", "t", "p", index, perturbation)


def keys(count):
    return [EpisodeKey("s", "t", "p", index, f"camera.yaw={index % 8 + 1}") for index in range(count)]


def test_the_first_to_come_leads(tmp_path):
    assert [Crew.join(tmp_path / "hunt", 10).leads for _ in range(3)] == [True, False, False]


def test_a_leader_alone_answers_everything_itself(tmp_path):
    crew = Crew.join(tmp_path, 10)
    answers = crew.play(keys(5), lambda key: (key.index % 2 == 0, {"index": key.index}))
    assert answers == [(index % 2 == 0, {"index": index}) for index in range(5)]


def test_helpers_take_their_share_and_nothing_is_done_twice(tmp_path):
    leader = Crew.join(tmp_path, 10)
    played = []

    def play(key):
        time.sleep(0.01)
        played.append((threading.current_thread().name, key.index))
        return True, {"index": key.index, "perturbation": key.perturbation}

    helpers = [
        threading.Thread(target=help_out, args=(Crew.join(tmp_path, 10), play, Key()), name=f"helper{n}")
        for n in range(3)
    ]
    for helper in helpers:
        helper.start()
    for _ in range(3):
        answers = leader.play(keys(12), play)
        assert [record["index"] for _, record in answers] == list(range(12))
    leader.end()
    for helper in helpers:
        helper.join(timeout=10)
        assert not helper.is_alive()
    assert sorted(index for _, index in played) == sorted(list(range(12)) * 3)
    assert len({name for name, _ in played}) > 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["leader", "over"]


def test_a_question_whose_taker_died_is_answered_by_the_leader(tmp_path, monkeypatch):
    monkeypatch.setattr(Crew, "patience_s", property(lambda crew: 0.2))
    leader, dead = Crew.join(tmp_path, 10), Crew.join(tmp_path, 10)
    taken = threading.Thread(target=dead.next_question)
    taken.start()

    def play(key):
        taken.join()  # the helper has taken the other question by now
        return True, {"index": key.index}

    assert [record["index"] for _, record in leader.play(keys(2), play)] == [0, 1]


def test_a_helper_goes_home_when_the_leader_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(Crew, "patience_s", property(lambda crew: 0.1))
    Crew.join(tmp_path, 10)
    start = time.monotonic()
    help_out(Crew.join(tmp_path, 10), None, Key())
    assert time.monotonic() - start < 5
