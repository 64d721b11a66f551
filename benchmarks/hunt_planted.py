"""Policies with planted failure modes: a development set the search was tuned with, and a held-out set it never saw."""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

from pytest_vla.hunt.space import MAX_LEVEL, Point, Space, change, severity
from pytest_vla.perturb import AXES

OVERLOAD = 48
"""More than this in all and any policy fails: that is no cause."""
LEAST_OWN_SHARE = 1 / 3
"""So much of a held-out mode lies outside all others: else it is not a mode of its own."""
ORDERED, UNORDERED = 10, 4
"""Axes of a space, in both sets."""

Range = tuple[int, int, int]
"""(axis, lowest, highest level)"""


@dataclass(frozen=True)
class Mode:
    """A region that fails: each axis within its range of levels."""

    kind: str
    ranges: tuple[Range, ...]

    def __contains__(self, point: Point) -> bool:
        return all(low <= point[axis] <= high for axis, low, high in self.ranges)

    @property
    def axes(self) -> set[int]:
        """Those that have to be off neutral."""
        return {axis for axis, low, _ in self.ranges if low}


@dataclass(frozen=True)
class Planted:
    """A policy that fails in its modes and when overloaded; `noise` of its outcomes come out the other way."""

    name: str
    space: Space
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


def own_share(policy: Planted, mode: Mode) -> float:
    """How much of a mode is reached without overload and lies in no other mode, all other axes being neutral."""
    points = []
    for levels in product(*(range(low, high + 1) for _, low, high in mode.ranges)):
        point = policy.space.neutral
        for (axis, _, _), level in zip(mode.ranges, levels, strict=True):
            point = change(point, axis, level)
        points.append(point)
    others = [other for other in policy.modes if other != mode]
    own = [point for point in points if severity(point) <= OVERLOAD and not any(point in other for other in others)]
    return len(own) / len(points)


# --- the development set ----------------------------------------------------------------------------------------------

DEVELOPMENT_AXES = (
    *("camera.yaw", "light.brightness", "appearance.table_texture", "appearance.object_texture"),
    *("layout.objects", "layout.distractors", "object.mass", "object.friction", "robot.action_noise"),
    *("robot.delay", "sensor.noise", "language.typos", "language.paraphrase", "language.clause"),
)
DEVELOPMENT_SPACE = replace(Space.of(DEVELOPMENT_AXES), signed=())
"""In one direction, as all planted regions are."""


def development(noise: float = 0.0) -> list[Planted]:
    """Twelve policies over the same axes: eight that break anywhere, two only by language, two only by dynamics."""
    space = DEVELOPMENT_SPACE

    def policy(name: str, modes: Callable[[random.Random], tuple[Mode, ...]]) -> Planted:
        return Planted(name, space, modes(random.Random(name)), noise)

    policies = [policy(f"mixed-{n}", _mixed) for n in range(8)]
    for n in range(2):
        policies += [policy(f"language-{n}", _language), policy(f"dynamics-{n}", _dynamics)]
    return policies


def _mixed(draw: random.Random) -> tuple[Mode, ...]:
    ordered, unordered = kinds(DEVELOPMENT_SPACE)
    single, *others = draw.sample(ordered, len(ordered))
    pair, triple, band = others[:2], others[2:5], others[5:7]
    low = draw.randint(2, 5)
    return (
        Mode("single", (_from(single, 6),)),
        Mode("pair", tuple(_from(axis, draw.randint(4, 6)) for axis in pair)),
        Mode("triple", tuple(_from(axis, draw.randint(5, 6)) for axis in triple)),
        Mode("band", ((band[0], low, low + 1), _from(band[1], draw.randint(3, 5)))),
        Mode("needle", tuple(_exactly(axis, draw.randint(1, MAX_LEVEL)) for axis in draw.sample(unordered, 2))),
    )


def _language(draw: random.Random) -> tuple[Mode, ...]:
    typos, paraphrase, clause = _places(DEVELOPMENT_SPACE, "language.typos", "language.paraphrase", "language.clause")
    p, q, r = draw.sample(range(1, MAX_LEVEL + 1), 3)
    c, d = draw.sample(range(1, MAX_LEVEL + 1), 2)
    return (
        Mode("single", (_from(typos, draw.randint(6, 7)),)),
        Mode("pair", (_from(typos, 4), _exactly(paraphrase, p))),
        Mode("pair", (_from(typos, 3), _exactly(clause, c))),
        Mode("band", ((typos, 1, 2), _exactly(paraphrase, q))),
        Mode("needle", (_exactly(paraphrase, r), _exactly(clause, d))),
    )


def _dynamics(draw: random.Random) -> tuple[Mode, ...]:
    names = ("object.mass", "object.friction", "robot.action_noise", "robot.delay")
    a, b, c, d = draw.sample(_places(DEVELOPMENT_SPACE, *names), 4)
    return (
        Mode("single", (_from(a, 7),)),
        Mode("pair", (_from(a, 4), _from(b, draw.randint(5, 6)))),
        Mode("pair", (_from(c, draw.randint(5, 6)), _from(d, draw.randint(5, 6)))),
        Mode("triple", (_from(b, 5), _from(c, 3), _from(d, 3))),
        Mode("band", ((b, 2, 3), _from(d, 4))),
    )


def two_ways(noise: float = 0.0) -> list[Planted]:
    """The development set where axes with two directions have both, and fail in one: half of what is drawn is vain."""
    return [replace(policy, space=Space.of(DEVELOPMENT_AXES)) for policy in development(noise)]


# --- the held-out set -------------------------------------------------------------------------------------------------

Sampler = Callable[[random.Random], tuple[Space, tuple[Mode, ...]]]


def held_out(noise: float = 0.0) -> list[Planted]:
    """Twelve policies of the same families, each over axes of its own from the whole registry, with other levels."""
    policies = [_drawn(f"fresh-mixed-{n}", _any_axes, noise) for n in range(8)]
    for n in range(2):
        policies.append(_drawn(f"fresh-language-{n}", _words_alone, noise))
        policies.append(_drawn(f"fresh-dynamics-{n}", _dynamics_alone, noise))
    return policies


def _drawn(name: str, sampler: Sampler, noise: float) -> Planted:
    """The first draw whose modes can all be met and are none of them implied by the others."""
    draw = random.Random(name)
    while True:
        policy = Planted(name, *sampler(draw), noise)
        apart = all(own_share(policy, mode) >= LEAST_OWN_SHARE for mode in policy.modes)
        if apart and not any(_implied(policy, a, b) for a, b in permutations(policy.modes, 2)):
            return policy


def _implied(policy: Planted, mode: Mode, other: Mode) -> bool:
    """Whether a mode lies beyond the lowest levels of another: once these are named, all beyond is taken for known."""
    return policy.space.covers(_lowest(policy, mode), _lowest(policy, other))


def _lowest(policy: Planted, mode: Mode) -> Point:
    point = policy.space.neutral
    for axis, low, _ in mode.ranges:
        point = change(point, axis, low)
    return point


def _any_axes(draw: random.Random) -> tuple[Space, tuple[Mode, ...]]:
    space = _space(draw)
    ordered, unordered = kinds(space)
    single, *others = draw.sample(ordered, len(ordered))
    band, beside = others[5:7]
    return space, (
        Mode("single", (_from(single, draw.randint(4, 7)),)),
        Mode("pair", tuple(_from(axis, draw.randint(3, 6)) for axis in others[:2])),
        Mode("triple", tuple(_from(axis, draw.randint(4, 6)) for axis in others[2:5])),
        Mode("band", (_band(band, draw.randint(1, 6)), _from(beside, draw.randint(3, 6)))),
        Mode("needle", tuple(_exactly(axis, draw.randint(1, MAX_LEVEL)) for axis in draw.sample(unordered, 2))),
    )


def _words_alone(draw: random.Random) -> tuple[Space, tuple[Mode, ...]]:
    names = [name for name, axis in AXES.items() if axis.group == "language" and not axis.control]
    graded = draw.choice([name for name in names if AXES[name].ordered])
    chosen = [graded, *draw.sample([name for name in names if not AXES[name].ordered], 2)]
    space = _space(draw, chosen)
    a, b, c = _places(space, *chosen)
    p, q, r = draw.sample(range(1, MAX_LEVEL + 1), 3)
    s, t = draw.sample(range(1, MAX_LEVEL + 1), 2)
    return space, (
        Mode("single", (_from(a, draw.randint(5, 7)),)),
        Mode("pair", (_from(a, draw.randint(2, 5)), _exactly(b, p))),
        Mode("pair", (_from(a, draw.randint(2, 5)), _exactly(c, s))),
        Mode("band", (_band(a, draw.randint(1, 4)), _exactly(b, q))),
        Mode("needle", (_exactly(b, r), _exactly(c, t))),
    )


def _dynamics_alone(draw: random.Random) -> tuple[Space, tuple[Mode, ...]]:
    names = [name for name, axis in AXES.items() if axis.group in ("object", "robot") and axis.ordered]
    chosen = draw.sample(names, 4)
    space = _space(draw, chosen)
    a, b, c, d = _places(space, *chosen)
    return space, (
        Mode("single", (_from(a, draw.randint(5, 7)),)),
        Mode("pair", (_from(a, draw.randint(3, 5)), _from(b, draw.randint(4, 6)))),
        Mode("pair", (_from(c, draw.randint(4, 6)), _from(d, draw.randint(4, 6)))),
        Mode("triple", tuple(_from(axis, draw.randint(3, 5)) for axis in (b, c, d))),
        Mode("band", (_band(b, draw.randint(1, 3)), _from(d, draw.randint(3, 5)))),
    )


def _space(draw: random.Random, chosen: Sequence[str] = ()) -> Space:
    """The chosen axes and others from the whole registry, in the registry's order."""
    names = set(chosen)
    for ordered, count in ((True, ORDERED), (False, UNORDERED)):
        there = sum(AXES[name].ordered == ordered for name in names)
        others = [n for n, axis in AXES.items() if axis.ordered == ordered and not axis.control and n not in names]
        names.update(draw.sample(others, count - there))
    return replace(Space.of([name for name in AXES if name in names]), signed=())


# --- parts of both ----------------------------------------------------------------------------------------------------


def kinds(space: Space, names: Sequence[str] = ()) -> tuple[list[int], list[int]]:
    """The ordered and the unordered axes of a space, of these names."""
    numbers = [number for number, name in enumerate(space.axes) if not names or name in names]
    return [n for n in numbers if space.ordered[n]], [n for n in numbers if not space.ordered[n]]


def spread(draw: random.Random, names: Sequence[str], count: int) -> list[str]:
    """So many of the names, at least three of them ordered and two not."""
    ordered, unordered = ([n for n in names if AXES[n].ordered == kind] for kind in (True, False))
    chosen = [*draw.sample(ordered, min(4, len(ordered))), *draw.sample(unordered, 2)]
    others = [name for name in names if name not in chosen]
    return chosen + draw.sample(others, min(count - len(chosen), len(others)))


def _places(space: Space, *names: str) -> list[int]:
    return [space.axes.index(name) for name in names]


def _from(axis: int, level: int) -> Range:
    return (axis, level, MAX_LEVEL)


def _exactly(axis: int, level: int) -> Range:
    return (axis, level, level)


def _band(axis: int, low: int) -> Range:
    return (axis, low, low + 1)
