"""How the workers of a run share one hunt: a folder of questions and answers.

The first worker to come leads. It writes questions; whoever is free (the leader too) takes one by renaming it, which
only one can do, and writes the answer. Whoever is at work touches its file as a sign of life: a question whose taker
died is answered by the leader, and without a leader everybody goes home. Only the leader tells the run file: whenever
anybody is killed, a probe is in it once or not at all.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_vla.episode import EpisodeKey
from pytest_vla.hunt.resume import Question, Scene, answer_of
from pytest_vla.run import Record

if TYPE_CHECKING:
    from pytest_vla.hunt.items import HuntKey
    from pytest_vla.hunt.outcome import Answer

    Reply = tuple[Answer, Scene]
    """Whether an episode was solved, and what its scene is like."""

POLL_S = 0.005
BEAT_S = 1.0
PATIENCE_S = 30.0
"""Without a sign of life for so long, a worker is gone. Were it only slow, an episode is played twice and told once."""


class Player(Protocol):
    """Who plays episodes, and tells the run file."""

    def play(self, episode: EpisodeKey) -> Record: ...

    def tell(self, record: Record) -> None: ...


@dataclass
class Crew:
    """One worker's place at a hunt."""

    folder: Path
    leads: bool
    hands: int = 1
    questions: int = 0

    @classmethod
    def join(cls, folder: Path, hands: int = 1) -> Crew:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            (folder / "leader").touch(exist_ok=False)
        except FileExistsError:
            return cls(folder, leads=False, hands=hands)
        return cls(folder, leads=True, hands=hands)

    @contextmanager
    def leading(self) -> Iterator[None]:
        """For the leader, as long as it hunts; then the hunt is over for all."""
        try:
            with _beating(self.folder / "leader"):
                yield
        finally:
            (self.folder / "over").touch()

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
            _write(self.folder / f"{name}.ask", [episode.index, episode.perturbation])
        replies: dict[str, Reply] = {}
        while waiting:
            for name in list(waiting):
                played = _read(self.folder / f"{name}.done")
                if played is not None:
                    replies[name] = told(Record.from_record(played))
                    waiting.pop(name)
                    (self.folder / f"{name}.done").unlink()
                elif self._take(name) or self._abandoned(name):
                    replies[name] = told(player.play(waiting.pop(name)))
                    (self.folder / f"{name}.taken").unlink(missing_ok=True)
                    break
            else:
                time.sleep(POLL_S)
        return [replies[name] for name in names]

    def _take(self, name: str) -> bool:
        taken = self.folder / f"{name}.taken"
        if not _renamed(self.folder / f"{name}.ask", taken):
            return False
        os.utime(taken)
        return True

    def _abandoned(self, name: str) -> bool:
        """Whether nobody is at it any more. Then it is the leader's: whoever was too slow finds the file gone."""
        taken = self.folder / f"{name}.taken"
        return _age_s(taken) > PATIENCE_S and _removed(taken)

    # --- a helping hand -----------------------------------------------------------------------------------------------

    def next_question(self) -> tuple[str, Question] | None:
        """A question that is ours to answer; None when the hunt is over, or its leader is gone."""
        while not (self.folder / "over").exists() and _age_s(self.folder / "leader") < PATIENCE_S:
            for path in sorted(self.folder.glob("*.ask")):
                if self._take(path.stem):
                    question = _read(self.folder / f"{path.stem}.taken")
                    assert question is not None
                    index, perturbation = question
                    return path.stem, (index, perturbation)
            time.sleep(POLL_S)
        return None

    def answer(self, name: str, player: Player, episode: EpisodeKey) -> None:
        """Play; what cannot be played is given back, so that the leader meets the same error."""
        taken = self.folder / f"{name}.taken"
        try:
            with _beating(taken):
                record = player.play(episode)
        except BaseException:
            _renamed(taken, self.folder / f"{name}.ask")
            raise
        _write(self.folder / f"{name}.done", record.to_record())  # nobody reads it if the leader has played it too
        taken.unlink(missing_ok=True)


def reply_of(record: Record) -> Reply:
    """What a probe says to the search."""
    return answer_of(record), dict(record.result.scene)


def help_out(crew: Crew, player: Player, key: HuntKey) -> None:
    """Answer questions until the hunt is over."""
    while (question := crew.next_question()) is not None:
        name, (index, perturbation) = question
        crew.answer(name, player, key.episode(index, perturbation))


@contextmanager
def _beating(path: Path) -> Iterator[None]:
    """Touch a file every now and then for as long as the block takes."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(BEAT_S):
            with suppress(FileNotFoundError):
                os.utime(path)

    thread = threading.Thread(target=beat, name="vla-hunt-sign-of-life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _renamed(path: Path, target: Path) -> bool:
    """Of all who try, one succeeds."""
    try:
        path.rename(target)
    except FileNotFoundError:
        return False
    return True


def _removed(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def _write(path: Path, content: Any) -> None:
    """All of it or nothing."""
    draft = path.with_suffix(f".draft{os.getpid()}")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.rename(path)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
