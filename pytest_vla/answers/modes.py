"""The three failure modes of a run that was asked questions: their numbers by name, and which of them it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_vla.answers import format, knowledge, modality
from pytest_vla.answers.collected import Answers
from pytest_vla.answers.estimates import Estimate

NAMING_CONFIDENCE = 0.99
TOO_OFTEN = 0.05  # a share that is above this for sure is a failure mode
UNUSED = 0.25  # a modality that is needed, and owed less than this for sure


@dataclass(frozen=True)
class Metric:
    """One number that a gate may ask for."""

    name: str
    mode: str
    about: str
    measure: Callable[[Answers], Estimate | None]
    """None where the run does not tell."""


def _reliance(kind: str) -> Callable[[Answers], Estimate | None]:
    def measure(answers: Answers) -> Estimate | None:
        found = modality.reliance(answers, kind)
        return found.estimate if found is not None else None

    return measure


def _retention(answers: Answers) -> Estimate | None:
    found = knowledge.knowledge(answers)
    return found.retention if found is not None else None


FORMAT, MODALITY, KNOWLEDGE = "format instability", "modality misalignment", "knowledge degradation"
MODES = (FORMAT, MODALITY, KNOWLEDGE)

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("format_invalid_rate", FORMAT, "answers that the strict parser refuses", format.invalid_rate),
        Metric("format_unstable_rate", FORMAT, "the same, of the type that was asked for", format.unstable_rate),
        Metric("parser_gap", FORMAT, "score that only a lenient parser finds", format.parser_gap),
        Metric("validity_flip_rate", FORMAT, "samples valid in some wordings only", format.flip_rate),
        Metric("misalignment_rate", MODALITY, "answers of another type than asked for", modality.misalignment_rate),
        Metric("coordinate_leak", MODALITY, "places told where none was asked for", modality.coordinate_leak),
        Metric("image_reliance", MODALITY, "share of its skill owed to pictures", _reliance("image")),
        Metric("text_reliance", MODALITY, "share of its skill owed to words", _reliance("text")),
        Metric("retention", KNOWLEDGE, "share of the reference's skill that is left", _retention),
    )
}


@dataclass(frozen=True)
class Modes:
    """Every number of a run, and the failure modes that it shows for sure, each with why."""

    estimates: Mapping[str, Estimate]
    named: Mapping[str, str]


def measure(answers: Answers) -> Modes:
    found = {name: metric.measure(answers) for name, metric in METRICS.items()}
    estimates = {name: estimate for name, estimate in found.items() if estimate is not None}
    return Modes(estimates, _named(answers, estimates))


def _named(answers: Answers, estimates: Mapping[str, Estimate]) -> dict[str, str]:
    """A mode is named where its bound leaves no doubt, and by what belongs to no other mode."""
    named: dict[str, str] = {}
    for mode, metrics in ((FORMAT, ("format_unstable_rate", "validity_flip_rate")), (MODALITY, ("misalignment_rate",))):
        for name in metrics:
            if name in estimates and estimates[name].interval(NAMING_CONFIDENCE)[0] > TOO_OFTEN:
                named.setdefault(mode, f"{name} {_told(estimates[name])}")
    dull = format.vacuous(answers)
    if dull:
        named.setdefault(FORMAT, f"says one and the same in {', '.join(dull)}")
    for name in ("image_reliance", "text_reliance"):
        if name in estimates and estimates[name].interval(NAMING_CONFIDENCE)[1] < UNUSED:
            named.setdefault(MODALITY, f"{name} {_told(estimates[name])}")
    known = knowledge.knowledge(answers)
    if known is not None and known.catastrophic and known.retention is not None:
        named[KNOWLEDGE] = f"retention {_told(known.retention)} of {known.reference}, p {known.pvalue:.2g}"
    return named


def _told(estimate: Estimate) -> str:
    low, high = estimate.interval()
    return f"{estimate.value:.3f} [{low:.3f}, {high:.3f}]"
