"""In which scenes a cause fails, told by their features: `side = left`, `distance > 0.4`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from pytest_vla.hunt.effects import ALPHA, fisher
from pytest_vla.run.hunts import Condition, Count

Scene = Mapping[str, str | float]
"""The features of a scene by name."""
Sighting = tuple[Scene, bool]
"""A scene, and whether the cause made it fail."""


def condition_of(before: Sequence[Sighting], measured: Sequence[Sighting], alpha: float = ALPHA) -> Condition | None:
    """The condition that what was seen before suggests, if the measured scenes, which are others, confirm it.

    What too little was seen for, half of the measured scenes may suggest and the other half confirm.
    """
    half = len(measured) // 2
    suggested = suggest(before)
    if suggested is None:
        suggested, measured = suggest([*before, *measured[:half]]), measured[half:]
    if suggested is None:
        return None
    inside, outside = split(suggested, measured)
    if fisher(inside, outside) > alpha:
        return None
    return Condition(suggested.feature, suggested.relation, suggested.value, inside, outside)


def suggest(sightings: Sequence[Sighting]) -> Condition | None:
    """Of all conditions the one that parts failing from solved scenes best; None where that may be chance."""
    conditions = list(_conditions([scene for scene, _ in sightings]))
    chances = [fisher(*split(condition, sightings)) for condition in conditions]
    best = min(range(len(chances)), key=chances.__getitem__, default=None)
    return conditions[best] if best is not None and chances[best] * len(chances) <= ALPHA else None


def split(condition: Condition, sightings: Iterable[Sighting]) -> tuple[Count, Count]:
    """Failures where a condition holds, and elsewhere."""
    inside, outside = Count(), Count()
    for scene, failed in sightings:
        if condition.holds(scene):
            inside = inside.add(failed)
        else:
            outside = outside.add(failed)
    return inside, outside


def _conditions(scenes: Sequence[Scene]) -> Iterable[Condition]:
    """Every value of a category, and every cut between two values of a number, both ways."""
    for feature in sorted({name for scene in scenes for name in scene}):
        values = {scene[feature] for scene in scenes if feature in scene}
        names = sorted(value for value in values if isinstance(value, str))
        numbers = sorted(value for value in values if not isinstance(value, str))
        if len(names) > 1:
            yield from (Condition(feature, "=", value) for value in names)
        for low, high in pairwise(numbers):
            cut = _between(low, high)
            yield from (Condition(feature, "<", cut), Condition(feature, ">", cut))


def _between(low: float, high: float) -> float:
    """A number with few digits that lies between two others."""
    middle = (low + high) / 2
    for digits in range(12):
        cut = round(middle, digits)
        if low < cut < high:
            return cut
    return middle
