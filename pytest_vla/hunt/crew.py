"""How the workers of a run share one hunt: a folder of questions and answers.

The first worker to come leads. It writes questions; whoever is free (the leader too) takes one by renaming it, which
only one can do, and writes the answer. Whoever is at work touches its file as a sign of life: a question whose taker
died is answered by the leader, and without a leader everybody goes home.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import EpisodeKey

if TYPE_CHECKING:
    from pytest_vla.hunt.items import HuntKey

POLL_S = 0.005
BEAT_S = 1.0
PATIENCE_S = 30.0
"""Without a sign of life for so long, a worker is gone. Were it only slow, an episode is played twice, no more."""

Played = tuple[bool | None, dict[str, Any]]
Play = Callable[[EpisodeKey], Played]


@dataclass
class Crew:
    """One worker's place at a hunt."""

    folder: Path
    leads: bool
    asked: int = 0

    @classmethod
    def join(cls, folder: Path) -> Crew:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            (folder / "leader").touch(exist_ok=False)
        except FileExistsError:
            return cls(folder, leads=False)
        return cls(folder, leads=True)

    @contextmanager
    def leading(self) -> Iterator[None]:
        """For the leader, as long as it hunts; then the hunt is over for all."""
        try:
            with _beating(self.folder / "leader"):
                yield
        finally:
            (self.folder / "over").touch()

    # --- the leader ---------------------------------------------------------------------------------------------------

    def play(self, episodes: Sequence[EpisodeKey], play: Play) -> list[Played]:
        """Answers for all episodes, by whoever is free."""
        names = [f"{self.asked + number:06d}" for number in range(len(episodes))]
        self.asked += len(episodes)
        if len(episodes) == 1:
            return [play(episodes[0])]
        waiting = dict(zip(names, episodes, strict=True))
        for name, episode in waiting.items():
            _write(self.folder / f"{name}.ask", {"index": episode.index, "perturbation": episode.perturbation})
        answers: dict[str, Played] = {}
        while waiting:
            for name in list(waiting):
                if self._take(name) or self._abandoned(name):
                    answers[name] = play(waiting.pop(name))
                    (self.folder / f"{name}.taken").unlink(missing_ok=True)
                    break
                answer = _read(self.folder / f"{name}.done")
                if answer is not None:
                    answers[name] = (answer["answer"], answer["record"])
                    waiting.pop(name)
                    (self.folder / f"{name}.done").unlink()
            else:
                time.sleep(POLL_S)
        return [answers[name] for name in names]

    def _take(self, name: str) -> bool:
        try:
            (self.folder / f"{name}.ask").rename(self.folder / f"{name}.taken")
        except FileNotFoundError:
            return False
        os.utime(self.folder / f"{name}.taken")
        return True

    def _abandoned(self, name: str) -> bool:
        return _age_s(self.folder / f"{name}.taken") > PATIENCE_S

    # --- a helping hand -----------------------------------------------------------------------------------------------

    def next_question(self) -> tuple[str, dict[str, Any]] | None:
        """A question that is ours to answer; None when the hunt is over, or its leader is gone."""
        while not (self.folder / "over").exists() and _age_s(self.folder / "leader") < PATIENCE_S:
            for path in sorted(self.folder.glob("*.ask")):
                if self._take(path.stem):
                    question = _read(self.folder / f"{path.stem}.taken")
                    assert question is not None
                    return path.stem, question
            time.sleep(POLL_S)
        return None

    def answer(self, name: str, play: Callable[[], Played]) -> None:
        """Play and tell; what cannot be played is given back, so that the leader meets the same error."""
        taken = self.folder / f"{name}.taken"
        try:
            with _beating(taken):
                answer, record = play()
        except BaseException:
            with suppress(FileNotFoundError):  # the leader took it over meanwhile
                taken.rename(self.folder / f"{name}.ask")
            raise
        _write(self.folder / f"{name}.done", {"answer": answer, "record": record})
        taken.unlink(missing_ok=True)


def help_out(crew: Crew, play: Play, key: HuntKey) -> None:
    """Answer questions until the hunt is over."""
    while (question := crew.next_question()) is not None:
        name, asked = question
        crew.answer(name, partial(play, key.episode(asked["index"], asked["perturbation"])))


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


def _write(path: Path, content: dict[str, Any]) -> None:
    """All of it or nothing."""
    draft = path.with_suffix(f".draft{os.getpid()}")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.rename(path)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return content


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
