"""How the workers of a run share one hunt: a place for questions and answers.

The first worker to come leads. It writes questions; whoever is free (the leader too) takes one by renaming it, which
only one can do, and writes the answer. Whoever is at work touches its file as a sign of life: a question whose taker
died is answered by the leader, and without a leader everybody goes home. Only the leader tells the run file: whenever
anybody is killed, a probe is in it once or not at all.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pytest_vla.episode import EpisodeKey
from pytest_vla.hunt.resume import Question, Scene, answer_of
from pytest_vla.run import Record

if TYPE_CHECKING:
    from pytest_vla.hunt.items import HuntKey
    from pytest_vla.hunt.outcome import Answer
    from pytest_vla.hunt.place import Place

    Reply = tuple[Answer, Scene]
    """Whether an episode was solved, and what its scene is like."""

BEAT_S = 1.0
PATIENCE_S = 30.0
"""Without a sign of life for so long, a worker is gone. Were it only slow, an episode is played twice and told once."""
LEADER, OVER = "leader", "over"


class Player(Protocol):
    """Who plays episodes, and tells the run file."""

    def play(self, episode: EpisodeKey) -> Record: ...

    def tell(self, record: Record) -> None: ...


@dataclass
class Crew:
    """One worker's place at a hunt."""

    place: Place
    leads: bool
    hands: int = 1
    questions: int = 0

    @classmethod
    def join(cls, place: Place, hands: int = 1) -> Crew:
        return cls(place, leads=place.claim(LEADER), hands=hands)

    @contextmanager
    def leading(self) -> Iterator[None]:
        """For the leader, as long as it hunts; then the hunt is over for all."""
        try:
            with self._beating(LEADER):
                yield
        finally:
            self.place.claim(OVER)

    # --- the leader ---------------------------------------------------------------------------------------------------

    def play(self, episodes: Sequence[EpisodeKey], player: Player) -> list[Reply]:
        """Replies for all episodes, by whoever is free."""

        def told(record: Record) -> Reply:
            player.tell(record)
            return reply_of(record)

        names = [f"{self.questions + number:06d}" for number in range(len(episodes))]
        self.questions += len(episodes)
        if len(episodes) == 1:
            return [told(player.play(episodes[0]))]
        waiting = dict(zip(names, episodes, strict=True))
        for name, episode in waiting.items():
            self.place.write(f"{name}.ask", _encoded([episode.index, episode.perturbation]))
        replies: dict[str, Reply] = {}
        while waiting:
            files = self.place.names()
            for name in [name for name in waiting if f"{name}.done" in files]:
                replies[name] = told(self._answered(name))
                del waiting[name]
            mine = next((name for name in waiting if self._is_left(name, files)), None)
            if mine is not None:
                replies[mine] = told(player.play(waiting.pop(mine)))
                self.place.remove(f"{mine}.taken")
            elif waiting:
                time.sleep(self.place.poll_s)
        return [replies[name] for name in names]

    def _answered(self, name: str) -> Record:
        played = self.place.read(f"{name}.done")
        assert played is not None
        self.place.remove(f"{name}.done")
        return Record.from_record(json.loads(played))

    def _is_left(self, name: str, files: Sequence[str]) -> bool:
        """Whether a question is for the leader: nobody has it, or nobody is at it any more.

        Whoever was too slow finds the file gone.
        """
        if f"{name}.ask" in files:
            return self._take(name)
        taken = f"{name}.taken"
        return taken in files and self.place.age_s(taken) > PATIENCE_S and self.place.remove(taken)

    def _take(self, name: str) -> bool:
        if not self.place.rename(f"{name}.ask", f"{name}.taken"):
            return False
        self.place.touch(f"{name}.taken")
        return True

    # --- a helping hand -----------------------------------------------------------------------------------------------

    def next_question(self) -> tuple[str, Question] | None:
        """A question that is ours to answer; None when the hunt is over, or its leader is gone."""
        while True:
            files = self.place.names()
            if OVER in files or self.place.age_s(LEADER) > PATIENCE_S:
                return None
            for file in files:
                name, _, kind = file.partition(".")
                if kind == "ask" and self._take(name):
                    question = self.place.read(f"{name}.taken")
                    assert question is not None
                    index, perturbation = json.loads(question)
                    return name, (index, perturbation)
            time.sleep(self.place.poll_s)

    def answer(self, name: str, player: Player, episode: EpisodeKey) -> None:
        """Play; what cannot be played is given back, so that the leader meets the same error."""
        taken = f"{name}.taken"
        try:
            with self._beating(taken):
                record = player.play(episode)
        except BaseException:
            self.place.rename(taken, f"{name}.ask")
            raise
        self.place.write(f"{name}.done", _encoded(record.to_record()))  # nobody reads it if the leader played it too
        self.place.remove(taken)

    @contextmanager
    def _beating(self, file: str) -> Iterator[None]:
        """Touch a file every now and then for as long as the block takes."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(BEAT_S):
                self.place.touch(file)

        thread = threading.Thread(target=beat, name="vla-hunt-sign-of-life", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def reply_of(record: Record) -> Reply:
    """What a probe says to the search."""
    return answer_of(record), dict(record.result.scene)


def help_out(crew: Crew, player: Player, key: HuntKey) -> None:
    """Answer questions until the hunt is over."""
    while (question := crew.next_question()) is not None:
        name, (index, perturbation) = question
        crew.answer(name, player, key.episode(index, perturbation))


def _encoded(content: object) -> bytes:
    return json.dumps(content).encode()
