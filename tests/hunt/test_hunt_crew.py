"""Workers that share one hunt: each question is answered once, whoever is there."""

import threading
import time

import pytest

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.hunt import crew
from pytest_vla.hunt.crew import Crew, help_out
from pytest_vla.hunt.far import FarFolder, Line, Service
from pytest_vla.hunt.place import Folder
from pytest_vla.run import Record

RESULTS = (("solved", None, "passed"), ("unsolved", "step_limit", "failed"), ("error", "env_error", "failed"))
ANSWERS = (True, False, None)


class Killed:
    """A place whose `write` is another one."""

    def __init__(self, place, write):
        self.place, self.write = place, write

    def __getattr__(self, name):
        return getattr(self.place, name)


class Key:
    def episode(self, index, perturbation):
        return EpisodeKey("s", "t", "p", index, perturbation)


class Player:
    """Every third episode is solved, unsolved, an error; what it tells stays in `told`."""

    def __init__(self, before=lambda key: None):
        self.before = before
        self.told, self.players = [], set()

    def play(self, key):
        self.before(key)
        self.players.add(threading.current_thread().name)
        outcome, reason, test = RESULTS[key.index % 3]
        return Record(Result(key, outcome, reason), test=test, kind="probe")

    def tell(self, record):
        self.told.append(record.key.index)


def keys(count):
    return [EpisodeKey("s", "t", "p", index, f"camera.yaw={index % 8 + 1}") for index in range(count)]


def answers(count):
    return [(ANSWERS[index % 3], {}) for index in range(count)]


@pytest.fixture(params=["a folder", "a folder of the driver"])
def place(request, tmp_path):
    if request.param == "a folder":
        yield Folder(tmp_path)
        return
    service = Service(Folder(tmp_path), ("crews",), None, "127.0.0.1")
    line = Line(service.door)
    yield FarFolder(line, ("crews",), poll_s=0.005)
    line.close()
    service.close()


def test_the_first_to_come_leads(place):
    assert [Crew.join(place.within("hunt")).leads for _ in range(3)] == [True, False, False]


@pytest.mark.parametrize("count", [1, 5])
def test_a_leader_alone_answers_everything_itself(place, count):
    crew, player = Crew.join(place), Player()
    assert crew.play(keys(count), player) == answers(count)
    assert player.told == list(range(count))


def test_helpers_take_their_share_and_nothing_is_done_twice(place):
    leader = Crew.join(place)
    player = Player(lambda key: time.sleep(0.01))
    helpers = [
        threading.Thread(target=help_out, args=(Crew.join(place), player, Key()), name=f"helper{n}") for n in range(3)
    ]
    for helper in helpers:
        helper.start()
    with leader.leading():
        for _ in range(3):
            assert leader.play(keys(12), player) == answers(12)
    for helper in helpers:
        helper.join(timeout=10)
        assert not helper.is_alive()
    assert sorted(player.told) == sorted(list(range(12)) * 3)
    assert len(player.players) > 1
    assert place.names() == ["leader", "over"]


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(crew, "PATIENCE_S", 0.3)
    monkeypatch.setattr(crew, "BEAT_S", 0.02)


def test_a_question_whose_taker_died_is_answered_by_the_leader(place, impatient):
    leader, dead = Crew.join(place), Crew.join(place)
    taken = threading.Thread(target=dead.next_question)
    taken.start()
    player = Player(lambda key: taken.join())  # the helper has taken the other question by now
    assert leader.play(keys(2), player) == answers(2)
    assert sorted(player.told) == [0, 1]


@pytest.mark.parametrize("last", ["before the answer", "after it"])
def test_a_probe_of_a_helper_that_died_as_it_answered_is_told_once(place, impatient, last):
    leader, helper = Crew.join(place), Crew.join(place)
    write = place.write

    def killed(name, content):
        if last == "after it":
            write(name, content)
        raise SystemExit

    helper.place = Killed(place, killed)
    helping = threading.Event()

    def help_and_die():
        with pytest.raises(SystemExit):
            help_out(helper, theirs, Key())

    theirs, ours = Player(lambda key: helping.set()), Player(lambda key: helping.wait(10))
    thread = threading.Thread(target=help_and_die)
    thread.start()
    assert leader.play(keys(2), ours) == answers(2)
    thread.join(timeout=10)
    assert sorted(ours.told) == [0, 1]
    assert theirs.told == []


def test_a_slow_helper_that_lives_is_waited_for(place, impatient):
    leader, helping = Crew.join(place), threading.Event()

    def slowly(key):
        helping.set()
        time.sleep(3 * crew.PATIENCE_S)

    slow, quick = Player(slowly), Player(lambda key: helping.wait(10))
    helper = threading.Thread(target=help_out, args=(Crew.join(place), slow, Key()))
    helper.start()
    with leader.leading():
        assert leader.play(keys(2), quick) == answers(2)
    helper.join(timeout=10)
    assert sorted(quick.told) == [0, 1]
    assert (len(slow.players), len(quick.players), slow.told) == (1, 1, [])


def test_a_helper_that_was_given_up_tells_nothing(place, impatient, monkeypatch):
    monkeypatch.setattr(crew, "BEAT_S", 60)  # it hangs, and gives no sign of life
    leader, helping, over = Crew.join(place), threading.Event(), threading.Event()

    def hangs(key):
        helping.set()
        over.wait(10)

    late, quick = Player(hangs), Player(lambda key: helping.wait(10))
    helper = threading.Thread(target=help_out, args=(Crew.join(place), late, Key()))
    helper.start()
    with leader.leading():
        assert leader.play(keys(2), quick) == answers(2)
    over.set()
    helper.join(timeout=10)
    assert sorted(quick.told) == [0, 1]
    assert late.told == []


def test_what_a_helper_cannot_play_goes_back_at_once(place):
    leader, helper = Crew.join(place), Crew.join(place)
    tried = threading.Event()

    def breaks(key):
        tried.set()
        raise ValueError("a bug in the test function")

    def help_and_fail():
        with pytest.raises(ValueError, match="a bug"):
            help_out(helper, Player(breaks), Key())

    helping = threading.Thread(target=help_and_fail)
    helping.start()
    start = time.monotonic()
    assert leader.play(keys(2), Player(lambda key: tried.wait(10))) == answers(2)
    assert time.monotonic() - start < crew.PATIENCE_S / 2
    helping.join(timeout=10)


def test_a_helper_goes_home_when_the_leader_is_gone(place, impatient):
    Crew.join(place)
    start = time.monotonic()
    help_out(Crew.join(place), None, Key())
    assert time.monotonic() - start < 5
