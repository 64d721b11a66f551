"""Other ways to search for what breaks a policy, each with the same episodes as a hunt.

They are helped where it costs them nothing: what a known cause explains is free, and so is asking Hypothesis's own
repetitions again. All but Hypothesis, which has a shrinker of its own, shrink by delta debugging.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from itertools import combinations

from benchmarks.hunt_planted import Planted
from pytest_vla.hunt.space import MAX_LEVEL, Point, active, change

EPISODES = 500
MOST_DRAWS = 20 * EPISODES
"""A search that only draws what it knows already ends here."""
SPARSE = (3, 7)
"""Axes off neutral at once: the best way to draw that we knew before hunts."""

Found = list[tuple[Point, int]]
"""Shrunk causes, with the episodes that the shrinking of each took."""
Searcher = Callable[[Planted, int], Found]


class OutOfEpisodes(Exception):
    """The budget is used up."""


class Session:
    """One search: counts episodes, answers for known causes for free, and shrinks by delta debugging."""

    def __init__(self, policy: Planted) -> None:
        self.policy, self.space, self.episodes = policy, policy.space, 0
        self.found: Found = []

    def fails(self, point: Point) -> bool:
        if self.episodes == EPISODES:
            raise OutOfEpisodes
        self.episodes += 1
        return not self.policy.solves(point, self.episodes)

    def known(self, point: Point) -> bool:
        return any(self.space.covers(point, cause) for cause, _ in self.found)

    def try_point(self, point: Point) -> bool:
        """Ask for a point, and shrink it when it fails; a point that is explained already counts as solved."""
        if self.known(point) or not self.fails(point):
            return False
        start = self.episodes
        self.found.append((self._levels(self._ddmin(point)), self.episodes - start))
        return True

    def _ddmin(self, point: Point) -> Point:
        axes, parts = active(point), 2
        while len(axes) > 1:
            size = -(-len(axes) // parts)
            chunks = [axes[i : i + size] for i in range(0, len(axes), size)]
            subsets = [*chunks, *([a for a in axes if a not in chunk] for chunk in chunks if len(chunks) > 2)]
            smaller = next((subset for subset in subsets if self.fails(self.space.only(point, subset))), None)
            if smaller is not None:
                parts = 2 if len(smaller) <= size else max(parts - 1, 2)
                axes = smaller
            elif parts >= len(axes):
                break
            else:
                parts = min(2 * parts, len(axes))
        return self.space.only(point, axes)

    def _levels(self, point: Point) -> Point:
        for axis in active(point):
            low = 1
            while self.space.ordered[axis] and low < point[axis]:
                level = (low + point[axis]) // 2
                if self.fails(change(point, axis, level)):
                    point = change(point, axis, level)
                else:
                    low = level + 1
        return point


def uniform_random(policy: Planted, seed: int) -> Found:
    """Every axis uniform."""
    draw, session = random.Random(seed), Session(policy)
    with suppress(OutOfEpisodes):
        for _ in range(MOST_DRAWS):
            session.try_point(tuple(draw.randint(0, MAX_LEVEL) for _ in policy.space.axes))
    return session.found


def sparse_random(policy: Planted, seed: int) -> Found:
    """A few axes off at once, which avoids most overloads."""
    draw, session = random.Random(seed), Session(policy)
    numbers = range(len(policy.space.axes))
    with suppress(OutOfEpisodes):
        for _ in range(MOST_DRAWS):
            off = draw.sample(numbers, draw.randint(*SPARSE))
            session.try_point(tuple(draw.randint(1, MAX_LEVEL) if n in off else 0 for n in numbers))
    return session.found


def grid(policy: Planted, seed: int) -> Found:
    """One axis at a time at every level, then pairs of axes at random levels, until the budget ends."""
    draw, session = random.Random(seed), Session(policy)
    numbers, neutral = range(len(policy.space.axes)), policy.space.neutral
    with suppress(OutOfEpisodes):
        for axis in numbers:
            for level in range(1, MAX_LEVEL + 1):
                session.try_point(change(neutral, axis, level))
        for _ in range(MOST_DRAWS // len(numbers)):
            for a, b in combinations(numbers, 2):
                point = change(neutral, a, draw.randint(1, MAX_LEVEL))
                session.try_point(change(point, b, draw.randint(1, MAX_LEVEL)))
    return session.found


def optuna_tpe(policy: Planted, seed: int) -> Found:
    """Optuna's TPE maximises failure."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    session = Session(policy)
    with suppress(OutOfEpisodes):
        for _ in range(EPISODES):
            trial = study.ask()
            point = tuple(trial.suggest_int(name, 0, MAX_LEVEL) for name in policy.space.axes)
            study.tell(trial, float(session.try_point(point)))
    return session.found


def plain_hypothesis(policy: Planted, seed: int) -> Found:
    """Hypothesis on its own: find an example, let it shrink, exclude it, once more."""
    from hypothesis import HealthCheck, Phase, find, settings, strategies
    from hypothesis.errors import HypothesisException

    session = Session(policy)
    points = strategies.tuples(*(strategies.integers(0, MAX_LEVEL) for _ in policy.space.axes))
    chosen = settings(
        max_examples=EPISODES,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    answers: dict[Point, bool] = {}
    first: list[int] = []

    def fails(point: Point) -> bool:
        if session.known(point):
            return False
        if point not in answers:
            if session.episodes == EPISODES:
                return False
            answers[point] = session.fails(point)
            if answers[point] and not first:
                first.append(session.episodes)
        return answers[point]

    draw = random.Random(seed)
    while session.episodes < EPISODES:
        first.clear()
        try:
            cause = find(points, fails, settings=chosen, random=draw)
        except HypothesisException:
            if not first:
                break
            continue
        session.found.append((cause, session.episodes - first[0]))
    return session.found
