"""Several episodes at once, where a suite's simulator can: each comes out as it would alone.

A simulator of many has lanes. Every lane plays one episode; when that ends, the lane takes the next one, so that no
lane waits for the longest episode. Which episodes share the lanes changes from run to run, and must change no result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pytest_vla.deadline import DeadlineExceeded, deadline
from pytest_vla.episode import EpisodeKey, Result, writable
from pytest_vla.rollout import Attempt, Step, measured

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.policies.base import Policy
    from pytest_vla.suite import Suite


@dataclass(frozen=True)
class Lane:
    """One episode's part of what a simulator of many answers."""

    observation: Any
    digest: str
    progress: float | None = None
    features: Any = None
    terminated: bool = False
    info: Any = None


@dataclass(frozen=True)
class Played:
    """An episode that came to its end."""

    result: Result
    steps: Sequence[Step]


@dataclass
class _Going:
    """An episode in a lane."""

    attempt: Attempt
    observation: Any = None
    steps: list[Step] = field(default_factory=list)


class Flight:
    """Episodes of one task in the lanes of one environment. Whatever anybody raises is raised: see `Together`."""

    def __init__(self, suite: Suite, policy: Policy, env: Any, done: dict[EpisodeKey, Played]) -> None:
        """What has come to its end goes into `done`."""
        self.suite, self.policy, self.env, self.done = suite, policy, env, done
        self.waiting: deque[EpisodeKey] = deque()
        self.lanes: list[_Going | None] = []
        self._serial: Any = None

    @property
    def going(self) -> list[EpisodeKey]:
        return [lane.attempt.episode for lane in self.lanes if lane is not None]

    @property
    def is_interrupted(self) -> bool:
        """Whether its environment has been used for something else: what was in the lanes is lost."""
        return self._serial is not None and self._serial != self.env.serial

    def add(self, keys: Iterable[EpisodeKey]) -> None:
        known = {*self.going, *self.waiting, *self.done}
        self.waiting.extend(key for key in keys if key not in known)

    def play(self, until: Callable[[], bool], alive: Callable[[], None]) -> None:
        """Go on, step by step, until that holds or nothing is left."""
        while not until() and (self.waiting or self.going):
            self._fill()
            alive()
            if self.going:
                self._step()
                alive()

    def _fill(self) -> None:
        """Begin episodes in lanes that are free; the first ones decide how many lanes there are."""
        if not self.lanes:
            self.lanes = [None] * min(self.suite.batch, len(self.waiting))
        free = [number for number, lane in enumerate(self.lanes) if lane is None][: len(self.waiting)]
        if not free:
            return
        start = perf_counter()
        keys: list[EpisodeKey | None] = [None] * len(self.lanes)
        for number in free:
            keys[number] = self.waiting.popleft()
        begun = {n: _Going(Attempt(self.suite, self.policy, self.env, key)) for n, key in enumerate(keys) if key}
        for number, lane in begun.items():
            self.lanes[number] = lane
        answers: list[Lane | None] = self.env.reset_batch(keys)
        self._serial = self.env.serial
        for number, lane in begun.items():
            answer, attempt = answers[number], lane.attempt
            assert answer is not None
            attempt.begin(answer.observation, answer.features or {}, answer.digest)
            attempt.progress = measured(answer.progress)
            attempt.state = self.policy.reset(attempt.episode)
            attempt.timings["reset"] = (perf_counter() - start) / len(free)
            lane.observation = answer.observation
            lane.steps.append(Step(answer.observation, None, attempt.progress, False))
            self._end(number, attempt.verdict(False, {}))

    def _step(self) -> None:
        going = {number: lane for number, lane in enumerate(self.lanes) if lane is not None}
        began = perf_counter()
        given = self.policy.act(
            [lane.observation for lane in going.values()], [lane.attempt.state for lane in going.values()]
        )
        actions: list[Any] = [None] * len(self.lanes)
        for (number, lane), action in zip(going.items(), given, strict=True):
            actions[number] = lane.attempt.checked(action)
        acted = perf_counter()
        answers: list[Lane | None] = self.env.step_batch(actions)
        stepped = perf_counter()
        for number, lane in going.items():
            answer, attempt = answers[number], lane.attempt
            assert answer is not None
            attempt.steps += 1
            attempt.states.update(answer.digest.encode())
            attempt.progress = measured(answer.progress)
            attempt.timings["act"] += (acted - began) / len(going)
            attempt.timings["step"] += (stepped - acted) / len(going)
            lane.observation = answer.observation
            success = bool(answer.info.get("success", False))
            lane.steps.append(Step(answer.observation, actions[number], attempt.progress, success))
            self._end(number, attempt.verdict(answer.terminated, answer.info))

    def _end(self, number: int, verdict: Any) -> None:
        """Where an episode has ended its lane is free; its time is its share of what the lanes took."""
        lane = self.lanes[number]
        if verdict is None or lane is None:
            return
        outcome, reason, message = verdict
        attempt = lane.attempt
        result = writable(attempt.result(outcome, reason, message, sum(attempt.timings.values())))
        self.done[attempt.episode] = Played(result, lane.steps)
        self.lanes[number] = None


class Together:
    """What a process plays side by side, kept from item to item: lanes, and results that nobody has asked for yet."""

    def __init__(self) -> None:
        self._flight: Flight | None = None
        self._done: dict[EpisodeKey, Played] = {}
        self._alone: set[EpisodeKey] = set()  # were in lanes when somebody raised: alone, whoever it was is found
        self._players: tuple[Any, Any] = (None, None)

    def played(
        self,
        suite: Suite,
        policy: Policy,
        env: gymnasium.Env[Any, Any],
        episode: EpisodeKey,
        upcoming: Sequence[EpisodeKey],
        timeout: float,
    ) -> Played | None:
        """An episode from its lane, where it is played to its end if it was not yet; None: it has to run alone."""
        if self._players[0] is not policy or self._players[1] is not env:
            self._flight, self._done, self._players = None, {}, (policy, env)
        if episode in self._done:
            return self._done.pop(episode)
        if episode in self._alone or episode.perturbation or suite.cameras:
            self._alone.discard(episode)
            return None
        keys = [episode, *(key for key in upcoming if _fits(key, episode) and key not in self._alone)]
        try:
            with deadline(timeout) as alive:
                flight = self._flight_of(suite, policy, env, episode, alive)
                if flight is None and len(keys) == 1:
                    return None  # nothing to share the lanes with
                if flight is None:
                    flight = self._flight = Flight(suite, policy, env, self._done)
                flight.add(keys)
                flight.play(lambda: episode in self._done, alive)
        except (Exception, DeadlineExceeded):
            self._alone |= set(self._flight.going) if self._flight is not None else set()
            self._alone.discard(episode)
            self._flight = None
            env.close()  # it may be in any state
            return None
        return self._done.pop(episode)

    def _flight_of(
        self, suite: Suite, policy: Policy, env: Any, episode: EpisodeKey, alive: Callable[[], None]
    ) -> Flight | None:
        """The one under way that has room for an episode. Before another task begins, what is in the lanes ends."""
        flight = self._flight
        if flight is not None and not flight.is_interrupted and not all(_fits(key, episode) for key in flight.going):
            flight.waiting.clear()
            flight.play(lambda: False, alive)
            self._flight = None
        elif flight is not None and (flight.is_interrupted or not flight.going):
            self._flight = None
        return self._flight


def side_by_side(
    suite: Suite, policy: Policy, env: gymnasium.Env[Any, Any], keys: Iterable[EpisodeKey]
) -> dict[EpisodeKey, Played]:
    """Episodes of one task, played to their ends at once; whatever anybody raises is raised."""
    done: dict[EpisodeKey, Played] = {}
    flight = Flight(suite, policy, env, done)
    flight.add(keys)
    flight.play(lambda: False, lambda: None)
    return done


def _fits(key: EpisodeKey, episode: EpisodeKey) -> bool:
    return (key.suite, key.task, key.perturbation) == (episode.suite, episode.task, "")
