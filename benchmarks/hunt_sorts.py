"""Ten sorts of planted brittleness, as policies fail in practice and as searches are fooled, over few and many axes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from benchmarks.hunt_planted import OVERLOAD, Mode, Planted, Range, kinds, spread
from pytest_vla.hunt.space import MAX_LEVEL, Space
from pytest_vla.perturb import AXES

FEW, MANY = 14, 46
"""Axes of a space."""
HELD_OUT = "held out"
"""The seed of what no setting of the search was chosen with."""

Sort = Callable[[random.Random, list[int], list[int]], tuple[Mode, ...]]
"""Modes over these ordered and unordered axes."""


def planted(sort: str, axes: int, number: int, salt: str = HELD_OUT) -> Planted:
    """The number-th policy of a sort."""
    draw = random.Random(f"{salt} {sort} {axes} {number}")
    if sort == "language":
        names = [name for name, axis in AXES.items() if axis.group == "language" and not axis.control]
    else:
        names = [name for name, axis in AXES.items() if not axis.control]
    chosen = set(spread(draw, names, 8))
    others = [name for name, axis in AXES.items() if not axis.control and name not in chosen]
    chosen.update(draw.sample(others, axes - len(chosen)))
    space = replace(Space.of([name for name in AXES if name in chosen]), signed=())
    ordered, unordered = kinds(space, [name for name in names if name in chosen])
    modes = SORTS[sort](draw, draw.sample(ordered, len(ordered)), unordered)
    return Planted(f"{sort}-{axes}-{number}", space, modes, overload=OVERLOAD * axes // FEW)


def _from(draw: random.Random, axis: int) -> Range:
    return (axis, draw.randint(3, 6), MAX_LEVEL)


def _singles(draw: random.Random, ordered: list[int], unordered: list[int]) -> tuple[Mode, ...]:
    return tuple(Mode("single", (_from(draw, axis),)) for axis in ordered[:3])


def _pairs(draw: random.Random, ordered: list[int], unordered: list[int]) -> tuple[Mode, ...]:
    return tuple(Mode("pair", (_from(draw, a), _from(draw, b))) for a, b in (ordered[:2], ordered[2:4]))


def _triples(draw: random.Random, ordered: list[int], unordered: list[int]) -> tuple[Mode, ...]:
    return (Mode("triple", tuple(_from(draw, axis) for axis in ordered[:3])),)


def _xor(draw: random.Random, ordered: list[int], unordered: list[int]) -> tuple[Mode, ...]:
    """One or the other, not both."""
    (a, at, _), (b, bt, _) = (_from(draw, axis) for axis in ordered[:2])
    return (
        Mode("xor", ((a, at, MAX_LEVEL), (b, 0, bt - 1))),
        Mode("xor", ((b, bt, MAX_LEVEL), (a, 0, at - 1))),
    )


def _band(draw: random.Random, ordered: list[int], unordered: list[int]) -> tuple[Mode, ...]:
    low = draw.randint(2, 5)
    return (
        Mode("band", ((ordered[0], low, low + 1),)),
        Mode("pair", (_from(draw, ordered[1]), _from(draw, ordered[2]))),
    )


def _needle(draw: random.Random, ordered: list[int], unordered: list[int]) -> tuple[Mode, ...]:
    levels = [(axis, draw.randint(1, MAX_LEVEL)) for axis in draw.sample(unordered, 2)]
    return (Mode("needle", tuple((axis, level, level) for axis, level in levels)),)


def _antimonotone(draw: random.Random, ordered: list[int], unordered: list[int]) -> tuple[Mode, ...]:
    """A little is worse than a lot."""
    return tuple(Mode("antimonotone", ((axis, 1, draw.randint(2, 4)),)) for axis in ordered[:2])


def _language(draw: random.Random, ordered: list[int], unordered: list[int]) -> tuple[Mode, ...]:
    level = draw.randint(1, MAX_LEVEL)
    return (
        Mode("single", (_from(draw, ordered[0]),)),
        Mode("pair", (_from(draw, ordered[1]), (unordered[0], level, level))),
    )


def _masking(draw: random.Random, ordered: list[int], unordered: list[int]) -> tuple[Mode, ...]:
    """A cause that is nearly always there hides another."""
    return (
        Mode("single", ((ordered[0], 2, MAX_LEVEL),)),
        Mode("pair", (_from(draw, ordered[1]), _from(draw, ordered[2]))),
    )


def _protected(draw: random.Random, ordered: list[int], unordered: list[int]) -> tuple[Mode, ...]:
    """A cause that another perturbation takes away."""
    return tuple(Mode("protected", (_from(draw, axis), (guard, 0, 4))) for axis, guard in (ordered[:2], ordered[2:4]))


SORTS: dict[str, Sort] = {
    "singles": _singles,
    "pairs": _pairs,
    "triples": _triples,
    "xor": _xor,
    "band": _band,
    "needle": _needle,
    "antimonotone": _antimonotone,
    "language": _language,
    "masking": _masking,
    "protected": _protected,
}
