"""Hunts where causes are effects: scenes that fail by themselves, or only with a cause and only some of them.

Each figure is a number of searches over 14 axes with 500 episodes; what a search may get wrong is held against its
stated rate by an exact binomial test.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks.hunt_planted import DEVELOPMENT_SPACE
from pytest_vla.hunt.outcome import Budget, Cause, HuntError, Probe
from pytest_vla.hunt.search import Hunt
from pytest_vla.hunt.space import Point, active
from pytest_vla.run.hunts import Count
from pytest_vla.run.intervals import binomial_tail, exact_interval

EPISODES = 500
SALT = "held out"
"""Of what no setting of the search was chosen with."""
SHARES = (0.8, 0.6, 0.5, 0.4, 0.3)
BASES = (0.5, 0.65, 0.8, 0.95)
STATED, UNLIKELY = 0.05, 0.01
LEAST_FOUND, LEAST_COVERED = 22 / 24, 0.93
SPACE = DEVELOPMENT_SPACE


@dataclass(frozen=True)
class Scenario:
    """A policy: what breaks it, in which share of the scenes or where, how surely, and how often it fails anyway."""

    name: str
    kind: str = "none"
    share: float = 1.0
    chance: float = 1.0
    base: float = 1.0
    """Solved without any cause."""
    rerolled: bool = True
    """Whether an episode that is played again comes out anew; else scene and perturbation decide."""
    left: bool = False
    """Whether it breaks only where the object is on the left."""


@dataclass(frozen=True)
class Policy:
    """One policy of a scenario."""

    scenario: Scenario
    number: int
    causes: tuple[Point, ...]

    @classmethod
    def of(cls, scenario: Scenario, number: int) -> Policy:
        draw = random.Random(f"{SALT} {scenario.name} {number}")
        ordered = [axis for axis in range(len(SPACE.axes)) if SPACE.ordered[axis]]
        a, b, c = draw.sample(ordered, 3)
        sets = {"none": [], "single": [(a,)], "two": [(a,), (b, c)], "yaw": [(SPACE.axes.index("camera.yaw"),)]}
        causes = [
            tuple(draw.randint(3, 6) if axis in chosen else 0 for axis in range(len(SPACE.axes)))
            for chosen in sets[scenario.kind]
        ]
        return cls(scenario, number, tuple(causes))

    def scene(self, seed: int) -> Mapping[str, str | float]:
        """Five features, one of which may tell."""
        draw = random.Random(f"{SALT} {self.scenario.name} {self.number} scene {seed}")
        x = draw.uniform(-0.5, 0.5)
        return {
            "x": round(x, 3),
            "distance": round(draw.uniform(0.2, 0.8), 3),
            "object": draw.choice(("cup", "bowl", "block")),
            "side": "left" if x < 0 else "right",
            "colour": draw.choice(("red", "green", "blue", "grey")),
        }

    def breaks(self, seed: int, cause: int) -> bool:
        if self.scenario.left:
            return self.scene(seed)["side"] == "left"
        return self._drawn("share", seed, cause) < self.scenario.share

    def solves(self, probe: Probe, coin: random.Random) -> bool:
        scenario = self.scenario
        for number, cause in enumerate(self.causes):
            if SPACE.covers(probe.point, cause) and self.breaks(probe.seed, number) and coin.random() < scenario.chance:
                return False
        luck = coin.random() if scenario.rerolled else self._drawn("base", probe.seed, probe.point)
        return luck < scenario.base

    def _drawn(self, *key: object) -> float:
        text = repr((SALT, self.scenario.name, self.number, *key))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") / 2**64

    def rate(self) -> float:
        """How often an episode fails that has one cause in it."""
        share = (0.5 if self.scenario.left else self.scenario.share) * self.scenario.chance
        return share + (1 - share) * (1 - self.scenario.base)


@dataclass(frozen=True)
class Result:
    """What one search came to."""

    planted: int
    found: int
    wrong: int
    """Causes that are none."""
    extra: int
    """Superfluous axes."""
    covered: Count
    """Intervals that do not hold the true rate, of all that were stated."""
    told: bool = False
    """Whether the right feature was named."""


def search(job: tuple[Scenario, int]) -> Result:
    scenario, number = job
    policy, coin = Policy.of(scenario, number), random.Random(f"{SALT} coin {scenario.name} {number}")

    def ask(probes: Sequence[Probe]) -> list[bool]:
        return [policy.solves(probe, coin) for probe in probes]

    try:
        outcome = Hunt(SPACE, ask, Budget(EPISODES), random_seed=number, scene=policy.scene).run()
    except HuntError:  # nothing was solved
        return Result(len(policy.causes), 0, 0, 0, Count())
    return judged(policy, outcome.causes)


def judged(policy: Policy, causes: Sequence[Cause]) -> Result:
    found, wrong, extra, covered, told = set(), 0, 0, Count(), False
    for cause in causes:
        inside = [number for number, known in enumerate(policy.causes) if SPACE.covers(cause.point, known)]
        if not inside:
            wrong += 1
            continue
        surplus = {n: len(set(active(cause.point)) - set(active(policy.causes[n]))) for n in inside}
        best = min(inside, key=surplus.__getitem__)
        found.add(best)
        extra += surplus[best]
        low, high = exact_interval(cause.rate.failed, cause.rate.asked)
        covered = covered.add(not low <= policy.rate() <= high)
        if cause.condition is not None:
            told |= cause.condition.feature in ("side", "x") and cause.condition.holds({"side": "left", "x": -0.3})
    return Result(len(policy.causes), len(found), wrong, extra, covered, told)


@dataclass(frozen=True)
class Figure:
    """A count of so many, with its Monte-Carlo interval and what it has to be."""

    name: str
    count: int
    of: int
    wanted: str
    ok: bool

    def __str__(self) -> str:
        low, high = exact_interval(self.count, self.of)
        verdict = "" if self.ok else "   NOT OK"
        return f"{self.name:62}{self.count:5} of {self.of:<5} [{low:.1%}, {high:.1%}]  {self.wanted}{verdict}"


def at_least_of(name: str, count: int, of: int, share: float) -> Figure:
    return Figure(name, count, of, f">= {share:.0%}", count >= share * of)


def not_above(name: str, count: int, of: int, rate: float = STATED) -> Figure:
    """Not shown to be above the stated rate."""
    return Figure(name, count, of, f"not above {rate:.0%} at p = {UNLIKELY}", binomial_tail(count, of, rate) > UNLIKELY)


def effects(pool: ProcessPoolExecutor, searches: int, null_searches: int) -> Iterator[Figure]:
    """All of them."""
    covered = Count()
    for share in SHARES:
        results = run(pool, Scenario(f"{share:.0%} of the scenes", "single", share), searches)
        covered = _sum(covered, *(result.covered for result in results))
        yield at_least_of(f"found, breaks {share:.0%} of the scenes", _whole(results), searches, LEAST_FOUND)
        yield Figure(
            "  superfluous axes",
            extra := sum(r.extra for r in results),
            max(extra, searches),
            "<= 5%",
            extra <= searches / 20,
        )
    for base, rerolled in ((0.8, True), (0.8, False)):
        name = f"breaks 50% of the scenes beside 20% of failures of its own, {_how(rerolled)}"
        results = run(pool, Scenario(name, "single", 0.5, base=base, rerolled=rerolled), searches)
        covered = _sum(covered, *(result.covered for result in results))
        yield at_least_of(f"found, {name}", _whole(results), searches, 0.8)
    yield at_least_of(
        "stated intervals that hold the true rate", covered.asked - covered.failed, covered.asked, LEAST_COVERED
    )
    results = run(pool, Scenario("70%", "two", chance=0.7), searches)
    yield at_least_of("both found, each fails with probability 0.7", _whole(results), searches, 1.0)
    results = run(pool, Scenario("left", "yaw", left=True), searches)
    yield at_least_of("found, turned camera and object on the left", _whole(results), searches, LEAST_FOUND)
    yield at_least_of("  and the side named", sum(r.told for r in results), searches, LEAST_FOUND)
    for base in BASES:
        for rerolled in (True, False):
            name = f"{base:.0%} solved without a cause, {_how(rerolled)}"
            results = run(pool, Scenario(name, base=base, rerolled=rerolled), null_searches)
            yield not_above(f"false alarms, {name}", sum(r.wrong > 0 for r in results), null_searches)


def run(pool: ProcessPoolExecutor, scenario: Scenario, searches: int) -> list[Result]:
    return list(pool.map(search, [(scenario, number) for number in range(searches)], chunksize=4))


def _how(rerolled: bool) -> str:
    return "re-rolled" if rerolled else "fixed"


def _whole(results: Iterable[Result]) -> int:
    """Searches that found all there is."""
    return sum(result.found == result.planted for result in results)


def _sum(*counts: Count) -> Count:
    return Count(sum(count.failed for count in counts), sum(count.asked for count in counts))
