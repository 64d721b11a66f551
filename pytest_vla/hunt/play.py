"""What a hunting item does when its turn comes: lead a search, or lend a hand to the item that does.

Every probe is sent to the run file by the item that leads; the end of the search is one more line.
"""

from __future__ import annotations

import inspect
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.hunt.brittleness import brittleness
from pytest_vla.hunt.crew import Crew, help_out, reply_of
from pytest_vla.hunt.frames import side_by_side
from pytest_vla.hunt.items import HuntKey, hunt_of
from pytest_vla.hunt.ledger import find_text, read_find
from pytest_vla.hunt.outcome import Answer, Budget, Cause, HuntError, Outcome, Probe
from pytest_vla.hunt.progress import Progress
from pytest_vla.hunt.resume import Begun, Scene
from pytest_vla.hunt.search import Hunt
from pytest_vla.hunt.space import Space
from pytest_vla.hunt.summary import cause_lines
from pytest_vla.messages import HuntBegan, HuntEnded, Probed, send
from pytest_vla.perturb import Perturbation
from pytest_vla.registry import get_suite
from pytest_vla.run import Cause as CauseRecord
from pytest_vla.run import HuntRecord, HuntStart, Record
from pytest_vla.run.hunts import Lower

if TYPE_CHECKING:
    from pytest_vla.execution import Execution
    from pytest_vla.hunt.far import Ledger
    from pytest_vla.hunt.place import Place
    from pytest_vla.options import RobustnessOptions

MOST_SEEDS = 2**31
PICTURES = "hunts"
"""The pictures' folder in the run folder."""


@dataclass(frozen=True)
class Home:
    """What outlives the worker that hunts: the run folder, and the ledger of a hunt by its name."""

    place: Place
    ledger: Callable[[str], Ledger]


def run_hunt(item: pytest.Function, execution: Execution, home: Home, crew: Crew | None, begun: Begun) -> None:
    """Hunt as this item, or answer questions of the item that does; fails when something was found."""
    key = hunt_of(item)
    assert key is not None
    player = Player(item, execution, key)
    if crew is not None and not crew.leads:
        help_out(crew, player, key)
        return
    with crew.leading() if crew is not None else nullcontext():
        record = lead(player, execution.settings.robustness, home, crew, begun)
    send(item, HuntEnded(record))
    if record.causes:
        pytest.fail("\n".join(cause_lines(record)), pytrace=False)


def lead(player: Player, options: RobustnessOptions, home: Home, crew: Crew | None, begun: Begun) -> HuntRecord:
    """Search, and remember what was found for the next time."""
    key, space, album = player.key, Space.of(player.key.axes), Album(player, home.place.within(PICTURES))
    try:
        ledger = home.ledger("/".join(key.name))
        start = begun.start
        if start is None:
            seed = secrets.randbelow(MOST_SEEDS) if options.hunt_seed is None else options.hunt_seed
            hands = 1 if crew is None else crew.hands
            start = HuntStart(*key.name, batch=hands, known=tuple(ledger.finds()), seed=seed)
            send(player.item, HuntBegan(start))
        finds = {text: find for text in start.known if (find := read_find(text, space)) is not None}
        asker = Asker(player, space, crew, begun)
        outcome = Hunt(
            space,
            asker,
            Budget(key.budget, options.hunt_seconds or float("inf")),
            seeds=range(key.first_episode, key.first_episode + key.scenes),
            batch=start.batch,
            random_seed=start.seed,
            known=list(finds.values()),
            scene=lambda index: asker.scenes.get(index, {}),
            on_cause=lambda cause: album.add(key.episode(cause.seed, str(space.perturbation(cause.point)))),
        ).run()
    except HuntError as error:
        pytest.fail(f"{key.where}: {error}", pytrace=False)
    record = hunt_record(key, outcome, album)
    album.keep_only(cause.picture for cause in record.causes)
    # Before the hunt's line is written: once it is there, nobody hunts here again.
    mended = [text for text, find in finds.items() if outcome.known.get(find) is False]
    kept = {find.point for find, fails in outcome.known.items() if fails}
    new = [cause for cause in outcome.causes if cause.point not in kept]
    ledger.update(mended, [find_text(cause.seed, str(space.perturbation(cause.point))) for cause in new])
    return record


class Player:
    """Plays probes with the item's own test function: a probe is solved when the function does not object."""

    def __init__(self, item: pytest.Function, execution: Execution, key: HuntKey) -> None:
        self.item, self.execution, self.key = item, execution, key
        self.suite = get_suite(key.suite)
        self.arguments = inspect.signature(item.obj).parameters
        self._open()

    def _open(self) -> None:
        self.env = self.execution.env_for(self.suite, self.key.task)
        self.policy = self.execution.policy_for(self.suite, self.env)

    def play(self, episode: EpisodeKey) -> Record:
        from pytest_vla.execution import RESULTS

        offers = {
            "policy": self.policy,
            "env": self.env,
            "episode": episode,
            "perturbation": Perturbation.parse(episode.perturbation),
        }
        arguments = {name: offers[name] if name in offers else self.item.funcargs[name] for name in self.arguments}
        objection = None
        results: list[Result] = self.item.stash.setdefault(RESULTS, [])
        results.clear()
        with self.execution.watching(self.item):
            try:
                self.item.obj(**arguments)
            except AssertionError as error:
                objection = str(error)
        if not results:
            pytest.fail(f"{self.item.nodeid}: a hunt's function must call vla.rollout", pytrace=False)
        result = results[-1]
        if result.outcome == "error" and result.reason != "policy_error":
            self.execution.drop_env(self.suite, self.key.task)
            self._open()
        return Record(
            result,
            self.item.nodeid,
            test="passed" if objection is None else "failed",
            objection=objection if result and objection else "",
            item=episode,
            kind="probe",
        )

    def tell(self, record: Record) -> None:
        """The run file has it from now on."""
        send(self.item, Probed(record))


class Asker:
    """The search's `ask`: what was recorded answers again, the rest is played here, or by the crew too."""

    def __init__(self, player: Player, space: Space, crew: Crew | None, begun: Begun) -> None:
        self.player, self.space, self.crew = player, space, crew
        self.recorded = {question: deque(answers) for question, answers in begun.answers.items()}
        self.scenes: dict[int, Scene] = dict(begun.scenes)
        self.progress = Progress(player.item, player.key)

    def __call__(self, probes: Sequence[Probe]) -> list[Answer]:
        episodes = [self.player.key.episode(probe.seed, str(self.space.perturbation(probe.point))) for probe in probes]
        answers: dict[int, Answer] = {}
        for number, episode in enumerate(episodes):
            recorded = self.recorded.get((episode.index, episode.perturbation))
            if recorded:
                answers[number] = recorded.popleft()
        left = [number for number in range(len(episodes)) if number not in answers]
        answers.update(zip(left, self._play([episodes[number] for number in left]), strict=True))
        self.progress.add(len(answers), list(answers.values()).count(False))
        return [answers[number] for number in range(len(episodes))]

    def _play(self, episodes: Sequence[EpisodeKey]) -> list[Answer]:
        if self.crew is not None:
            replies = self.crew.play(episodes, self.player)
        else:
            replies = []
            for episode in episodes:
                record = self.player.play(episode)
                self.player.tell(record)
                replies.append(reply_of(record))
        self.scenes.update((episode.index, scene) for episode, (_, scene) in zip(episodes, replies, strict=True))
        return [answer for answer, _ in replies]


@dataclass
class Album:
    """The pictures of a hunt's causes: files in the run folder, each written when its cause is found."""

    player: Player
    place: Place
    pictures: dict[EpisodeKey, str] = field(default_factory=dict)
    """Paths relative to the run folder."""

    def add(self, episode: EpisodeKey) -> None:
        name = f"{episode.suite}-{episode.task}-{episode.partition}-{episode.perturbation}.png"
        if name not in self.place.names():
            content = side_by_side(self.player.suite, self.player.env, episode)
            if content is None:
                return
            self.place.write(name, content)
        self.pictures[episode] = f"{PICTURES}/{name}"

    def keep_only(self, pictures: Iterable[str]) -> None:
        """A smaller cause may have taken the place of an earlier one."""
        for picture in set(self.pictures.values()) - set(pictures):
            self.place.remove(picture.removeprefix(f"{PICTURES}/"))


def hunt_record(key: HuntKey, outcome: Outcome, album: Album) -> HuntRecord:
    """The search as the run file keeps it, the simplest cause first."""
    base = outcome.base
    return HuntRecord(
        *key.name,
        axes=key.axes,
        episodes=outcome.episodes,
        errors=outcome.errors,
        overloads=outcome.overloads,
        control=(base.asked - base.failed, base.asked),
        tested=outcome.tested(),
        causes=tuple(_cause_record(key, outcome.space, cause, album) for cause in outcome.causes),
        map=brittleness(outcome),
        unconfirmed=outcome.unconfirmed,
        known=(sum(outcome.known.values()), len(outcome.known)),
    )


def _cause_record(key: HuntKey, space: Space, cause: Cause, album: Album) -> CauseRecord:
    perturbation = str(space.perturbation(cause.point))
    picture = album.pictures.get(key.episode(cause.seed, perturbation), "")
    lower = None if cause.lower is None else Lower(str(space.perturbation(cause.lower[0])), cause.lower[1])
    also = tuple(str(space.perturbation(point)) for point in cause.also)
    return CauseRecord(
        perturbation,
        *(cause.failed, cause.asked, cause.seed, cause.shrink_episodes, picture),
        confirmed=cause.confirmed,
        lower=lower,
        condition=cause.condition,
        also=also,
    )
