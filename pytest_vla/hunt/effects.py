"""The statistics of a hunt: is a cause real, by an exact test, and which axes go with failure in all that was seen?"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, erfc, sqrt

import numpy as np
from numpy.typing import NDArray

from pytest_vla.hunt.space import MAX_LEVEL, Point, Space, change
from pytest_vla.run.hunts import Count

ALPHA = 0.05
"""In so many searches at most anything is reported that is no cause; all confirmations of a search share it."""
LOOKS = (4, 8, 16, 32, 64)
"""A confirmation looks after so many fresh scenes; what it may spend is shared evenly among the looks."""
HOPELESS = (0.0, 0.0, 0.1, 0.15)
"""At a look with no more excess of failures than this, a confirmation is given up; never at the first."""
PROPOSED_BELOW = 0.05
"""Of a suspect in all that was seen, corrected for how many suspects there are."""
COARSE = (1, 3, 5, 7)
"""Levels from which pairs of axes are looked at."""


def fisher(test: Count, control: Count) -> float:
    """Fisher's exact test, one-sided: the chance of so many failures in the test if both fail alike."""
    failed, asked = test.failed + control.failed, test.asked + control.asked
    most = min(test.asked, failed)
    ways = sum(comb(failed, n) * comb(asked - failed, test.asked - n) for n in range(test.failed, most + 1))
    return float(ways / comb(asked, test.asked))


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The number-th test of a search, on scenes that had no part in the choice of what is tested."""

    number: int

    @property
    def alpha(self) -> float:
        """Of every look. Over all numbers and looks this sums up to ALPHA."""
        return ALPHA / (self.number * (self.number + 1)) / len(LOOKS)

    def verdict(self, look: int, test: Count, control: Count) -> bool | None:
        """Confirmed or given up; None when the next look has to tell."""
        if fisher(test, control) <= self.alpha:
            return True
        if look == len(LOOKS) - 1:
            return False
        excess = test.rate - control.rate
        return False if look and excess <= HOPELESS[look] else None


@dataclass(frozen=True, slots=True)
class Seen:
    """What was drawn and how it came out: a row of levels for each probe."""

    levels: NDArray[np.int64]
    failed: NDArray[np.bool_]


def propose(space: Space, seen: Seen) -> Point | None:
    """The axis or the pair that goes with failure most, at the levels that fail most; None where that may be chance.

    It only has to be worth a look: whether it is a cause is tested on fresh scenes.
    """
    singles = [(axis, level) for axis in range(len(space.axes)) for level in space.levels(axis)]
    coarse = [(axis, level) for axis, level in singles if not space.ordered[axis] or abs(level) in COARSE]
    either = [(axis, level) for axis, level in singles if space.ordered[axis] and space.signed[axis] and level > 0]
    best: tuple[float, Point] | None = None
    for conditions, levels, pairs in (
        (singles, seen.levels, False),
        (either, np.abs(seen.levels), False),  # what fails in both directions shows twice as clearly
        (coarse, seen.levels, True),
    ):
        if not conditions:
            continue
        inside = np.stack([_holds(space, levels[:, axis], axis, level) for axis, level in conditions], axis=1)
        if pairs:
            first, second = np.triu_indices(len(conditions), 1)
            keep = np.array(
                [conditions[a][0] != conditions[b][0] for a, b in zip(first, second, strict=True)], dtype=bool
            )
            first, second = first[keep], second[keep]
            numbers = inside.astype(np.int32)
            counts = (numbers.T @ numbers)[first, second]
            failures = numbers[seen.failed]
            hits = (failures.T @ failures)[first, second]
        else:
            counts, hits = inside.sum(axis=0), inside[seen.failed].sum(axis=0)
        if not len(counts):
            continue
        statistic = _signed_root(hits, counts, int(seen.failed.sum()), len(seen.failed))
        top = int(np.argmax(statistic.round(9)))
        chance = 0.5 * erfc(statistic[top] / sqrt(2)) * len(statistic)
        chosen = [conditions[first[top]], conditions[second[top]]] if pairs else [conditions[top]]
        if conditions is either:
            chosen = [_worse_direction(seen, *conditions[top])]
        if chance <= PROPOSED_BELOW and (best is None or chance < best[0] / 10):
            best = chance, _worst(space, seen, chosen)
    return None if best is None else best[1]


def _holds(space: Space, levels: NDArray[np.int64], axis: int, need: int) -> NDArray[np.bool_]:
    if not space.ordered[axis]:
        return np.asarray(levels == need)
    return np.asarray(levels >= need if need > 0 else levels <= need)


def _signed_root(hits: NDArray[np.int64], counts: NDArray[np.int64], failed: int, asked: int) -> NDArray[np.float64]:
    """The likelihood ratio of `fails more often inside` as a normal deviate."""
    inside, outside, whole = (
        _log_likelihood(hits, counts),
        _log_likelihood(failed - hits, asked - counts),
        _log_likelihood(np.array(failed), np.array(asked)),
    )
    ratio = np.maximum(2 * (inside + outside - whole), 0)
    more = hits * (asked - counts) > (failed - hits) * counts
    return np.asarray(np.sqrt(ratio) * np.where(more, 1, -1))


def _log_likelihood(hits: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of a rate at its best; nothing counted says nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(counts > 0, hits / np.maximum(counts, 1), 0.5)
        terms = np.where(hits > 0, hits * np.log(rate), 0.0) + np.where(
            counts > hits, (counts - hits) * np.log(1 - rate), 0.0
        )
    return np.asarray(terms)


def _worse_direction(seen: Seen, axis: int, need: int) -> tuple[int, int]:
    up, down = seen.levels[:, axis] >= need, seen.levels[:, axis] <= -need
    shares = [(seen.failed[rows].sum() + 0.5) / (rows.sum() + 1) for rows in (up, down)]
    return axis, need if shares[0] >= shares[1] else -need


def _worst(space: Space, seen: Seen, conditions: list[tuple[int, int]]) -> Point:
    """A point of these axes, each at the level (of those that go with failure) that fails most."""
    point = space.neutral
    for axis, need in conditions:
        level = need
        if space.ordered[axis]:
            sign = 1 if need > 0 else -1
            rows = np.logical_and.reduce(
                [_holds(space, seen.levels[:, other], other, other_need) for other, other_need in conditions]
            )
            shares = {}
            for far in range(abs(need), MAX_LEVEL + 1):
                here = rows & (seen.levels[:, axis] == sign * far)
                shares[sign * far] = (seen.failed[here].sum() + 0.5) / (here.sum() + 1)
            level = max(shares, key=lambda far: (round(shares[far], 9), abs(far)))
        point = change(point, axis, level)
    return point
