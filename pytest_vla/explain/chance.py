"""Whether an effect is more than chance: what was found is asked again, beside controls that mean nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

ASKED_AGAIN = 8
LEVEL = (
    0.01  # of all questions about one moment together: where nothing matters, so rarely is anything called an effect
)
ALIKE = 0.7  # rank correlation with the map of shuffled weights above which a map shows the picture, not the policy
NO_EFFECT = "no effect above chance"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of asking again: the effect, that of the controls, and how likely such a difference is by chance."""

    what: str
    effect: float
    control: float
    p: float
    level: float = LEVEL
    alike: float | None = None
    """Rank correlation with the same map of the policy with its weights shuffled, where that could be had."""

    @property
    def above(self) -> bool:
        return self.p <= self.level

    def __str__(self) -> str:
        if not self.above:
            return f"{NO_EFFECT} ({self.effect:.3g}, control {self.control:.3g})"
        text = f"{self.effect:.3g}, control {self.control:.3g}, p {self.p:.2g}"
        if self.alike is not None and self.alike > ALIKE:
            text += f"; shuffled weights give the same map (rank correlation {self.alike:.2f})"
        return text

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "above_chance": self.above, "text": str(self)}


def judged(what: str, effects: Floats, controls: Floats, questions: int = 1, alike: float | None = None) -> Verdict:
    """The verdict on effects that were asked again, after they were chosen, as one of so many questions."""
    level = LEVEL / questions
    return Verdict(what, float(np.mean(effects)), float(np.mean(controls)), larger(effects, controls), level, alike)


def larger(ours: Floats, theirs: Floats) -> float:
    """The exact rank test, one-sided: how often ranks this high come by chance; ties count half."""
    ranks = _ranks(np.concatenate([ours, theirs]))
    seen = ranks[: len(ours)].sum()
    sums = ranks[_choices(len(ranks), len(ours))].sum(1)
    return float((sums >= seen - 1e-9).mean())


@cache
def _choices(count: int, size: int) -> NDArray[np.intp]:
    return np.array(list(combinations(range(count), size)))


def correlation(one: Floats, other: Floats) -> float | None:
    """Spearman's; None where one of them is flat."""
    a, b = _ranks(one), _ranks(other)
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def _ranks(values: Floats) -> Floats:
    ordered = np.sort(values)
    first, last = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return (first + last - 1) / 2.0
