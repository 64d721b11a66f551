"""Knowledge degradation: what a reference knew and the policy does not, apart from what it only cannot say any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_vla.answers.collected import Answers
from pytest_vla.answers.estimates import Estimate, resampled
from pytest_vla.answers.forms import CALL, OPTION, TEXT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

KNOWING = (TEXT, OPTION, CALL)
"""The types of answers that tell what somebody knows; actions tell what he can do."""
CATASTROPHIC, SURE = 0.5, 0.01  # less of the skill is left, and chance explains it with less than this


@dataclass(frozen=True)
class Knowledge:
    """A policy beside its reference, on the same samples."""

    reference: str
    size: int
    readable: int
    """Samples that both answered so that a lenient parser can read it: only they say something of knowledge."""
    drop: float
    """How much lower the strict score is."""
    knowledge_part: float
    format_part: float
    retention: Estimate | None
    """Of the reference's skill above the best constant answer; None where it has none for sure."""
    forgotten: int
    gained: int
    pvalue: float
    """McNemar's exact test of what was forgotten against what was gained."""
    by_group: tuple[tuple[str, int, float, float], ...]
    """Group, samples, the reference's lenient score and the policy's."""

    @property
    def catastrophic(self) -> bool:
        return (
            self.retention is not None
            and self.retention.value < CATASTROPHIC
            and self.pvalue < SURE
            and self.forgotten > self.gained
        )


def knowledge(answers: Answers) -> Knowledge | None:
    """None without a reference: a low score alone proves no loss."""
    import numpy as np

    if answers.reference is None:
        return None
    known = answers.reference.answers
    places = [place for place, answer in answers.plain.answers.items() if place in known and answer.asked in KNOWING]
    if not places:
        return None
    mine, theirs = answers.plain.only(places), answers.reference.only(places)
    drop = theirs.column("strict") - mine.column("strict")
    both = np.array(
        [
            mine.answers[place].readable
            and theirs.answers[place].readable
            and not mine.answers[place].misaligned
            and not theirs.answers[place].misaligned
            for place in places
        ]
    )
    before, after = theirs.column("lenient")[both], mine.column("lenient")[both]
    trivial, groups = mine.trivial[both], mine.column("group")[both]
    lost = int(((before >= 1) & (after < 1)).sum())
    won = int(((before < 1) & (after >= 1)).sum())
    part = float((before - after).sum() / len(places))
    return Knowledge(
        answers.reference_policy,
        len(places),
        int(both.sum()),
        float(drop.mean()),
        part,
        float(drop.mean()) - part,
        _retention(before, after, trivial),
        lost,
        won,
        _mcnemar(lost, won),
        tuple(
            (
                str(group),
                int((groups == group).sum()),
                float(before[groups == group].mean()),
                float(after[groups == group].mean()),
            )
            for group in dict.fromkeys(groups.tolist())
        ),
    )


def _retention(before: Floats, after: Floats, trivial: Floats) -> Estimate | None:
    if not len(before):
        return None

    def skill(scores: Floats, weights: Any) -> float:
        chance = float((weights * trivial).sum() / weights.sum())
        return (float((weights * scores).sum() / weights.sum()) - chance) / max(1 - chance, 1e-9)

    base = resampled(lambda weights: skill(before, weights), len(before))
    if base is None or base.interval()[0] <= 0:
        return None
    return resampled(lambda weights: skill(after, weights) / max(skill(before, weights), 1e-9), len(before))


def _mcnemar(lost: int, won: int) -> float:
    """Two-sided and exact."""
    from scipy.stats import binom

    return min(1.0, 2 * float(binom.cdf(min(lost, won), lost + won, 0.5))) if lost + won else 1.0
