"""The hunt itself, without simulators: draw points, confirm failures, shrink each to its cause, exclude it, go on.

The search only knows `ask`, which answers a batch of probes: in one process, over workers, or by simulation.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_vla.hunt.history import History
from pytest_vla.hunt.space import MAX_LEVEL, Point, Space, active, change, severity
from pytest_vla.hunt.suspects import Suspects, Thresholds
from pytest_vla.run.hunts import Tested

FAILING_SHARE = (0.3, 0.5)
"""The number of axes off neutral is chosen so that this share of fresh points fails."""
WINDOW = 8
"""So many fresh answers between two looks at that share."""
CANDIDATES = 8
CONTROL_EPISODES = 10
CONFIRMED_BY, CONFIRMED_SHARE = 3, 0.75
SURE, SURE_WHEN_FLAKY = 0.9, 0.95
MOST_TESTS = 60
"""Of one shrinking step, before it is given up."""
RELIABLE = 0.03
"""Below this flakiness one answer is enough."""
OVERLOAD_STEP = 4
TRUSTED = 3
"""One solved point may be luck, three of them show that so much can be solved."""


class HuntError(Exception):
    """A hunt cannot begin, or makes no sense."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One question: does the policy solve the paired episode `seed` at this point?"""

    point: Point
    seed: int


Answer = bool | None
"""Solved or not; None when the episode broke, which says nothing about the policy."""
Ask = Callable[[Sequence[Probe]], Sequence[Answer]]


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop, whichever comes first."""

    episodes: int = 500
    seconds: float = float("inf")


@dataclass(frozen=True, slots=True)
class Cause:
    """A locally minimal point that fails: with any axis neutral, or any ordered axis one level lower, it does not."""

    point: Point
    failed: int
    asked: int
    shrink_episodes: int
    seed: int
    """A paired episode that fails."""


@dataclass
class Outcome:
    """What a hunt found, and what it looked at."""

    space: Space
    history: History
    causes: list[Cause] = field(default_factory=list)
    control: dict[int, Answer] = field(default_factory=dict)
    episodes: int = 0
    errors: int = 0
    overloads: int = 0
    """Confirmed failures that took more than three axes at once: too much, rather than a cause."""
    unconfirmed: int = 0

    def tested(self) -> Tested:
        """How much was looked at: points, axes off at once, levels in all, and pairs of levels that were solved."""
        points = list(self.history.answers)
        return Tested(
            points=len(points),
            most_axes=max((len(active(point)) for point in points), default=0),
            severity=max(map(severity, points), default=0),
            pairs=self.history.solved_pairs(),
        )


class OutOfBudget(Exception):
    """The budget, or all there is to try, ended in the middle of something."""


class Hunt:
    """One search. `run` returns when the budget is used up."""

    def __init__(
        self,
        space: Space,
        ask: Ask,
        budget: Budget = Budget(),  # noqa: B008
        *,
        seeds: Sequence[int] = range(CONTROL_EPISODES),
        batch: int = 1,
        random_seed: int = 0,
        known: Sequence[Point] = (),
        on_cause: Callable[[Cause], object] = lambda cause: None,
    ) -> None:
        self.space, self._ask, self.budget, self.batch = space, ask, budget, batch
        self.random = random.Random(random_seed)
        self.history = History(space)
        self.outcome = Outcome(space, self.history)
        self._all_seeds, self._known, self._on_cause = list(seeds), list(known), on_cause
        self._asked_with: dict[Point, list[int]] = {}
        self._failed_with: dict[Point, int] = {}
        self._density = max(1.0, len(space.axes) / 3)
        self._cap = MAX_LEVEL * len(space.axes)
        self._window: list[bool] = []
        self._drawn: set[Point] = set()
        self._waiting: list[Point] = []
        self._deadline = time.monotonic() + budget.seconds

    def run(self) -> Outcome:
        try:
            self._control()
            for point in self._known:
                self._pursue(point)
            while True:
                self._answers(self._fresh(self.batch))
                while self._waiting:
                    point = self._waiting.pop(0)
                    if not self._explained(point):
                        self._pursue(point)
        except OutOfBudget:
            return self.outcome

    # --- episodes -----------------------------------------------------------------------------------------------------

    def _control(self) -> None:
        """The same episodes unperturbed: only what is solved there can be broken."""
        neutral = self.space.neutral
        answers = self._answers([Probe(neutral, seed) for seed in self._all_seeds])
        self.outcome.control = dict(zip(self._all_seeds, answers, strict=False))  # the budget may be smaller
        self.seeds = [seed for seed, solved in self.outcome.control.items() if solved]
        if not self.seeds:
            raise HuntError(
                f"nothing to hunt: the policy solved none of {len(self._all_seeds)} episodes unperturbed. "
                "Choose a task it can do, or more episodes with --vla-episodes"
            )

    def _seed(self, point: Point) -> int:
        """A paired episode this point was not asked with yet, else one at random."""
        used = self._asked_with.get(point, [])
        fresh = [seed for seed in self.seeds if seed not in used]
        return self.random.choice(fresh or self.seeds)

    def _answers(self, probes: Sequence[Probe]) -> Sequence[Answer]:
        probes = probes[: max(self.budget.episodes - self.outcome.episodes, 0)]
        if not probes or time.monotonic() > self._deadline:
            raise OutOfBudget
        answers = self._ask(probes)
        self.outcome.episodes += len(probes)
        for probe, solved in zip(probes, answers, strict=True):
            self._asked_with.setdefault(probe.point, []).append(probe.seed)
            if probe.point in self._drawn:
                self._drawn.discard(probe.point)
                self._calibrate(solved)
                if solved is False:
                    self._waiting.append(probe.point)
            if solved is None:
                self.outcome.errors += 1
            elif any(probe.point):
                self.history.add(probe.point, solved)
                if not solved:
                    self._failed_with[probe.point] = probe.seed
        return answers

    def _again(self, point: Point) -> Answer:
        """One more answer for a point; whoever else could answer meanwhile gets fresh points."""
        return self._answers([Probe(point, self._seed(point)), *self._fresh(self.batch - 1)])[0]

    def _fresh(self, count: int) -> list[Probe]:
        """Probes of newly drawn points; those that fail wait to be pursued."""
        points = [self._draw() for _ in range(count)]
        if not all(map(any, points)):
            raise OutOfBudget  # with all causes excluded, nothing is left to be tried
        self._drawn.update(points)
        return [Probe(point, self._seed(point)) for point in points]

    def _confirmed(self, point: Point, by: int = CONFIRMED_BY) -> bool:
        """Three of four paired episodes fail; asks only as many as it takes to know."""
        while True:
            failed, solved = self.history.failed(point), self.history.solved(point)
            if failed >= by and failed >= CONFIRMED_SHARE * (failed + solved):
                return True
            if solved > (1 - CONFIRMED_SHARE) * max(failed + solved, by / CONFIRMED_SHARE):
                return False
            self._again(point)

    # --- drawing ------------------------------------------------------------------------------------------------------

    def _draw(self) -> Point:
        """Of a few random points of the right density, the one that shows most that no solved point has shown."""
        return max((self._candidate() for _ in range(CANDIDATES)), key=self.history.novelty)

    def _candidate(self) -> Point:
        count = int(self._density) + (self.random.random() < self._density % 1)
        size = len(self.space.axes)
        levels = [0] * size
        for axis in self.random.sample(range(size), min(max(count, 1), size)):
            levels[axis] = self.random.randint(1, MAX_LEVEL)
        return self._repaired(tuple(levels))

    def _repaired(self, point: Point) -> Point:
        """Take out what is known to fail: one axis of each known cause is drawn anew, short of it."""
        for _ in range(20):
            known = next((c.point for c in self.outcome.causes if self.space.covers(point, c.point)), None)
            if known is None:
                break
            axis = self.random.choice(active(known))
            need = known[axis]
            others = [n for n in range(1, MAX_LEVEL + 1) if n < need or (not self.space.ordered[axis] and n != need)]
            point = change(point, axis, self.random.choice(others) if others else 0)
        levels, off, total = list(point), active(point), severity(point)
        while total > self._cap:
            axis = self.random.choice(off)
            less = 1 if self.space.ordered[axis] else levels[axis]
            levels[axis] -= less
            total -= less
            if not levels[axis]:
                off.remove(axis)
        return tuple(levels)

    def _calibrate(self, solved: Answer) -> None:
        """More axes while too little of what is drawn fails, fewer while too much does."""
        if solved is not None:
            self._window.append(not solved)
        if len(self._window) < WINDOW:
            return
        share = sum(self._window) / len(self._window)
        self._window.clear()
        if share < FAILING_SHARE[0]:
            self._density = min(self._density * 1.25, len(self.space.axes))
        elif share > FAILING_SHARE[1]:
            self._density = max(self._density * 0.8, 1.0)

    def _explained(self, point: Point) -> bool:
        return any(self.space.covers(point, cause.point) for cause in self.outcome.causes)

    # --- shrinking ----------------------------------------------------------------------------------------------------

    def _pursue(self, point: Point) -> None:
        """From a failing point to its cause, if it is one."""
        if not self._confirmed(point):
            self.outcome.unconfirmed += 1
            return
        start = self.outcome.episodes
        axes = self._shrink_axes(point)
        if axes is None:
            self._overloaded(point)
            return
        smallest = self._minimal(self._shrink_levels(self.space.only(point, axes)))
        if not self._confirmed(smallest):
            self.outcome.unconfirmed += 1
            return
        failed, solved = self.history.failed(smallest), self.history.solved(smallest)
        spent = self.outcome.episodes - start
        cause = Cause(smallest, failed, failed + solved, spent, self._failed_with[smallest])
        kept = [known for known in self.outcome.causes if not self.space.covers(known.point, smallest)]
        self.outcome.causes = [*kept, cause]
        self._on_cause(cause)

    def _shrink_axes(self, point: Point) -> list[int] | None:
        """The axes that make it fail, or None when it takes more than three."""
        suspects = Suspects.of(self.space, point, self.history.solved_points())
        for _ in range(MOST_TESTS):
            axes, weight = suspects.best()
            if weight >= self._sure():
                return axes
            kept = suspects.next_test()
            test = self.space.only(point, kept)
            solved = self._again(test)
            if solved is not None:
                light = severity(test) <= self.history.solved_severity(TRUSTED)
                suspects.learn(kept, solved, self.history.flakiness, light)
        return None

    def _shrink_levels(self, cause: Point) -> Point:
        """Each ordered axis in turn down to the lowest level that still fails; level 0 drops it."""
        for axis in active(cause):
            if self.space.ordered[axis]:
                thresholds = Thresholds.of(self.space, cause, axis, self.history.solved_points())
                for _ in range(MOST_TESTS):
                    level, weight = thresholds.best()
                    if weight >= self._sure():
                        break
                    tried = thresholds.next_test()
                    solved = self._again(change(cause, axis, tried))
                    if solved is not None:
                        thresholds.learn(tried, solved, self.history.flakiness)
                cause = change(cause, axis, level)
        return cause

    def _sure(self) -> float:
        return SURE if self.history.flakiness < RELIABLE else SURE_WHEN_FLAKY

    def _minimal(self, cause: Point) -> Point:
        """With answers that cannot be relied on, look at each axis once more: without it, is it solved?"""
        if self.history.flakiness < RELIABLE:
            return cause
        for axis in active(cause):
            without = change(cause, axis, 0)
            if any(without) and self._fails(without):
                return self._minimal(without)
        return cause

    def _fails(self, point: Point) -> bool:
        """Whichever answer is first ahead by two."""
        while abs(lead := self.history.failed(point) - self.history.solved(point)) < 2:
            self._again(point)
        return lead > 0

    def _overloaded(self, point: Point) -> None:
        """Not a few axes but too much at once, if it is real: from now on stay well below."""
        if severity(point) <= self.history.solved_severity(TRUSTED) or not self._confirmed(point, by=CONFIRMED_BY + 2):
            self.outcome.unconfirmed += 1
            return
        self.outcome.overloads += 1
        self._cap = max(min(self._cap, severity(point) - OVERLOAD_STEP), MAX_LEVEL)
