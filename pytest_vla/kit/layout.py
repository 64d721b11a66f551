"""Where things can stand: distances, free places, and other layouts of the same scene."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np

Spot = tuple[float, float]
DIRECTIONS = 16
GAP_M = 0.02


class Standing(Protocol):
    """Anything with a label and a place."""

    @property
    def label(self) -> str: ...

    @property
    def spot(self) -> Spot: ...


Thing = TypeVar("Thing", bound=Standing)


@dataclass(frozen=True, slots=True)
class Rim:
    """What of a table is around its working area, a rectangle about the origin."""

    free_half_m: Spot
    table_half_m: float

    def strips(self) -> list[tuple[Spot, Spot]]:
        """Four rectangles with their middles and half sizes: left and right of the area, and the ends."""
        (x, y), out = self.free_half_m, self.table_half_m
        sides = [((side * (x + out) / 2, 0.0), ((out - x) / 2, out)) for side in (-1, 1)]
        return sides + [((0.0, side * (y + out) / 2), (x, (out - y) / 2)) for side in (-1, 1)]


def distance(a: Spot, b: Spot) -> float:
    return math.hypot(a[0] - b[0], a[1] - b[1])


def far_from(spot: Spot, others: Iterable[Spot], least_m: float) -> bool:
    return all(distance(spot, other) >= least_m for other in others)


def shift_things(
    things: Sequence[Thing],
    distance_m: float,
    rng: np.random.Generator,
    *,
    movable: Callable[[Thing], bool],
    radius_m: Callable[[Thing], float],
    inside: Callable[[Spot], bool],
    shares: Sequence[float] = (1.0,),
) -> dict[str, Spot]:
    """By label, how far each movable thing goes: the distance, in the first of its drawn directions that is free.

    Where none is, smaller shares of the distance are tried, if there are any.
    """
    spots = {thing.label: thing.spot for thing in things}
    shifts: dict[str, Spot] = {}
    for thing in things:
        angles = rng.uniform(0, 2 * math.pi, DIRECTIONS)
        if not movable(thing):
            continue

        def clear(spot: Spot, thing: Thing = thing) -> bool:
            """From each other thing no nearer than before, or farther than both are large."""
            return all(
                distance(spot, spots[other.label])
                >= min(distance(thing.spot, spots[other.label]), radius_m(thing) + radius_m(other) + GAP_M)
                for other in things
                if other.label != thing.label
            )

        for share, angle in product(shares, angles):
            dx, dy = share * distance_m * math.cos(angle), share * distance_m * math.sin(angle)
            spot = (thing.spot[0] + dx, thing.spot[1] + dy)
            if inside(spot) and clear(spot):
                spots[thing.label], shifts[thing.label] = spot, (dx, dy)
                break
    return shifts
