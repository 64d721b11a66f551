"""Planted brittleness: policies with known failure regions, and how many of them each way of searching finds.

    python -m benchmarks.hunt [--quick]

Every policy fails in five planted regions and, uninterestingly, when too much is off at once. A searcher has 500
episodes; its control episodes, confirmations and shrinking count. The last line is one JSON line with the verdict.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import statistics
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations

from pytest_vla.hunt.search import Budget, Hunt, Probe
from pytest_vla.hunt.space import MAX_LEVEL, Point, Space, active, change, severity

AXES = (
    *("camera.yaw", "light.brightness", "appearance.table_texture", "appearance.object_texture"),
    *("layout.objects", "layout.distractors", "object.mass", "object.friction", "robot.action_noise", "robot.delay"),
    *("sensor.noise", "language.typos", "language.paraphrase", "language.clause"),
)
SPACE = Space.of(AXES)
OVERLOAD = 48
"""More than this in all and any policy fails: that is no cause."""
EPISODES = 500
NOISE = 0.10
ROBUST_EPISODES = 2000
MOST_DRAWS = 20 * EPISODES
"""A comparison method that only draws what it knows already ends here."""

TARGETS = {"modes": 4.5, "extra": 0.05, "shrink": 12.0, "threshold": 0.10, "noisy_modes": 4.3, "noisy_extra": 0.10}


# --- planted policies -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mode:
    """A region that fails: each axis within its range of levels."""

    kind: str
    ranges: tuple[tuple[int, int, int], ...]
    """(axis, lowest, highest level)"""

    def __contains__(self, point: Point) -> bool:
        return all(low <= point[axis] <= high for axis, low, high in self.ranges)

    @property
    def axes(self) -> set[int]:
        return {axis for axis, _, _ in self.ranges}


@dataclass(frozen=True)
class Planted:
    """A policy that fails in its modes and when overloaded; `noise` of its outcomes come out the other way."""

    name: str
    modes: tuple[Mode, ...]
    noise: float = 0.0
    overload: int | None = OVERLOAD

    def solves(self, point: Point, seed: int) -> bool:
        fails = self.overload is not None and severity(point) > self.overload
        fails |= any(point in mode for mode in self.modes)
        if self.noise:
            # The same question has the same answer, however often it is asked.
            key = struct.pack(f"<q{len(point)}b", seed, *point) + self.name.encode()
            draw = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little") / 2**64
            fails ^= draw < self.noise
        return not fails


def planted_policies(noise: float = 0.0) -> list[Planted]:
    """Twelve policies: eight that break anywhere, two only by language, two only by dynamics."""
    policies = [Planted(f"mixed-{n}", _mixed(random.Random(f"mixed-{n}"), range(len(AXES))), noise) for n in range(8)]
    dynamics = [AXES.index(name) for name in ("object.mass", "object.friction", "robot.action_noise", "robot.delay")]
    for n in range(2):
        policies.append(Planted(f"language-{n}", _language(random.Random(f"language-{n}")), noise))
        policies.append(Planted(f"dynamics-{n}", _dynamics(random.Random(f"dynamics-{n}"), dynamics), noise))
    return policies


def _mixed(draw: random.Random, axes: Sequence[int]) -> tuple[Mode, ...]:
    ordered = [axis for axis in axes if SPACE.ordered[axis]]
    unordered = [axis for axis in axes if not SPACE.ordered[axis]]
    single, *others = draw.sample(ordered, len(ordered))
    pair, triple, band = others[:2], others[2:5], others[5:7]
    low = draw.randint(2, 5)
    return (
        Mode("single", (_from(single, 6),)),
        Mode("pair", tuple(_from(axis, draw.randint(4, 6)) for axis in pair)),
        Mode("triple", tuple(_from(axis, draw.randint(5, 6)) for axis in triple)),
        Mode("band", ((band[0], low, low + 1), _from(band[1], draw.randint(3, 5)))),
        Mode("needle", tuple((axis, n, n) for axis in draw.sample(unordered, 2) for n in [draw.randint(1, MAX_LEVEL)])),
    )


def _language(draw: random.Random) -> tuple[Mode, ...]:
    typos, paraphrase, clause = (AXES.index(f"language.{name}") for name in ("typos", "paraphrase", "clause"))
    p, q, r = draw.sample(range(1, MAX_LEVEL + 1), 3)
    c, d = draw.sample(range(1, MAX_LEVEL + 1), 2)
    return (
        Mode("single", (_from(typos, draw.randint(6, 7)),)),
        Mode("pair", (_from(typos, 4), (paraphrase, p, p))),
        Mode("pair", (_from(typos, 3), (clause, c, c))),
        Mode("band", ((typos, 1, 2), (paraphrase, q, q))),
        Mode("needle", ((paraphrase, r, r), (clause, d, d))),
    )


def _dynamics(draw: random.Random, axes: list[int]) -> tuple[Mode, ...]:
    a, b, c, d = draw.sample(axes, 4)
    return (
        Mode("single", (_from(a, 7),)),
        Mode("pair", (_from(a, 4), _from(b, draw.randint(5, 6)))),
        Mode("pair", (_from(c, draw.randint(5, 6)), _from(d, draw.randint(5, 6)))),
        Mode("triple", (_from(b, 5), _from(c, 3), _from(d, 3))),
        Mode("band", ((b, 2, 3), _from(d, 4))),
    )


def _from(axis: int, level: int) -> tuple[int, int, int]:
    return (axis, level, MAX_LEVEL)


# --- searchers --------------------------------------------------------------------------------------------------------

Found = list[tuple[Point, int]]
"""Shrunk causes, with the episodes that the shrinking of each took."""
Searcher = Callable[[Planted, int], Found]


def hunt(policy: Planted, seed: int, episodes: int = EPISODES) -> Found:
    """What `--vla-hunt` does."""

    def ask(probes: Sequence[Probe]) -> list[bool]:
        return [policy.solves(probe.point, probe.seed) for probe in probes]

    outcome = Hunt(SPACE, ask, Budget(episodes), random_seed=seed).run()
    return [(cause.point, cause.shrink_episodes) for cause in outcome.causes]


class OutOfEpisodes(Exception):
    """The budget of a comparison method is used up."""


class Session:
    """One comparison search: counts episodes, answers for known causes for free, and shrinks by delta debugging."""

    def __init__(self, policy: Planted) -> None:
        self.policy, self.episodes = policy, 0
        self.found: Found = []

    def fails(self, point: Point) -> bool:
        if self.episodes == EPISODES:
            raise OutOfEpisodes
        self.episodes += 1
        return not self.policy.solves(point, self.episodes)

    def known(self, point: Point) -> bool:
        return any(SPACE.covers(point, cause) for cause, _ in self.found)

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
            smaller = next((subset for subset in subsets if self.fails(SPACE.only(point, subset))), None)
            if smaller is not None:
                parts = 2 if len(smaller) <= size else max(parts - 1, 2)
                axes = smaller
            elif parts >= len(axes):
                break
            else:
                parts = min(2 * parts, len(axes))
        return SPACE.only(point, axes)

    def _levels(self, point: Point) -> Point:
        for axis in active(point):
            low = 1
            while SPACE.ordered[axis] and low < point[axis]:
                level = (low + point[axis]) // 2
                if self.fails(change(point, axis, level)):
                    point = change(point, axis, level)
                else:
                    low = level + 1
        return point


def random_search(policy: Planted, seed: int) -> Found:
    """Every axis uniform, then delta debugging."""
    draw, session = random.Random(seed), Session(policy)
    with suppress(OutOfEpisodes):
        for _ in range(MOST_DRAWS):
            session.try_point(tuple(draw.randint(0, MAX_LEVEL) for _ in AXES))
    return session.found


def grid(policy: Planted, seed: int) -> Found:
    """One axis at a time at every level, then pairs of axes at random levels, until the budget ends."""
    draw, session = random.Random(seed), Session(policy)
    with suppress(OutOfEpisodes):
        for axis in range(len(AXES)):
            for level in range(1, MAX_LEVEL + 1):
                session.try_point(change(SPACE.neutral, axis, level))
        for _ in range(MOST_DRAWS // len(AXES)):
            for a, b in combinations(range(len(AXES)), 2):
                point = change(SPACE.neutral, a, draw.randint(1, MAX_LEVEL))
                session.try_point(change(point, b, draw.randint(1, MAX_LEVEL)))
    return session.found


def optuna_tpe(policy: Planted, seed: int) -> Found:
    """Optuna's TPE maximises failure, then delta debugging."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    session = Session(policy)
    with suppress(OutOfEpisodes):
        for _ in range(EPISODES):
            trial = study.ask()
            point = tuple(trial.suggest_int(name, 0, MAX_LEVEL) for name in AXES)
            study.tell(trial, float(session.try_point(point)))
    return session.found


def plain_hypothesis(policy: Planted, seed: int) -> Found:
    """Hypothesis on its own: find an example, let it shrink, exclude it, once more."""
    from hypothesis import HealthCheck, Phase, find, settings, strategies
    from hypothesis.errors import HypothesisException

    session = Session(policy)
    points = strategies.tuples(*(strategies.integers(0, MAX_LEVEL) for _ in AXES))
    chosen = settings(
        max_examples=EPISODES,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    first: list[int] = []

    def fails(point: Point) -> bool:
        if session.episodes >= EPISODES or session.known(point):
            return False
        failed = session.fails(point)
        if failed and not first:
            first.append(session.episodes)
        return failed

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


# --- scoring ----------------------------------------------------------------------------------------------------------


@dataclass
class Score:
    """What searches brought, summed up: modes per search; per cause superfluous axes, episodes, thresholds off."""

    modes: list[int] = field(default_factory=list)
    kinds: list[tuple[str, bool]] = field(default_factory=list)
    extra: list[int] = field(default_factory=list)
    off: list[float] = field(default_factory=list)
    shrink: list[int] = field(default_factory=list)

    def add(self, policy: Planted, found: Found) -> None:
        hit: set[int] = set()
        for cause, episodes in found:
            self.shrink.append(episodes)
            axes = set(active(cause))
            inside = [number for number, mode in enumerate(policy.modes) if cause in mode]
            if not inside:  # the cause is none: all of its axes are superfluous
                self.extra.append(len(axes))
                continue
            best = min(inside, key=lambda number: len(axes - policy.modes[number].axes))
            hit.add(best)
            self.extra.append(len(axes - policy.modes[best].axes))
            self.off += [(cause[axis] - low) / MAX_LEVEL for axis, low, high in policy.modes[best].ranges if low < high]
        self.modes.append(len(hit))
        self.kinds += [(mode.kind, number in hit) for number, mode in enumerate(policy.modes)]

    def row(self) -> dict[str, float]:
        return {
            "modes": round(statistics.mean(self.modes), 2),
            "extra": round(statistics.mean(self.extra or [0]), 3),
            "shrink": statistics.median(self.shrink or [0]),
            "threshold": round(statistics.mean(self.off or [0]), 3),
            "searches": len(self.modes),
        }

    def by_kind(self) -> str:
        kinds = dict.fromkeys(kind for kind, _ in self.kinds)
        return ", ".join(f"{k} {statistics.mean(hit for kind, hit in self.kinds if kind == k):.0%}" for k in kinds)


def measure(search: Searcher, seeds: int, noise: float = 0.0) -> Score:
    total = Score()
    for policy in planted_policies(noise):
        for seed in range(seeds):
            total.add(policy, search(policy, seed))
    return total


def robust() -> dict[str, int]:
    """Policies without any failure region: whatever is found is a false alarm."""
    steady, noisy = Planted("robust", (), overload=None), Planted("robust and noisy", (), NOISE, overload=None)
    return {policy.name: len(hunt(policy, 0, ROBUST_EPISODES)) for policy in (steady, noisy)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few seeds, without the comparison methods")
    quick = parser.parse_args().quick
    seeds = 3 if quick else 20
    plan: list[tuple[str, Searcher, int, float]] = [("hunt", hunt, seeds, 0.0), ("hunt, 10% noise", hunt, seeds, NOISE)]
    if not quick:
        plan += [
            ("uniform random + ddmin", random_search, seeds, 0.0),
            ("one and two factors", grid, seeds, 0.0),
            ("Optuna TPE + ddmin", optuna_tpe, 5, 0.0),
            ("plain Hypothesis", plain_hypothesis, 3, 0.0),
            ("random + ddmin, noise", random_search, seeds, NOISE),
        ]
    print(
        f"{len(planted_policies())} planted policies with 5 modes each, {len(AXES)} axes, {EPISODES} episodes a search"
    )
    print(f"{'':24}{'modes':>7}{'extra axes':>12}{'shrink':>8}{'threshold off':>15}{'searches':>10}{'seconds':>9}")
    scores = {}
    for name, search, count, noise in plan:
        start = time.perf_counter()
        scores[name] = measure(search, count, noise)
        row, spent = scores[name].row(), time.perf_counter() - start
        print(
            f"{name:24}{row['modes']:7.2f}{row['extra']:12.3f}{row['shrink']:8g}{row['threshold']:15.3f}"
            f"{row['searches']:10g}{spent:9.1f}",
            flush=True,
        )
    for name in ("hunt", "hunt, 10% noise"):
        print(f"{name}: found by kind: {scores[name].by_kind()}")
    alarms = robust()
    print(f"robust policies, {ROBUST_EPISODES} episodes each: finds {alarms}")
    steady, noisy = scores["hunt"].row(), scores["hunt, 10% noise"].row()
    ok = (
        steady["modes"] >= TARGETS["modes"]
        and steady["extra"] <= TARGETS["extra"]
        and steady["shrink"] <= TARGETS["shrink"]
        and steady["threshold"] <= TARGETS["threshold"]
        and noisy["modes"] >= TARGETS["noisy_modes"]
        and noisy["extra"] <= TARGETS["noisy_extra"]
        and not any(alarms.values())
    )
    rows = {name: score.row() for name, score in scores.items()}
    print(json.dumps({"name": "hunt", "quick": quick, **rows, "false_alarms": alarms, "target": TARGETS, "ok": ok}))


if __name__ == "__main__":
    main()
