"""Modality misalignment: answers of another type than was asked for, and pictures or words that make no difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_vla.answers.collected import Answers, Group
from pytest_vla.answers.estimates import Estimate, resampled, share
from pytest_vla.answers.forms import FORMS, OUTPUTS

ABLATIONS: Mapping[str, str] = {"image": "sensor.camera_loss", "text": "language.empty"}
"""The axis that takes a modality away."""
CONFLICT = "language.contradict"
LEAST_SKILL = 1e-9


@dataclass(frozen=True)
class Reliance:
    """How much of what a policy knows it owes to a modality: 1 all of it, 0 none."""

    modality: str
    estimate: Estimate | None
    """None where it does no better than a constant answer: nothing can be said then."""
    size: int

    @property
    def identifiable(self) -> bool:
        return self.estimate is not None


@dataclass(frozen=True)
class Conflict:
    """Whom a policy believes when words and picture are of different samples."""

    size: int
    text: float
    image: float

    @property
    def neither(self) -> float:
        return 1 - self.text - self.image


def misalignment_rate(answers: Answers) -> Estimate | None:
    """Answers of another type than was asked for."""
    return share([answer.misaligned for answer in answers.plain.answers.values()])


def coordinate_leak(answers: Answers) -> Estimate | None:
    """Places told where none was asked for; no type of answer is a place."""
    return share([answer.produced == "coordinate" for answer in answers.plain.answers.values()])


def matrix(answers: Answers) -> dict[str, dict[str, int]]:
    """How often which form came where which type was asked for."""
    rows: dict[str, dict[str, int]] = {}
    for asked in OUTPUTS:
        forms = [answer.produced for answer in answers.plain.answers.values() if answer.asked == asked]
        if forms:
            rows[asked] = {form: forms.count(form) for form in FORMS if form in forms}
    return rows


def reliance(answers: Answers, modality: str) -> Reliance | None:
    """Of samples that nobody can answer without the modality; None where they were not run without it."""
    ablated = _ablated(answers, modality)
    places = [
        place
        for place, answer in answers.plain.answers.items()
        if modality in answer.needs and place in ablated.answers
    ]
    if not places:
        return None
    plain = answers.plain.only(places)
    full, without = plain.column("lenient"), ablated.only(places).column("lenient")
    trivial = plain.trivial
    skill = resampled(lambda weights: float((weights * (full - trivial)).sum() / weights.sum()), len(places))
    assert skill is not None
    if skill.interval()[0] <= LEAST_SKILL:
        return Reliance(modality, None, len(places))

    def owed(weights: Any) -> float:
        gained = float((weights * (full - trivial)).sum())
        lost = float((weights * (full - without)).sum())
        return max(-1.0, min(1.5, lost / gained)) if gained > 0 else 1.5

    return Reliance(modality, resampled(owed, len(places)), len(places))


def sensitivity(answers: Answers, modality: str) -> Estimate | None:
    """Samples whose answer changes when the modality is taken away, right or wrong."""
    ablated = _ablated(answers, modality)
    changed = [
        answer.sha != ablated.answers[place].sha
        for place, answer in answers.plain.answers.items()
        if place in ablated.answers and modality in answer.needs
    ]
    return share(changed)


def conflict(answers: Answers) -> Conflict | None:
    """Of samples that need both; None where words and pictures were never made to disagree."""
    told = [
        answer
        for name, group in answers.perturbed.items()
        if name.startswith(f"{CONFLICT}=") and "," not in name
        for answer in group.answers.values()
        if answer.other and len(answer.needs) > 1
    ]
    if not told:
        return None
    text = sum(answer.given == answer.other for answer in told) / len(told)
    image = sum(answer.given == answer.label for answer in told) / len(told)
    return Conflict(len(told), text, image)


def _ablated(answers: Answers, modality: str) -> Group:
    axis = ABLATIONS[modality]
    names = [name for name in answers.perturbed if name.startswith(f"{axis}=") and "," not in name]
    return answers.perturbed[names[0]] if names else Group()
