"""Whether an answer is right, by both parsers: one sample at a time, or whole arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.answers.answer import Answer, kept
from pytest_vla.answers.forms import CALL, CONTINUOUS, DISCRETE, form_of

from . import metrics
from .parse import Reading, canonical, lenient, normalised_label, strict, without_thoughts
from .sample import Sample, Statistics

BEATS = 1.0  # times the error of the constant mean: a continuous action that is worse solves nothing
MOST_LABEL = 200  # characters of a label, or of an answer, in the run file
INVALID_OUTPUT = "invalid_output"
CONSTANT_MEAN = float(np.exp(-1.0))  # its score at every sample; of classes and words that follows from all labels


@dataclass(frozen=True, slots=True)
class Setting:
    """What an answer is measured with besides its sample."""

    group: str
    regime: str
    needs: tuple[str, ...]
    statistics: Statistics | None = None


def judged(sample: Sample, answers: Sequence[Any], setting: Setting, other: str = "") -> Answer:
    """What became of a sample, or of a conversation of which these are the answers, turn by turn."""
    raw = "\n".join(map(as_text, answers))
    text, sha = kept(raw)
    first = [strict(answer, sample.ask) for answer in answers]
    second = [lenient(answer, sample.ask) for answer in answers]
    return Answer(
        asked=sample.ask.output,
        produced=form_of(without_thoughts(raw)),
        raw=text,
        sha=sha,
        invalid=_reason(first),
        unread=_reason(second),
        strict=_score(sample, first, setting),
        lenient=_score(sample, second, setting),
        label=label_text(sample),
        given=_given(second, sample),
        other=other,
        group=setting.group,
        regime=setting.regime,
        trivial=CONSTANT_MEAN if sample.ask.output == CONTINUOUS else None,
        needs=setting.needs,
    )


def solves(answer: Answer) -> bool:
    """Whether the strict parser's reading is right; of a continuous action: better than the constant mean."""
    return bool(answer.strict >= (np.exp(-BEATS) if answer.asked == CONTINUOUS else 1.0))


def as_text(answer: Any) -> str:
    """An answer as the text that it would be."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, np.ndarray):
        answer = answer.tolist()
    return str(answer)


def label_text(sample: Sample) -> str:
    """The right answer as one text."""
    if sample.ask.output == CALL:
        calls = [[canonical(call, dict(sample.signatures)) for call in turn] for turn in sample.label]
        return str(calls)[:MOST_LABEL]
    if sample.ask.output == CONTINUOUS:
        return str([round(float(value), 4) for value in sample.label])[:MOST_LABEL]
    return normalised_label(str(sample.label))[:MOST_LABEL]


def _reason(readings: Sequence[Reading]) -> str:
    """The first turn that cannot be read makes the conversation one that cannot."""
    return next((reading.reason for reading in readings if reading.reason), "")


def _given(readings: Sequence[Reading], sample: Sample) -> str:
    if _reason(readings):
        return ""
    if sample.ask.output == CALL:
        return str([[canonical(call) for call in reading.value] for reading in readings])[:MOST_LABEL]
    value = readings[0].value
    if np.ndim(value):
        if sample.ask.output == DISCRETE:
            return str(int(np.argmax(value)))
        return str([round(float(number), 4) for number in value])[:MOST_LABEL]
    return str(value)[:MOST_LABEL]


def _score(sample: Sample, readings: Sequence[Reading], setting: Setting) -> float:
    """0 where nothing can be read."""
    if _reason(readings) or not readings:
        return 0.0
    if sample.ask.output == CALL:
        known = dict(sample.signatures)
        wanted = [[canonical(call, known) for call in turn] for turn in sample.label]
        return float([[canonical(call, known) for call in reading.value] for reading in readings] == wanted)
    value = readings[0].value
    if sample.ask.output == CONTINUOUS:
        return float(np.exp(-relative_error(value, sample.label, setting.statistics)))
    if sample.ask.output == DISCRETE and np.ndim(value):
        value = int(np.argmax(value))
    if isinstance(value, str):
        return float(value == normalised_label(str(sample.label)))
    return float(value == sample.label)


def relative_error(value: Any, label: Any, statistics: Statistics | None) -> float:
    """The mean absolute error, by that of the constant mean."""
    centre = statistics.mean if statistics is not None else np.zeros(len(label))
    error, baseline = (float(np.mean(np.abs(np.asarray(guess) - label))) for guess in (value, centre))
    if baseline < metrics.TINY:
        return 1.0 if error < metrics.TINY else float("inf")
    return error / baseline


# --- whole arrays ----------------------------------------------------------------------------------------------------

SOLVED, UNSOLVED, INVALID = 1, 0, -1


def judge_classes(
    predicted: metrics.Ints, labels: metrics.Ints, count: int
) -> tuple[NDArray[np.int8], metrics.Numbers]:
    """The outcome of every sample and the benchmark's numbers, of classes that were read already."""
    outcomes = (predicted == labels).astype(np.int8)
    outcomes[(predicted < 0) | (predicted >= count)] = INVALID
    return outcomes, metrics.classes(predicted, labels, count)


def judge_actions(predicted: metrics.Floats, labels: metrics.Floats) -> tuple[NDArray[np.int8], metrics.Numbers]:
    """The same of continuous actions, NaN where they cannot be read."""
    centre = labels.mean(axis=0)
    error = np.mean(np.abs(predicted - labels), axis=1)
    outcomes = (error <= BEATS * np.mean(np.abs(centre - labels), axis=1)).astype(np.int8)
    outcomes[np.isnan(error)] = INVALID
    return outcomes, metrics.continuous(predicted, labels)
