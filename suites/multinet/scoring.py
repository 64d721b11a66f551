"""From raw answers to the benchmark's numbers, domain by domain: parse once, then whole arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pytest_vla.answers.forms import CALL, CONTINUOUS, DISCRETE, OPTION, TEXT

from . import metrics
from .metrics import Floats, Ints, Numbers
from .parse import Ask, Reading, canonical, lenient, normalised, normalised_label, strict

Parser = Literal["strict", "lenient"]
PARSERS: Mapping[Parser, Callable[[Any, Ask], Reading]] = {"strict": strict, "lenient": lenient}
SINGLE_ACTIONS = 6
JOINT_ACTIONS = SINGLE_ACTIONS**2
STAY_STAY = 28

#: What is asked for in each domain.
OUTPUT_OF: Mapping[str, str] = {
    "openx": CONTINUOUS,
    "overcooked": DISCRETE,
    "piqa": OPTION,
    "sqa3d": TEXT,
    "robovqa": TEXT,
    "odinw": OPTION,
    "bfcl": CALL,
}
DOMAINS = tuple(OUTPUT_OF)

#: Parts of an action that are scored by themselves as well.
SLICES: Mapping[str, Mapping[str, slice]] = {
    "bimanual": {"arm1": slice(0, 7), "arm2": slice(7, 14)},
    "mobile": {"base_navigation": slice(0, 3), "arm_manipulation": slice(3, 10)},
}


class ScoreError(ValueError):
    """Rows that cannot be scored."""


@dataclass(frozen=True, slots=True)
class Row:
    """One sample, or one conversation, and what a model said."""

    label: Any
    output: Any
    choices: int = 0


def score(domain: str, subset: str, rows: Sequence[Row], parser: Parser, similarity: bool = True) -> Numbers:
    """The benchmark's numbers of one subset, by one parser."""
    output = OUTPUT_OF[domain]
    read = PARSERS[parser]
    if output == CALL:
        return metrics.with_synonyms(_conversations(rows, read, similarity))
    count = _choices(domain, rows)
    readings = [read(row.output, Ask(output, count)) for row in rows]
    if output == CONTINUOUS:
        return metrics.with_synonyms(_actions(subset, rows, readings))
    if output == TEXT:
        return metrics.with_synonyms(_texts(rows, readings, similarity, words=parser == "lenient"))
    labels = np.array([_whole(row.label) for row in rows], np.int64)
    if output == DISCRETE:
        return _joint(rows, readings, labels)
    numbers = metrics.with_synonyms(metrics.classes(_classes_of(readings), labels, count))
    if domain == "piqa":  # there this name means: of what could be read
        numbers["exact_match_rate"] = numbers["exact_match_valid_only"]
    return numbers


def trivial(domain: str, rows: Sequence[Row]) -> list[Row]:
    """The same samples with the best constant answer: the mean, the most common label, staying, or no call at all."""
    if domain == "overcooked":
        constant: Any = str(STAY_STAY)
    elif domain == "openx":
        constant = np.mean([row.label for row in rows], axis=0).tolist()
    elif domain == "bfcl":
        return [Row(row.label, [[] for _ in row.label], row.choices) for row in rows]
    else:
        labels = [str(row.label) for row in rows]
        constant = max(dict.fromkeys(labels), key=labels.count)
    return [Row(row.label, constant, row.choices) for row in rows]


def _choices(domain: str, rows: Sequence[Row]) -> int:
    """How many options or dimensions there are: told, known, or one more than the largest label."""
    if domain == "overcooked":
        return JOINT_ACTIONS
    if domain == "openx":
        sizes = {len(row.label) for row in rows}
        if len(sizes) != 1:
            raise ScoreError(f"the labels of one subset have one length, got {sorted(sizes)}")
        return sizes.pop()
    if OUTPUT_OF[domain] == TEXT:
        return 0
    told = max((row.choices for row in rows), default=0)
    return told or (2 if domain == "piqa" else 1 + max(_whole(row.label) for row in rows))


def _whole(label: Any) -> int:
    try:
        number = float("nan") if isinstance(label, bool) else float(label)
        whole = int(number)
    except (TypeError, ValueError, OverflowError):
        number = whole = -1
    if number != whole or whole < 0:
        raise ScoreError(f"a label must be the number of a class, got {str(label)[:100]!r}")
    return whole


def _classes_of(readings: Sequence[Reading]) -> Ints:
    return np.array([metrics.INVALID if reading.reason else reading.value for reading in readings], np.int64)


def _actions(subset: str, rows: Sequence[Row], readings: Sequence[Reading]) -> Numbers:
    labels = np.array([row.label for row in rows], np.float64)
    predicted = np.full(labels.shape, np.nan)
    for place, reading in enumerate(readings):
        if not reading.reason:
            predicted[place] = reading.value
    numbers = metrics.continuous(predicted, labels)
    parts = next((parts for name, parts in SLICES.items() if name in subset), {})
    sliced = {
        name: metrics.continuous(predicted[:, part], labels[:, part])
        for name, part in parts.items()
        if part.stop <= labels.shape[1]
    }
    return {**numbers, "capability_metrics": sliced} if sliced else numbers


def _texts(rows: Sequence[Row], readings: Sequence[Reading], similarity: bool, words: bool) -> Numbers:
    """Similarities are those of the raw outputs, or of the `words` that were read of them."""
    wanted = [normalised_label(str(row.label)) for row in rows]
    right = np.array([reading.value == label for reading, label in zip(readings, wanted, strict=True)], bool)
    valid = np.array([not reading.reason for reading in readings], bool)
    numbers = metrics.texts(right, valid)
    given = [
        str(reading.value or "") if words else str(row.output) for row, reading in zip(rows, readings, strict=True)
    ]
    return {**numbers, **_similar(given, [str(row.label) for row in rows], valid, similarity)}


def _joint(rows: Sequence[Row], readings: Sequence[Reading], labels: Ints) -> Numbers:
    """Two players' actions as one of 36, and each by himself."""
    labels = np.where((labels >= 0) & (labels < JOINT_ACTIONS), labels, STAY_STAY)
    told = np.full((len(rows), JOINT_ACTIONS), np.nan)
    for place, reading in enumerate(readings):
        if not reading.reason:
            told[place] = np.eye(JOINT_ACTIONS)[reading.value] if np.ndim(reading.value) == 0 else reading.value
    numbers = metrics.distribution(told, labels)
    integers = [_any_integer(row.output) for row in rows]
    if any(number is not None for number in integers):
        given = np.array([number is not None for number in integers])
        predicted = np.array([number or 0 for number in integers], np.int64)
        numbers |= metrics.clipped(predicted, given, labels, JOINT_ACTIONS)
    players: Numbers = {}
    for player, axis, own in ((0, 2, labels // SINGLE_ACTIONS), (1, 1, labels % SINGLE_ACTIONS)):
        marginal = told.reshape(-1, SINGLE_ACTIONS, SINGLE_ACTIONS).sum(axis=axis)
        players[f"player{player}_results"] = metrics.with_synonyms(metrics.distribution(marginal, own))
        players[f"player{player}_accuracy"] = players[f"player{player}_results"]["exact_match"]
    return {**metrics.with_synonyms(numbers), **players}


def _any_integer(output: Any) -> int | None:
    if isinstance(output, bool) or not isinstance(output, (int, str)):
        return None
    text = str(output).strip()
    return int(text) if re.fullmatch(r"[-+]?\d{1,15}", text) else None


def _conversations(rows: Sequence[Row], read: Callable[[Any, Ask], Reading], similarity: bool) -> Numbers:
    wanted = [[[" ".join(str(call).split()) for call in turn] for turn in row.label] for row in rows]
    given = [[_calls(turn, read) for turn in row.output] for row in rows]
    numbers = metrics.conversations(given, wanted)
    same = [
        [[canonical(call) for call in turn] for turn in one] == [[canonical(call) for call in turn] for turn in other]
        for one, other in zip(given, wanted, strict=True)
    ]
    numbers["ast_match_accuracy"] = float(np.mean(same)) if same else 0.0
    said = [" ".join(_raw(turn) for turn in row.output) for row in rows]
    reference = [" ".join(call for turn in row.label for call in turn) for row in rows]
    return {**numbers, **_similar(said, reference, np.ones(len(rows), bool), similarity)}


def _calls(turn: Any, read: Callable[[Any, Ask], Reading]) -> list[str]:
    reading = read(turn, Ask(CALL))
    return [] if reading.reason else [" ".join(call.split()) for call in reading.value]


def _raw(turn: Any) -> str:
    return turn if isinstance(turn, str) else " ".join(map(str, turn))


def _similar(given: Sequence[str], wanted: Sequence[str], valid: Any, similarity: bool) -> Numbers:
    """Similarity of sentences where the weights are there; the overlap of words, under its own name, always."""
    from pytest_vla.kit.sentences import have_sentences, sentence_features

    overlap = [token_f1(one, other) for one, other in zip(given, wanted, strict=True)]
    numbers: Numbers = {"avg_token_f1": float(np.mean(overlap)) if overlap else 0.0}
    if not similarity or not have_sentences() or not given:
        return numbers
    different = sorted(
        {*given, *wanted}, key=len
    )  # equal sentences are looked at once, and beside others of their length
    vectors = dict(zip(different, sentence_features(different), strict=True))
    scores: Floats = np.array([vectors[one] @ vectors[other] for one, other in zip(given, wanted, strict=True)])
    return {**numbers, **metrics.similarities(np.where(valid, scores, 0.0))}


def token_f1(given: str, wanted: str) -> float:
    """The overlap of two texts' words."""
    mine, theirs = normalised(given).split(), normalised(wanted).split()
    shared = sum(min(mine.count(word), theirs.count(word)) for word in set(mine))
    return 2 * shared / (len(mine) + len(theirs)) if shared else 0.0
