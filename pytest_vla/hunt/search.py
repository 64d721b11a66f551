"""The hunt itself, without simulators: draw points, shrink what fails to a suspect, confirm it on fresh scenes, go on.

The search only knows `ask`, which answers a batch of probes: in one process, over workers, or by simulation. What it
has found is measured at the end, on scenes that had no part in finding it.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count

from pytest_vla.hunt.conditions import Scene
from pytest_vla.hunt.draw import WINDOW, Draw
from pytest_vla.hunt.effects import LOOKS, Confirmation, propose
from pytest_vla.hunt.history import History
from pytest_vla.hunt.measure import Measurement
from pytest_vla.hunt.outcome import Answer, Ask, Budget, Cause, Find, HuntError, Outcome, Probe
from pytest_vla.hunt.shrink import RELIABLE, TRUSTED, Shrink, Where, parts_of
from pytest_vla.hunt.space import Point, Space, severity
from pytest_vla.hunt.suspects import Rates
from pytest_vla.run.hunts import Count
from pytest_vla.run.intervals import binomial_tail

CONTROL_EPISODES = 10
FAILS_IN, PARTLY = 3, 4
"""A point is real that fails in three scenes; solved in four before, it fails in a part of the scenes at most."""
SOON = 2
"""The same where much fails without a cause."""
LUCK = 0.05
"""A point that fails as often as it would by chance, in so many of a hundred cases, is no suspect."""
NOISY = 0.05
"""With more failures without a cause, a point that few scenes fail is no lead."""
MOSTLY = 0.75
"""What fails in so many scenes may fail in all of them, some answers being wrong."""
VAIN_SHARE = 0.3
"""So much of the episodes may go into failing points that come to nothing; the rest is for statistics."""
TRIES = 2
"""So often a suspect is tested."""
PROPOSE_EVERY = 24
"""Drawn points between two looks at all that was seen."""
OVERLOAD_STEP = 4
MEASURED_SHARE, MOST_MEASURED = 0.2, 60
"""So much of the time is kept to measure what was found; and so many scenes are enough for it."""


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
        known: Sequence[Find] = (),
        on_cause: Callable[[Cause], object] = lambda cause: None,
        scene: Callable[[int], Scene] = lambda seed: {},
    ) -> None:
        self.space, self._ask, self.budget, self.batch = space, ask, budget, batch
        self.random = random.Random(random_seed)
        self.history = History(space)
        self.outcome = Outcome(space, self.history)
        self._first_scenes, self._known, self._on_cause, self._scene = list(seeds), list(known), on_cause, scene
        used = {*self._first_scenes, *(find.seed for find in known)}
        self._unused = (seed for seed in count(max(self._first_scenes, default=-1) + 1) if seed not in used)
        self.seeds: list[int] = []
        """Scenes that were solved unperturbed: only what is solved can be broken."""
        self._draw = Draw(space, self.random)
        self._shrinking = Shrink(space, self.history, self._again)
        self._drawn: set[Point] = set()
        self._waiting: list[Point] = []
        self._until_control, self._until_proposal = WINDOW, PROPOSE_EVERY
        self._draws = self._confirmations = 0
        self._refused: Counter[Point] = Counter()
        self._parts: dict[Point, list[Point]] = {}
        """Of a cause what may fail as often, for the measurement to tell where episodes did not last for it."""
        self._in_vain = 0
        self._searching = True
        self._begun = time.monotonic()

    def run(self) -> Outcome:
        try:
            self._control()
            for find in self._known:
                self._try_again(find)
            for find, fails in self.outcome.known.items():
                if fails and not self._explained(find.point):
                    self._pursue(find.point)
            self._search()
        except OutOfBudget:
            pass
        self._searching = False
        measurement = self._measurement
        try:
            self._measure(measurement)
            while True:  # nothing is pursued any more, but the map has more to stand on
                self._answers(self._fresh(self.batch))
        except OutOfBudget:
            pass
        before = self._causes
        self.outcome.causes = measurement.finished(self.history, self._scene, self.outcome.base)
        for cause in self.outcome.causes:
            if cause.point not in before:
                self._on_cause(cause)
        return self.outcome

    def _search(self) -> None:
        while True:
            self._answers(self._fresh(self.batch))
            while self._waiting:
                point = self._waiting.pop(0)
                if not self._explained(point):
                    self._pursue(point)
            if self._until_proposal <= 0:
                self._until_proposal = PROPOSE_EVERY
                self._pursue_proposal()

    # --- episodes -----------------------------------------------------------------------------------------------------

    def _control(self) -> None:
        """Scenes unperturbed: how often the policy fails by itself, and what there is to be broken."""
        neutral = self.space.neutral
        self._answers([Probe(neutral, seed) for seed in self._first_scenes])
        if not self.seeds:
            raise HuntError(
                f"nothing to hunt: the policy solved none of {len(self._first_scenes)} episodes unperturbed. "
                "Choose a task it can do, or more scenes with --vla-hunt-scenes"
            )

    def _may_go_on(self) -> bool:
        """While searching, what it takes to measure the finds is kept."""
        episodes, seconds = self.budget.episodes, self.budget.seconds
        if self._searching and self.outcome.causes:
            episodes -= self._measurement.reserve(episodes)
            seconds *= 1 - MEASURED_SHARE
        return self.outcome.episodes < episodes and time.monotonic() - self._begun <= seconds

    @property
    def _measurement(self) -> Measurement:
        return Measurement(self.space, self.outcome.causes, MOST_MEASURED, parts=self._parts)

    def _answers(self, probes: Sequence[Probe]) -> Sequence[Answer]:
        probes = probes[: self.budget.episodes - self.outcome.episodes]
        if not probes or not self._may_go_on():
            raise OutOfBudget
        answers = self._ask(probes)
        self.outcome.episodes += len(probes)
        for probe, solved in zip(probes, answers, strict=True):
            self._take(probe, solved)
        return answers

    def _take(self, probe: Probe, solved: Answer) -> None:
        drawn = probe.point in self._drawn
        self._drawn.discard(probe.point)
        if not any(probe.point):
            self._take_control(probe.seed, solved)
        elif solved is not None:
            self.history.add(probe.point, probe.seed, solved, drawn=drawn)
            if drawn:
                chancy = any(map(self.history.solving_scenes, self._causes))
                self._draw.learn(not solved, self._luck, chancy)
                self._draws += 1
                self._until_control -= 1
                self._until_proposal -= 1
                if not solved and self._searching:
                    self._waiting.append(probe.point)
        self.outcome.errors += solved is None

    def _take_control(self, seed: int, solved: Answer) -> None:
        if seed not in self.outcome.control:
            self.outcome.control[seed] = solved
            if solved:
                self.seeds.append(seed)

    @property
    def _luck(self) -> float:
        """How often anything fails without a cause: as the control arm does, and as what came to nothing."""
        base = self.outcome.base
        control = (base.failed + 0.2) / (base.asked + 4)
        nothing = self.outcome.unconfirmed / (self._draws + 20)
        return min(max(control, nothing, 0.01), 0.5)

    def _seed(self, point: Point, scenes: Sequence[int]) -> int:
        """A scene this point was not asked in yet, else one at random."""
        used = self.history.asked_in(point)
        fresh = [seed for seed in scenes if seed not in used]
        return self.random.choice(fresh or list(scenes))

    def _again(self, point: Point, scenes: Sequence[int] = ()) -> Answer:
        """One more answer for a point; whoever else could answer meanwhile gets fresh points."""
        return self._asked([Probe(point, self._seed(point, scenes or self.seeds))])[0]

    def _asked(self, probes: Sequence[Probe]) -> list[Answer]:
        """Answers to these, in batches that are filled up with fresh points."""
        answers: list[Answer] = []
        while len(answers) < len(probes):
            now = list(probes[len(answers) : len(answers) + self.batch])
            answers += self._answers([*now, *self._fresh(self.batch - len(now))])[: len(now)]
        return answers

    def _fresh(self, count: int) -> list[Probe]:
        """Probes of newly drawn points; those that fail wait to be pursued. The control arm grows beside them."""
        if not self.seeds:
            raise OutOfBudget
        probes = []
        for _ in range(count):
            if self._until_control <= 0:
                self._until_control = WINDOW * (1 if self.outcome.base.failed else 2 if self._draw.quiet else 4)
                probes.append(Probe(self.space.neutral, next(self._unused)))
                continue
            point = self._draw.point(self.history.novelty, self._causes)
            if not any(point):
                raise OutOfBudget  # with all causes excluded, nothing is left to be tried
            self._drawn.add(point)
            probes.append(Probe(point, self._seed(point, self.seeds)))
        return probes

    @property
    def _causes(self) -> list[Point]:
        return [cause.point for cause in self.outcome.causes]

    def _explained(self, point: Point) -> bool:
        return any(self.space.covers(point, cause) for cause in self._causes)

    # --- from a failing point to a cause ------------------------------------------------------------------------------

    def _try_again(self, find: Find) -> None:
        """An earlier find: the very episode first. It is mended when that is solved, twice to be sure."""
        scenes = self.seeds if find.seed is None else [find.seed]
        answers = [self._again(find.point, scenes)]
        if answers[0] is not False:
            answers.append(self._again(find.point, scenes))
        if False in answers or True in answers:
            self.outcome.known[find] = False in answers

    def _pursue(self, point: Point) -> None:
        """One failing point; not where following such points has led nowhere all the time."""
        start = self.outcome.episodes
        if self._in_vain > VAIN_SHARE * start:
            return
        where = self._where(point)
        if where is None or not self._shrink(point, where):
            self.outcome.unconfirmed += 1
            self._in_vain += self.outcome.episodes - start

    def _pursue_proposal(self) -> None:
        """What goes with failure in all that was seen may be a cause, though no single point showed it."""
        refused = [point for point, times in self._refused.items() if times >= TRIES]
        point = propose(self.space, self.history.drawn(besides=[*self._causes, *refused]))
        if point is None:
            return
        failed, chance = 0, 1.0
        for asked in range(1, 3 * PARTLY + 1):
            failed += self._again(point) is False
            chance = binomial_tail(failed, asked, self._luck)
            if failed >= FAILS_IN and chance <= LUCK:
                break
        if chance > 2 * LUCK or not self._shrink(point, self._trust(point)):
            self._refused[point] += 1
            self.outcome.unconfirmed += 1

    def _where(self, point: Point) -> Where | None:
        """Where a point fails; None when that is as often as anything does, or not worth the episodes."""
        while True:
            failed, solved = len(self.history.failing_scenes(point)), len(self.history.solving_scenes(point))
            # The first failure is why it is looked at: the others count.
            chance = binomial_tail(failed - 1, failed + solved - 1, self._luck) if failed else 1.0
            if failed >= FAILS_IN and chance <= LUCK:
                return self._trust(point)
            if solved >= (PARTLY if self._luck < NOISY else SOON) and chance > LUCK:
                break
            if failed + solved >= len(self.seeds):
                break
            self._again(point)
        if failed == 0 or self._luck >= NOISY:
            return None
        where = self._trust(point)
        return where if where.scenes else None

    def _trust(self, point: Point) -> Where:
        """Whether a point that some scenes solved fails again where it failed, or comes out anew each time."""
        failing, solving = self.history.failing_scenes(point), self.history.solving_scenes(point)
        luck = self._luck
        share = len(failing) / (len(failing) + len(solving))
        if not solving or (share >= MOSTLY and luck >= RELIABLE):
            return Where(Rates(1 - luck, luck))
        again = Count()
        for scene in (failing * FAILS_IN)[:FAILS_IN]:
            solved = self._again(point, [scene])
            if solved is not None:
                again = again.add(not solved)
        if again.failed == again.asked:
            return Where(Rates(1 - luck, luck), tuple(failing))
        rate = (len(failing) + again.failed) / (len(failing) + len(solving) + again.asked)
        return Where(Rates(max(min(rate, 1 - luck), luck + 0.1), luck))

    def _shrink(self, point: Point, where: Where) -> bool:
        """Down to the fewest axes and the lowest levels that still fail, and confirm that."""
        start = self.outcome.episodes
        axes = self._shrinking.axes(point, where)
        if axes is None:
            return not where.scenes and self._overloaded(point)
        whole = self.space.only(point, axes)
        smallest = self._shrinking.minimal(self._shrinking.levels(whole, where), where)
        spent = self.outcome.episodes - start
        for suspect in dict.fromkeys((smallest, whole)):
            result = self._confirmed(suspect)
            if result is not None:
                cause = Cause(suspect, self.history.failing_scenes(suspect)[0], result, spent, bool(where.scenes))
                self._found(cause)
                return True
        return False

    def _confirmed(self, point: Point) -> Count | None:
        """How often it fails if that is more often than the control arm, on scenes that nothing was asked in before."""
        if not any(point) or self._refused[point] >= TRIES or self._explained(point):
            return None
        self._confirmations += 1
        test, result = Confirmation(self._confirmations), Count()
        for look, size in enumerate(LOOKS):
            while result.asked < size:
                scenes = [next(self._unused) for _ in range(size - result.asked)]
                for solved in self._asked([Probe(point, scene) for scene in scenes]):
                    result = result if solved is None else result.add(not solved)
            if self.outcome.base.asked < size:
                self._asked([Probe(self.space.neutral, scene) for scene in scenes])
            verdict = test.verdict(look, result, self.outcome.base)
            if verdict is not None:
                break
        self._refused[point] += not verdict
        return result if verdict else None

    def _found(self, cause: Cause) -> None:
        """Keep a cause; and where one answer is not enough, see whether a part of it does as well."""
        kept = [known for known in self.outcome.causes if not self.space.covers(known.point, cause.point)]
        self.outcome.causes = [*kept, cause]
        self._on_cause(cause)
        confirmed, luck = cause.confirmed, self._luck
        if confirmed.failed == confirmed.asked and luck < RELIABLE:
            return
        rate = (confirmed.failed + 1) / (confirmed.asked + 2)  # a few that all failed do not mean that all fail
        where = Where(Rates(max(min(rate, 1 - luck), luck + 0.1), luck))
        self._parts[cause.point] = parts = parts_of(cause.point)
        for smaller in list(parts):
            if self._shrinking.fails(smaller, where) and (again := self._confirmed(smaller)) is not None:
                seed = self.history.failing_scenes(smaller)[0]
                self._found(replace(cause, point=smaller, seed=seed, confirmed=again))
                return
            parts.remove(smaller)

    def _overloaded(self, point: Point) -> bool:
        """Not a few axes but too much at once: from now on stay well below."""
        if severity(point) <= self.history.solved_severity(TRUSTED):
            return False
        failed = solved = 0
        while failed < FAILS_IN + 2 and failed + solved < len(self.seeds):
            if solved > (1 - MOSTLY) * max(failed + solved, FAILS_IN + 2):
                return False
            self._again(point)
            failed, solved = len(self.history.failing_scenes(point)), len(self.history.solving_scenes(point))
        self.outcome.overloads += 1
        self.outcome.too_much = min(self.outcome.too_much, severity(point))
        self._draw.stay_below(severity(point) - OVERLOAD_STEP)
        return True

    # --- what was found, measured -------------------------------------------------------------------------------------

    def _measure(self, measurement: Measurement) -> None:
        """The causes, what is one level lower, and no perturbation at all, each on the same fresh scenes."""
        if not self.outcome.causes:
            return
        while not measurement.enough:
            probes = [Probe(arm, seed) for seed in self._scenes(self.batch) for arm in measurement.arms]
            for start in range(0, len(probes), self.batch):
                now = probes[start : start + self.batch]
                for probe, solved in zip(now, self._answers(now), strict=False):
                    measurement.add(probe.point, probe.seed, solved)

    def _scenes(self, count: int) -> Iterable[int]:
        return [next(self._unused) for _ in range(count)]
